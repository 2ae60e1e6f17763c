"""Serve the built console, or a page that explains why it is missing."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

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


class Console(StaticFiles):
    """The files of the console. A browser gets its page for every other path: it has its own router."""

    def __init__(self, folder: Path) -> None:
        super().__init__(directory=folder)
        self._page = (folder / INDEX).read_text(encoding="utf-8")

    async def get_response(self, path: str, scope: Scope) -> Response:
        try:
            if path not in (".", INDEX):
                return await super().get_response(path, scope)
        except HTTPException as error:
            if error.status_code != HTTPStatus.NOT_FOUND or "text/html" not in Headers(scope=scope).get("accept", ""):
                raise
        return HTMLResponse(self._page)


def add_console(app: FastAPI, console: Path | None) -> None:
    """Serve the console at every path that is not a route, except below /api."""

    async def nothing(request: Request) -> Response:
        raise no_route(app, request.method, request.scope["path"])

    async def absent(_: Request) -> Response:
        return HTMLResponse(ABSENT)

    app.add_route("/api/{path:path}", nothing, methods=METHODS, include_in_schema=False)
    if console is None:
        app.add_route("/", absent, include_in_schema=False)
    else:
        app.mount("/", Console(console))
