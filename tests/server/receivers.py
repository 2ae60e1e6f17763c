"""A receiver of webhooks on this machine, over real HTTP: what it got, and what it answers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

from aiohttp import web


class Receiver:
    """``status`` is what it answers; ``got`` are the headers and the body of each message."""

    def __init__(self) -> None:
        self.status = 204
        self.got: list[tuple[dict[str, str], str]] = []
        self.url = ""
        self._more = asyncio.Event()

    async def take(self, request: web.Request) -> web.Response:
        self.got.append((dict(request.headers), await request.text()))
        self._more.set()
        return web.Response(status=self.status, headers={"location": "/elsewhere"})

    async def until(self, count: int) -> list[tuple[dict[str, str], str]]:
        """The messages, once there are that many."""
        async with asyncio.timeout(60):
            while len(self.got) < count:
                self._more.clear()
                await self._more.wait()
        return self.got


@contextlib.asynccontextmanager
async def receiver() -> AsyncGenerator[Receiver]:
    """A receiver that listens."""
    opened = Receiver()
    app = web.Application()
    app.router.add_post("/{path:.*}", opened.take)
    runner: Any = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    opened.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    try:
        yield opened
    finally:
        await runner.cleanup()
