"""What every adapter keeps to: one suite, applied to the built-in model, a scripted one and a server over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from asking import GIVE_UP, WEATHER, asking, planning, spec

from leadhand.domain.conversation import AssistantMessage, ModelReply, ModelRequest, ToolMessage
from leadhand.domain.limits import Usage
from leadhand.domain.work_order import Plan
from leadhand.models.offline import OfflineModels
from leadhand.models.openai_compatible import OpenAICompatible
from leadhand.models.router import ModelRouter
from leadhand.ports import Models
from leadhand.testing.model_server import ScriptedServer, served_by
from leadhand.testing.scripted_model import ScriptedModel, calls, plans, says, subtask

PLAN = planning("weather in Paris")
WORK = asking(
    {"task": "work", "subtask": {"name": "n", "tool": "weather_tool", "args": {"location": "Paris"}}, "needs": {}},
    tools=[spec(WEATHER), GIVE_UP],
)
COMPOSE = asking({"task": "compose", "results": [{"summary": "Paris: 18 °C and sunny"}], "gaps": [], "sources": []})


@contextlib.asynccontextmanager
async def offline() -> AsyncIterator[tuple[Models, str]]:
    yield OfflineModels(), "offline"


@contextlib.asynccontextmanager
async def scripted() -> AsyncIterator[tuple[Models, str]]:
    yield (
        ScriptedModel(
            plan=plans(subtask("check_weather", "weather_tool", location="Paris")),
            work=lambda r: "18 °C" if r.messages[-1].role == "tool" else calls("weather_tool", location="Paris"),
            compose=says("Paris: 18 °C and sunny"),
        ),
        "scripted",
    )


@contextlib.asynccontextmanager
async def over_http() -> AsyncIterator[tuple[Models, str]]:
    async with ScriptedServer(served_by(OfflineModels())) as server:
        models = OpenAICompatible(server.base_url)
        yield models, "openai_compatible:anything"
        await models.aclose()


@contextlib.asynccontextmanager
async def routed() -> AsyncIterator[tuple[Models, str]]:
    async with ScriptedServer(served_by(OfflineModels())) as server:
        router = ModelRouter(env={"OLLAMA_BASE_URL": server.base_url})
        yield router, "ollama:anything"
        await router.aclose()


@pytest.fixture(params=[offline, scripted, over_http, routed], ids=lambda adapter: adapter.__name__)
def adapter(request: pytest.FixtureRequest) -> Callable[[], Any]:
    return request.param


async def ask(adapter: Any, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
    async with adapter() as (models, name):
        return await models.ask(request.evolve(model=name), on_text)


async def test_a_plan_comes_back_as_an_object_that_fits_its_schema(adapter: Any) -> None:
    reply = await ask(adapter, PLAN)
    plan = Plan.model_validate(reply.value)
    assert [(s.tool, s.args["location"]) for s in plan.subtasks] == [("weather_tool", "Paris")]
    assert reply.message.tool_calls == ()


async def test_a_call_comes_back_with_an_id_and_its_arguments(adapter: Any) -> None:
    reply = await ask(adapter, WORK)
    (call,) = reply.message.tool_calls
    assert call.name == "weather_tool"
    assert call.arguments is not None
    assert call.arguments["location"] == "Paris"
    assert call.id
    assert reply.finish_reason == "tool_calls"


async def test_a_conversation_goes_on_behind_a_result(adapter: Any) -> None:
    async with adapter() as (models, name):
        request = WORK.evolve(model=name)
        first = await models.ask(request)
        call = first.message.tool_calls[0]
        told = ToolMessage(call_id=call.id, name=call.name, content='{"summary": "18 °C", "raw": {}}')
        second = await models.ask(request.evolve(messages=(*request.messages, first.message, told)))
    assert second.message.text == "18 °C"


async def test_text_is_heard_in_pieces_that_join_to_the_answer(adapter: Any) -> None:
    heard: list[str] = []
    reply = await ask(adapter, COMPOSE, heard.append)
    assert "".join(heard) == reply.message.text
    assert len(heard) > 3
    assert "18 °C" in reply.message.text
    assert reply.value is None


async def test_text_is_the_same_whether_anybody_listens(adapter: Any) -> None:
    assert (await ask(adapter, COMPOSE)).message.text == (await ask(adapter, COMPOSE, lambda _: None)).message.text


async def test_a_structured_answer_is_not_streamed(adapter: Any) -> None:
    heard: list[str] = []
    await ask(adapter, PLAN, heard.append)
    assert heard == []


async def test_every_call_is_counted(adapter: Any) -> None:
    for request in (PLAN, WORK, COMPOSE):
        usage = (await ask(adapter, request)).usage
        assert usage == Usage(requests=1, input_tokens=0, output_tokens=0, nanousd=0)


async def test_a_reply_can_be_logged_and_read_back(adapter: Any) -> None:
    reply = await ask(adapter, WORK)
    assert AssistantMessage.model_validate_json(reply.message.model_dump_json()) == reply.message
    assert ModelReply.model_validate_json(reply.model_dump_json()) == reply


async def test_calls_at_the_same_time_do_not_disturb_each_other(adapter: Any) -> None:
    async with adapter() as (models, name):
        requests = [request.evolve(model=name) for request in (PLAN, WORK, COMPOSE) for _ in range(8)]
        replies = await asyncio.gather(*(models.ask(request) for request in requests))
    assert all(reply.value is not None for reply in replies[:8])
    assert all(reply.message.tool_calls for reply in replies[8:16])
    assert all(reply.message.text for reply in replies[16:])


async def test_a_profile_names_its_model_and_is_free_here(adapter: Any) -> None:
    async with adapter() as (models, name):
        profile = models.profile(name)
    assert profile.name == name
    assert profile.free


async def test_closing_twice_does_no_harm(adapter: Any) -> None:
    async with adapter() as (models, name):
        await models.ask(COMPOSE.evolve(model=name))
        await models.aclose()
        await models.aclose()
