"""No call waits without a bound, each limit has words of its own, and no answer fills the memory."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from asking import asking, planning
from http_client import client

from leadhand.core.errors import Failure
from leadhand.models import failures
from leadhand.models.failures import LARGEST_BODY
from leadhand.models.openai import connections, http
from leadhand.models.openai.adapter import OpenAICompatible
from leadhand.ports import ModelError
from leadhand.testing.faults import Served, Way, fault, refuses, sent
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.steps import gives, says

TALK = asking({"task": "compose"}, model="openai_compatible:m")


@asynccontextmanager
async def serving(answer: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    """A server whose answers the test writes byte for byte."""
    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


async def failure_of(
    served: Any, *, streamed: bool = False, deadline_s: float = 20.0, patience_s: float = 300.0, **options: Any
) -> Failure:
    async with ScriptedServer([served]) as server:
        models = OpenAICompatible(server.base_url, **options)
        with pytest.raises(ModelError) as caught:
            await models.ask(
                TALK.evolve(deadline_s=deadline_s, patience_s=patience_s), (lambda _: None) if streamed else None
            )
        await models.aclose()
    return caught.value.failure


@pytest.mark.parametrize(
    ("served", "streamed", "options", "said"),
    [
        (fault("hang").serve(), False, {"patience_s": 0.1}, "0.1 s"),
        (fault("hang").serve(), True, {"patience_s": 0.1}, "0.1 s"),
        # headers are no answer: a gateway sends them before the model has read the prompt
        (sent(Way.HANG_BODY), False, {"patience_s": 0.2, "idle_timeout_s": 0.1}, "0.2 s"),
        (sent(Way.HANG_BODY, "a b c d"), True, {"idle_timeout_s": 0.1}, "0.1 s"),
        (fault("hang").serve(), False, {"deadline_s": 0.1}, "0.1 s"),
        (sent(Way.DRIP, "x" * 9_000, pause_s=0.02), False, {"deadline_s": 0.2}, "0.2 s"),
    ],
)
async def test_each_limit_says_which_it_was(served: Any, streamed: bool, options: Any, said: str) -> None:
    failure = await failure_of(served, streamed=streamed, **options)
    assert said in failure.message
    assert (failure.class_, failure.type) == ("transient", "timeout")


def streamed_reply(*pieces: dict[str, Any]) -> list[bytes]:
    chunks = [{"choices": [{"delta": piece}]} for piece in pieces]
    return [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]


@pytest.mark.parametrize("first", [b": keep-alive\n\n", streamed_reply({"role": "assistant", "content": ""})[0]])
async def test_a_model_may_think_longer_than_the_idle_limit_after_the_server_has_begun(first: bytes) -> None:
    async def think(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(first)
        await asyncio.sleep(0.4)  # four idle limits
        for piece in (*streamed_reply({"content": '{"n": 1}'}), b"data: [DONE]\n\n"):
            await response.write(piece)
        return response

    async with serving(think) as url:
        models = OpenAICompatible(url, idle_timeout_s=0.1)
        assert (await models.ask(planning("x", model="openai:m"), lambda _: None)).value == {"n": 1}
        await models.aclose()


async def test_the_patience_of_a_request_holds_for_the_beginning_of_its_answer() -> None:
    failure = await failure_of(fault("hang").serve(), patience_s=0.1)
    assert "0.1 s" in failure.message
    assert "--model-patience" in failure.next_action


async def test_an_idle_limit_longer_than_that_of_the_first_byte_holds() -> None:
    slow = sent(Way.DRIP, says("a b c"), pause_s=0.2)
    async with ScriptedServer([slow]) as server:
        models = OpenAICompatible(server.base_url, idle_timeout_s=5.0)
        assert (await models.ask(TALK.evolve(patience_s=0.1), lambda _: None)).message.text == "a b c"
        await models.aclose()


async def test_each_form_that_is_tried_has_the_whole_time_for_its_first_byte() -> None:
    async def refused_late(_body: dict[str, Any]) -> Served:
        await asyncio.sleep(0.2)
        return refuses("response_format")

    script = [refused_late, gives({"n": 1}).after(0.2)]
    async with ScriptedServer(script) as server, client(server) as models:
        assert (await models.ask(planning("x", model="openai_compatible:m").evolve(patience_s=0.35))).value == {"n": 1}


async def test_a_connection_that_never_comes_about_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    # TEST-NET-1 (RFC 5737) leads nowhere: either nothing answers, or the network says at once that there is no way.
    monkeypatch.setattr(http, "CONNECT_TIMEOUT_S", 0.1)
    models = OpenAICompatible("http://192.0.2.1/v1")
    with pytest.raises(ModelError) as caught:
        await models.ask(TALK)
    await models.aclose()
    assert caught.value.failure.class_ == "transient"
    assert "http://192.0.2.1/v1" in caught.value.failure.message
    assert caught.value.usage is not None


@pytest.mark.parametrize(("streamed", "megabytes"), [(False, 10), (True, 1)])
async def test_an_answer_without_end_is_left_and_fills_no_memory(
    streamed: bool, megabytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10 MB are the limit; with a smaller one the many pieces of a stream are read in less time."""
    assert LARGEST_BODY == 10_000_000
    for module in (connections, failures, http):
        monkeypatch.setattr(module, "LARGEST_BODY", megabytes * 1_000_000)
    tracemalloc.start()
    try:
        failure = await failure_of(fault("endless").serve(), streamed=streamed, deadline_s=100.0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (failure.class_, failure.type) == ("invalid", "too_long_answer")
    assert f"{megabytes} MB" in failure.message
    assert peak < megabytes * 5_000_000


async def test_the_server_sees_a_cancelled_stream_go_away() -> None:
    heard: list[str] = []
    first = asyncio.Event()

    def listen(piece: str) -> None:
        heard.append(piece)
        first.set()

    async with ScriptedServer([sent(Way.HANG_BODY, "one two three four")]) as server:
        models = OpenAICompatible(server.base_url)
        task = asyncio.create_task(models.ask(TALK, listen))
        await first.wait()
        assert server.in_flight == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.until(lambda: server.abandoned >= 1)
        assert server.in_flight == 0
        await models.aclose()
