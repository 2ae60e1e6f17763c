"""Serve behind a proxy that passes on only the paths below a prefix, with the prefix or without it."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Prefix:
    """ASGI middleware around the app, which knows nothing of ``prefix``: ``/leadhand``."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path: str = scope["path"]
            if path == self._prefix or path.startswith(f"{self._prefix}/"):
                inner = path.removeprefix(self._prefix) or "/"
                scope = {**scope, "path": inner, "raw_path": inner.encode()}
            send = self._prefixed(scope["path"], send)
        await self._app(scope, receive, send)

    def _prefixed(self, path: str, send: Send) -> Send:
        """Put the prefix before the Location of responses, and before the links of our own pages."""
        page: Message | None = None
        parts: list[bytes] = []

        async def prefixed(message: Message) -> None:
            nonlocal page
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("location", "").startswith("/"):
                    headers["location"] = self._prefix + headers["location"]
                if headers.get("content-type", "").startswith("text/html") and not path.startswith("/api/"):
                    page = message
                    return
            if page is None:
                await send(message)
                return
            parts.append(message.get("body", b""))
            if message.get("more_body"):
                return
            body = b"".join(parts).replace(b'="/', b'="%s/' % self._prefix.encode())
            headers = MutableHeaders(scope=page)
            if body:  # absent for HEAD, and for a page that has not changed
                headers["content-length"] = str(len(body))
            else:
                del headers["content-length"]
            await send(page)
            await send({"type": "http.response.body", "body": body})

        return prefixed
