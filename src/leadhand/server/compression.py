"""Compress responses with gzip: whole documents, files, and event streams message by message.

An event stream is flushed after each message, and each message is sent before the next is asked for: nothing is held
back, and a client that does not read stops the stream as it does without compression.
"""

from __future__ import annotations

import asyncio
import re
import zlib

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SMALLEST = 1_000
"""Bytes of a document that are worth compressing."""
ON_THREAD = 256_000
"""Bytes of a document above which the event loop does not wait for its compression."""
STREAM = "text/event-stream"
COMPRESSED = re.compile(r"text/|application/(json|problem\+json|javascript|x-ndjson)|image/svg\+xml")
VERSIONED = re.compile(r"/(?:chunk|rare)-[A-Z0-9]{8}\.js$")
"""Files of the console whose name changes with their content."""
FOREVER = "public, max-age=31536000, immutable"
GZIP = 16
"""Added to the window bits of zlib: the format is gzip."""


class Compression:
    """Compresses responses for clients that accept gzip, and lets browsers keep files whose name has a version."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope)
        wanted = scope["method"] != "HEAD" and accepts_gzip(given.get("accept-encoding", ""))
        await self._app(scope, receive, _Response(scope["path"], send, wanted=wanted).send)


def accepts_gzip(header: str) -> bool:
    """Whether an Accept-Encoding header allows gzip."""
    for each in header.lower().split(","):
        name, _, quality = each.partition(";")
        if name.strip() == "gzip":
            return not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", quality)
    return False


class _Response:
    """One response on its way to the client."""

    def __init__(self, path: str, send: Send, *, wanted: bool) -> None:
        self._path = path
        self._send = send
        self._wanted = wanted
        self._start: Message | None = None
        self._compressor: zlib._Compress | None = None  # pyright: ignore[reportPrivateUsage] - its only name
        self._is_stream = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await self._begin(message)
        elif message["type"] == "http.response.body":
            await self._continue(message)
        else:
            await self._send(message)

    async def _begin(self, start: Message) -> None:
        headers = MutableHeaders(scope=start)
        if start["status"] in (200, 304) and VERSIONED.search(self._path):
            headers["cache-control"] = FOREVER
        kind = headers.get("content-type", "")
        has_body = start["status"] not in (204, 206, 304)
        if has_body and COMPRESSED.match(kind) and "content-encoding" not in headers:
            headers.add_vary_header("accept-encoding")
            self._is_stream = kind.startswith(STREAM)
            if self._wanted and self._is_stream:
                self._compress(headers, window=13, memory=6)  # 64 kB for each client
            elif self._wanted:
                self._start = start  # what to do depends on the size
                return
        await self._send(start)

    def _compress(self, headers: MutableHeaders, *, window: int = 15, memory: int = 8) -> None:
        headers["content-encoding"] = "gzip"
        del headers["content-length"]
        if (tag := headers.get("etag", "")) and not tag.startswith("W/"):
            headers["etag"] = f"W/{tag}"
        self._compressor = zlib.compressobj(5, zlib.DEFLATED, GZIP + window, memory)

    async def _continue(self, message: Message) -> None:
        body, more = message.get("body", b""), message.get("more_body", False)
        if self._start is not None:
            start, self._start = self._start, None
            headers = MutableHeaders(scope=start)
            if more or len(body) >= SMALLEST:
                self._compress(headers)
            if self._compressor is not None and not more:
                on_thread = len(body) > ON_THREAD
                body = await asyncio.to_thread(self._packed, body) if on_thread else self._packed(body)
                headers["content-length"] = str(len(body))
                self._compressor = None
            await self._send(start)
        if self._compressor is not None:
            body = self._compressor.compress(body)
            if not more:
                body += self._compressor.flush()
            elif self._is_stream:
                body += self._compressor.flush(zlib.Z_SYNC_FLUSH)
            if more and not body:
                return
        await self._send({"type": "http.response.body", "body": body, "more_body": more})

    def _packed(self, body: bytes) -> bytes:
        assert self._compressor is not None
        return self._compressor.compress(body) + self._compressor.flush()
