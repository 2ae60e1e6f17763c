"""Serve the built console, or a page that explains why it is missing."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from starlette.requests import Request
from starlette.responses import Response

from leadhand.server.problems import no_route

BUILT = Path(__file__).parents[1] / "_console"
INDEX = "index.html"
METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE"]
ABSENT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<link rel="icon" href="data:,">
<title>Leadhand: console not built</title>
<main>
<h1>The console was not built</h1>
<p>This is an installation from source, and Deno or the npm registry was not reachable when it was built.
The API works without the console: <a href="/openapi.json">its OpenAPI document</a>.</p>
<p>To build the console, reinstall with a network connection:</p>
<pre>uv sync --reinstall-package leadhand</pre>
</main>
</html>
"""


def built_console() -> Path | None:
    """The folder of the built console; None if it was not built."""
    return BUILT if (BUILT / INDEX).is_file() else None


def add_console(app: FastAPI, console: Path | None) -> None:
    """Serve the console at every path that is not a route, except below /api; it has its own router."""

    async def nothing(request: Request) -> Response:
        raise no_route(app, request.method, request.url.path)

    app.add_route("/api/{path:path}", nothing, methods=METHODS, include_in_schema=False)
    if console is None:

        async def absent(_: Request) -> Response:
            return HTMLResponse(ABSENT)

        app.add_route("/", absent, include_in_schema=False)
        return
    app.frontend("/", directory=console, fallback="index.html")
