"""Flows bring offline rules for their own workers; others are served only where the facts are enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from asking import GIVE_UP, WEATHER, asking, offer, planning, spec

from leadhand.core.conversation import AssistantMessage, ToolMessage
from leadhand.core.errors import FailureClass
from leadhand.flows.offline.rule import Call, OfflineRequest, Reply
from leadhand.models.offline import OfflineModels
from leadhand.ports import ModelError
from leadhand.ports.models import ModelRequest, OutputSpec

TIDE = offer("tide_tool", "harbour", description="The tide at a harbour.")
NOTE = offer("note_tool", "title", "body", description="Writes a note.")


def wanting(request: ModelRequest, name: str, **properties: Any) -> ModelRequest:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return request.evolve(output=OutputSpec(name=name, schema=schema))


def translate(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    if "text" not in facts:
        return None
    return {"text": facts["text"].upper(), "worker": request.worker}


async def test_a_flow_brings_the_rule_for_its_worker() -> None:
    models = OfflineModels(lambda _flow: [{"translator": translate}])
    reply = await models.ask(wanting(asking({"text": "hello"}), "translator", text={"type": "string"}))
    assert reply.value == {"text": "HELLO", "worker": "translator"}


async def test_a_rule_may_call_a_tool() -> None:
    def watch(facts: Mapping[str, Any], request: OfflineRequest) -> Reply:
        return Call(request.tools[0].name, {"harbour": facts["place"]})

    models = OfflineModels(lambda _flow: [{"watch": watch}])
    reply = await models.ask(asking({"task": "watch", "place": "Dover"}, tools=[spec(TIDE), spec(NOTE)]))
    assert [(call.name, call.arguments) for call in reply.message.tool_calls] == [("tide_tool", {"harbour": "Dover"})]


async def test_two_flows_may_name_a_worker_alike() -> None:
    def plan(facts: Mapping[str, Any], request: OfflineRequest) -> Reply:
        return {"steps": ["dig"]}

    models = OfflineModels(lambda flow: [{"plan": plan}] if flow == "dig" else [])
    request = asking({"request": "weather in Paris"}).evolve(flow="dig")
    own = await models.ask(wanting(request, "plan", steps={"type": "array"}))
    assert own.value == {"steps": ["dig"]}
    assert "subtasks" in (await models.ask(planning("weather in Paris"))).value


async def test_a_worker_without_a_rule_is_a_failure_that_says_what_to_do() -> None:
    for models in (OfflineModels(), OfflineModels(lambda _flow: [{"translator": translate}])):
        request = wanting(asking({"sentence": "hello"}), "translator", text={"type": "string"})
        with pytest.raises(ModelError, match="'translator'") as caught:
            await models.ask(request)
        assert (caught.value.failure.class_, caught.value.failure.type) == (FailureClass.UNAVAILABLE, "no_rules")
        assert "--model" in caught.value.failure.next_action


async def test_a_worker_whose_schema_the_facts_fill_is_served() -> None:
    request = wanting(asking({"city": "Oslo", "days": 2, "more": 1}), "scout", city={"type": "string"}, days={})
    assert (await OfflineModels().ask(request)).value == {"city": "Oslo", "days": 2}


@pytest.mark.parametrize(
    ("facts", "tool", "args"),
    [
        ({"harbour": "Dover"}, TIDE, {"harbour": "Dover"}),
        ({"request": "The tide in Dover"}, TIDE, {"harbour": "Dover"}),
        ({"location": "Paris", "day": "tomorrow", "topic": "x"}, WEATHER, {"location": "Paris", "day": "tomorrow"}),
    ],
)
async def test_a_worker_with_one_tool_calls_it_with_what_the_facts_say(
    facts: dict[str, Any], tool: dict[str, Any], args: dict[str, Any]
) -> None:
    request = asking(facts, tools=[spec(tool), GIVE_UP])
    reply = await OfflineModels().ask(request)
    (call,) = reply.message.tool_calls
    assert (call.name, call.arguments) == (tool["name"], args)
    results = (reply.message, ToolMessage(call_id=call.id, name=call.name, content='{"summary": "done"}'))
    after = await OfflineModels().ask(request.evolve(messages=(*request.messages, *results)))
    assert after.message == AssistantMessage(text="done")


@pytest.mark.parametrize(
    "facts",
    [
        {"title": "The tide in Dover"},
        {"request": "The tide in Dover and a poem"},  # half of it
        {"request": "The tide in Dover, in Calais and in Ostend"},  # three calls
        {"length": 3},
    ],
)
async def test_a_worker_with_one_tool_is_not_served_by_half(facts: dict[str, Any]) -> None:
    with pytest.raises(ModelError) as caught:
        await OfflineModels().ask(asking(facts, tools=[spec(TIDE)]))
    assert caught.value.failure.type == "no_rules"
