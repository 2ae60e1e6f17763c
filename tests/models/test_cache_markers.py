"""Prompts that repeat are marked for the cache of a provider that wants markers, and what that costs is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import test_pydantic_ai_others as others
from asking import GIVE_UP, WEATHER, asking, spec
from native_servers import MODELS, SERVERS, Answer, AnthropicServer

from leadhand import Leadhand
from leadhand.core.conversation import AssistantMessage, SystemMessage, ToolCall, ToolMessage
from leadhand.core.events import ModelCallBegan, ModelCallReturned
from leadhand.models.prices import known_cost, known_profile
from leadhand.models.router import ModelRouter
from leadhand.ports.models import ModelRequest

MODEL = MODELS["anthropic"]
LONG = spec({**WEATHER, "description": "The weather at a place. " * 300})
CALL = ToolCall(id="c1", name="weather_tool", arguments={"location": "Paris"})


def prompt(*, model: str = MODEL) -> ModelRequest:
    request = asking("question", model=model, tools=[LONG, GIVE_UP])
    return request.evolve(messages=(SystemMessage(text="You work."), *request.messages[1:]))


def marked(body: dict[str, Any]) -> list[str]:
    """The parts of a request to Anthropic that are marked."""
    last = body["messages"][-1]["content"]
    parts = {"tools": body.get("tools"), "system": body.get("system"), "messages": last}
    return [name for name, part in parts.items() if "cache_control" in json.dumps(part)]


class TestMarkers:
    async def test_what_other_calls_send_too_is_marked(self) -> None:
        call = AssistantMessage(tool_calls=(CALL,))
        result = ToolMessage(call_id="c1", name="weather_tool", content="18 °C " * 100)
        async with AnthropicServer(lambda _: Answer(text="x")).running() as server:
            router = ModelRouter(env=server.env)
            for turns in range(2):
                request = prompt()
                await router.ask(request.evolve(messages=(*request.messages, *(call, result) * turns)))
            await router.aclose()
        assert [marked(body) for body in server.bodies] == [["tools", "system"], ["tools", "system", "messages"]]
        assert server.bodies[1]["tools"][-1]["cache_control"] == {"type": "ephemeral", "ttl": "5m"}

    async def test_what_cannot_be_priced_is_not_marked(self) -> None:
        async with AnthropicServer(lambda _: Answer(text="x")).running() as server:
            router = ModelRouter(env=server.env)
            await router.ask(prompt(model="anthropic:claude-unknown-1"))
            await router.aclose()
        assert marked(server.bodies[0]) == []

    async def test_other_providers_get_no_markers(self) -> None:
        async with SERVERS["google"](lambda _: Answer(text="x")).running() as server:
            router = ModelRouter(env=server.env)
            await router.ask(prompt(model=MODELS["google"]))
            await router.aclose()
        assert "cache" not in json.dumps(server.bodies)

    async def test_bedrock_gets_cache_points_for_claude_only(self) -> None:
        async with others.serving(lambda _request, _body: others.TestBedrock.document({"text": "x"})) as (url, bodies):
            router = ModelRouter(env=others.TestBedrock.env(url))
            for model in ("bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0", others.TestBedrock.MODEL):
                await router.ask(prompt(model=model))
            await router.aclose()
        point = {"cachePoint": {"type": "default"}}
        assert [point in body["system"] for body in bodies] == [True, False]
        assert [point in body["toolConfig"]["tools"] for body in bodies] == [True, False]


async def test_cache_writes_are_reserved_counted_and_priced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reservation covers a prompt that the provider writes to its cache as a whole."""
    profile = known_profile(MODEL)
    assert profile is not None
    assert profile.input_nanousd
    assert profile.cache_write_nanousd
    assert profile.cache_write_nanousd == profile.input_nanousd * 5 // 4
    greeting = ("c1", "give_plan", {"answer": "Hello!"})
    answer = Answer(calls=(greeting,), sent=3_000, cached=1_000, into_cache=1_900)
    async with AnthropicServer([answer]).running() as server:
        for variable, value in server.env.items():
            monkeypatch.setenv(variable, value)
        async with Leadhand(MODEL, home=tmp_path) as lead:
            run = await lead.start("Hello")
            document = (await run.answer()).document
            events = [entry.event async for entry in run]
    [began] = [event for event in events if isinstance(event, ModelCallBegan)]
    [returned] = [event for event in events if isinstance(event, ModelCallReturned)]
    usage = returned.usage
    assert usage is not None
    assert (usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens) == (3_000, 1_000, 1_900)
    assert document["usage"]["cache_write_tokens"] == 1_900
    assert usage.nanousd is not None
    assert usage.nanousd == known_cost(MODEL, usage)
    assert document["usage"]["cost_usd"] == pytest.approx(usage.nanousd / 1e9)
    bound = began.reserved.tokens - 2_000  # one token per byte, beside the answer's 2,000
    assert profile.output_nanousd is not None
    assert began.reserved.nanousd == bound * profile.cache_write_nanousd + 2_000 * profile.output_nanousd


async def test_unknown_usage_settles_all_that_was_reserved_cache_writes_included(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = Answer(calls=(("c1", "give_plan", {"answer": "Hello!"}),), sent=0)
    async with AnthropicServer([answer]).running() as server:
        for variable, value in server.env.items():
            monkeypatch.setenv(variable, value)
        async with Leadhand(MODEL, home=tmp_path) as lead:
            run = await lead.start("Hello")
            await run.answer()
            events = [entry.event async for entry in run]
    [began] = [event for event in events if isinstance(event, ModelCallBegan)]
    assert run.state.spent == began.reserved
