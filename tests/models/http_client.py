"""The client against a scripted server, for the tests of what goes over HTTP."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from asking import GIVE_UP, WEATHER, asking, planning, spec

from leadhand.core.errors import Failure
from leadhand.models.openai.adapter import OpenAICompatible
from leadhand.ports import FormRefused, ModelError
from leadhand.ports.models import ModelReply, ModelRequest
from leadhand.testing.model_server import ScriptedServer

MODEL = "openai_compatible:scripted"
TALK = asking({"task": "compose"}, model=MODEL)
WORK = asking({"task": "work"}, tools=[spec(WEATHER), GIVE_UP], model=MODEL)
PLAN = planning("weather in Paris", model=MODEL)
KEY = "sk-very-secret-key"


class Client(OpenAICompatible):
    """The adapter, asked again while the server refuses a form, as the engine asks it."""

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        while True:
            with contextlib.suppress(FormRefused):
                return await super().ask(request, on_text)


@contextlib.asynccontextmanager
async def client(server: ScriptedServer, **options: Any) -> AsyncIterator[OpenAICompatible]:
    made = Client(server.base_url, KEY, **options)
    try:
        yield made
    finally:
        await made.aclose()


async def failure_of(served: Any, request: ModelRequest = TALK, *, streamed: bool = False, **options: Any) -> Failure:
    """The failure of one call that is served ``served``, in each form of the request."""
    heard: list[str] = []
    async with ScriptedServer(lambda _: served) as server, client(server, **options) as models:
        with pytest.raises(ModelError) as caught:
            await models.ask(request, heard.append if streamed else None)
    assert KEY not in str(caught.value)
    return caught.value.failure


@contextlib.asynccontextmanager
async def answering(answer: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    """A server that answers each request by a function, on every path; its address."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
