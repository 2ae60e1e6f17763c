"""The console in a browser: files that were built with the package; a page that says so where they were not."""

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
<title>Leadhand: the console is absent</title>
<main>
<h1>The console was not built</h1>
<p>This is an installation from source, made where Deno or the npm registry could not be reached.
The API works without it: <a href="/docs">its routes</a>.</p>
<p>To build the console, install again with the network at hand:</p>
<pre>uv sync --reinstall-package leadhand</pre>
</main>
</html>
"""


def built_console() -> Path | None:
    """The folder of the built console; None when this installation has none."""
    return BUILT if (BUILT / INDEX).is_file() else None


def add_console(app: FastAPI, console: Path | None) -> None:
    """Serve the console at every path that is no route: it finds its own way from there. Below /api it has none."""

    async def nothing(request: Request) -> Response:
        raise no_route(app, request.method, request.url.path)

    app.add_api_route("/api/{path:path}", nothing, methods=METHODS, include_in_schema=False)
    if console is None:

        async def absent() -> Response:
            return HTMLResponse(ABSENT)

        app.add_api_route("/", absent, include_in_schema=False)
        return
    app.frontend("/", directory=console, fallback="index.html")
