"""No call waits without a bound, each limit has words of its own, and no answer fills the memory."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from typing import Any

import pytest
from aiohttp import web
from asking import asking, planning
from http_client import answering, client, failure_of

from leadhand.models import failures
from leadhand.models.failures import LARGEST_BODY
from leadhand.models.openai import connections, http
from leadhand.models.openai.adapter import OpenAICompatible
from leadhand.ports import ModelError
from leadhand.testing.faults import Served, Way, fault, refuses, sent
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.steps import gives, says

TALK = asking({"task": "compose"}, model="openai_compatible:m")


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
    limits = {name: options.pop(name) for name in ("deadline_s", "patience_s") if name in options}
    failure = await failure_of(served, TALK.evolve(**limits), streamed=streamed, **options)
    assert said in failure.message
    assert (failure.class_, failure.type) == ("transient", "timeout")
    assert ("model_patience" in failure.next_action) is ("patience_s" in limits)


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

    async with answering(think) as url:
        models = OpenAICompatible(f"{url}/v1", idle_timeout_s=0.1)
        assert (await models.ask(planning("x", model="openai:m"), lambda _: None)).value == {"n": 1}
        await models.aclose()


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
        failure = await failure_of(fault("endless").serve(), TALK.evolve(deadline_s=100.0), streamed=streamed)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (failure.class_, failure.type) == ("invalid", "too_long_answer")
    assert f"{megabytes} MB" in failure.message
    assert peak < megabytes * 5_000_000
