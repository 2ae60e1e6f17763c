"""The scripted server is a product: it tells when a test asked it too much or too little."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest
from asking import asking, planning

from leadhand.models.offline import OfflineModels
from leadhand.models.openai.adapter import OpenAICompatible
from leadhand.ports import ModelError
from leadhand.testing.faults import fault, rate_limited, served_by, status
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.scripted_model import ScriptError
from leadhand.testing.steps import fails

TALK = asking({"task": "compose"}, model="openai_compatible:m")


async def post(server: ScriptedServer, body: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
    url = f"{server.base_url}/chat/completions"
    async with aiohttp.ClientSession() as session, session.post(url, json=body or {"messages": []}) as response:
        return response.status, json.loads(await response.text())


async def test_an_answer_nobody_asked_for_fails() -> None:
    with pytest.raises(ScriptError, match="2 answers"):
        async with ScriptedServer(["one", "two"]):
            pass


async def test_a_request_beyond_the_script_fails() -> None:
    with pytest.raises(ScriptError, match="1 requests"):
        async with ScriptedServer() as server:
            assert (await post(server))[0] == 400


async def test_a_function_may_answer_every_call_by_what_was_asked() -> None:
    async with ScriptedServer(lambda body: f"you are {body['model']}") as server:
        for name in ("a", "b"):
            _, document = await post(server, {"model": name, "messages": []})
            assert document["choices"][0]["message"]["content"] == f"you are {name}"


@pytest.mark.parametrize(
    ("class_", "code"),
    [("transient", 500), ("rate_limited", 429), ("unavailable", 401), ("too_large", 413), ("invalid", 400)],
)
async def test_a_scripted_failure_becomes_the_http_error_of_its_class(class_: str, code: int) -> None:
    async with ScriptedServer([fails(class_, "t", "m")]) as server:
        assert (await post(server))[0] == code
    async with ScriptedServer([fails(class_, "t", "m")]) as server:
        models = OpenAICompatible(server.base_url)
        with pytest.raises(ModelError) as caught:
            await models.ask(TALK)
        await models.aclose()
    assert caught.value.failure.class_ == class_


class TestInjection:
    async def test_a_fault_meets_the_call_it_is_for_and_takes_nothing_from_the_script(self) -> None:
        async with ScriptedServer(["one", "two", "three"]).inject(status(500), nth=2) as server:
            codes = [(await post(server))[0] for _ in range(4)]
        assert codes == [200, 500, 200, 200]

    async def test_a_fault_may_be_for_one_worker(self) -> None:
        server = ScriptedServer(served_by(OfflineModels()))
        server.inject(rate_limited(1), nth=2, worker="plan").inject(status(401), worker="compose")
        compose = asking({"task": "compose", "results": [{"summary": "s"}]}, model="openai_compatible:m")
        async with server:
            models = OpenAICompatible(server.base_url)
            await models.ask(planning("weather in Paris", model="openai_compatible:m"))
            for request, class_ in (
                (planning("weather in Lyon", model="openai_compatible:m"), "rate_limited"),
                (compose, "unavailable"),
            ):
                with pytest.raises(ModelError) as caught:
                    await models.ask(request)
                assert caught.value.failure.class_ == class_
                await models.ask(request)
            await models.aclose()
        assert [seen.worker for seen in server.requests] == ["plan", "plan", "plan", "compose", "compose"]

    async def test_a_fault_that_met_nothing_fails(self) -> None:
        with pytest.raises(ScriptError, match="1 faults"):
            async with ScriptedServer(["x"]).inject(status(500), nth=9) as server:
                await post(server)


async def test_it_counts_who_waits_and_who_goes_away() -> None:
    async with ScriptedServer(lambda _: fault("hang").serve()) as server:
        waiting = [asyncio.create_task(post(server)) for _ in range(3)]
        await server.until(lambda: len(server.requests) >= 3)
        assert (server.in_flight, server.most_at_once, server.abandoned) == (3, 3, 0)
        for task in waiting[:2]:
            task.cancel()
        await server.until(lambda: server.abandoned >= 2)
        assert (server.in_flight, server.abandoned) == (1, 2)
        waiting[2].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_waiting_for_a_request_that_never_comes_ends() -> None:
    async with ScriptedServer() as server:
        with pytest.raises(TimeoutError):
            await server.until(lambda: len(server.requests) >= 1, within_s=0.01)
