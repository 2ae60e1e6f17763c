"""A subtask can expect an object of a JSON schema: the worker is asked for it, and code checks it like a text."""

from __future__ import annotations

from typing import Any

import pytest

from engine.fakes import FakeModels
from engine.tools import Bench
from engine.worlds import ask, plan
from leadhand.core.conversation import UserMessage
from leadhand.core.errors import FailureClass
from leadhand.core.events import ModelCallBegan
from leadhand.core.limits import Limits
from leadhand.core.run import RunStatus

SIZE = {
    "type": "object",
    "properties": {"centimetres": {"type": "integer", "maximum": 4711}, "words": {"enum": ["Very Large", "small"]}},
    "required": ["centimetres"],
    "additionalProperties": False,
}


def sized(name: str = "a", schema: Any = SIZE, **more: Any) -> dict[str, Any]:
    return {**ask(name, "measure", n=2), "expected_output": schema, **more}


def result(path: str) -> dict[str, Any]:
    return {"$result": {"subtask": "0", "path": path}}


BAD_VALUES = {
    "a text": ("It is 20 cm.", "JSON"),
    "a wrong type": ({"centimetres": "20"}, "centimetres: "),
    "a missing field": ({}, '"centimetres"'),
    "one field too many": ({"centimetres": 20, "more": 20}, "more"),
}


@pytest.mark.parametrize("name", BAD_VALUES)
async def test_a_resumed_attempt_is_told_why_its_object_was_refused(open_world: Any, name: str):
    """The log has the value of the answer and not its text."""
    bad, problem = BAD_VALUES[name]
    first = open_world(FakeModels(plan(sized()), work=[bad, {"centimetres": 20}]), [Bench().measure])
    await first.run()
    entries = await first.entries()
    asked = [each for each in entries if isinstance(each.event, ModelCallBegan)]
    cut = next(each.seq for each in reversed(asked) if each.event.call_id.startswith("wo-"))

    models = FakeModels(plan(sized()), work={"centimetres": 20})
    world = open_world(models, [Bench().measure])
    await world.store.create("run_1", entries[0].event)
    await world.store.append("run_1", [entry.event for entry in entries[1 : cut - 1]])
    await world.take_over("run_1")

    (request,) = models.requests("work")
    said = request.messages[-1]
    assert isinstance(said, UserMessage)
    assert problem in said.text
    assert said.text == first.models.requests("work")[1].messages[-1].text


async def test_a_value_does_not_replace_the_call_that_was_ordered(open_world: Any):
    bench = Bench()
    given = {**ask("a", "look"), "args": {"n": result("/summary")}, "needs": [0], "expected_output": SIZE}
    models = FakeModels(plan(ask("first"), given), work=["seven", {"centimetres": 7}])
    state = await open_world(models, [bench.look], limits=Limits(max_steps=1)).run()

    assert "look" in models.requests("work")[-1].messages[-1].text
    assert state.steps["wo-001.1"].failure.class_ is FailureClass.INVALID
    assert "look" in state.steps["wo-001.1"].failure.message


async def test_what_a_tool_returns_as_the_object_costs_no_model_call(open_world: Any):
    schema = {"type": "object", "properties": {"value": {"type": "integer"}}}
    models = FakeModels(plan(sized(schema=schema)))
    state = await open_world(models, [Bench().measure]).run()

    assert models.requests("work") == []
    assert state.steps["wo-001.0"].data.value == {"value": 20}
    assert state.steps["wo-001.0"].data.summary == '{"value":20}'

    other = {"type": "object", "properties": {"size": {"type": "integer"}}}
    models = FakeModels(plan(sized(schema=other)), work={"size": 20})
    state = await open_world(models, [Bench().measure]).run()
    assert state.steps["wo-001.0"].data.value == {"size": 20}, "what fits by accident has other fields"


BAD_SCHEMAS = {
    "nothing": ({}, "object"),
    "a list": ({"type": "array", "items": {"type": "integer"}}, "object"),
    "an unknown type": ({"type": "object", "properties": {"a": {"type": "centimetres"}}}, '"centimetres"'),
    "a broken pattern": ({"type": "object", "properties": {"a": {"pattern": "("}}}, "regex"),
    "a reference that leads nowhere": ({"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}}, "/$defs/b"),
    "a reference to another host": ({"type": "object", "$ref": "http://127.0.0.1:9/x"}, "http://127.0.0.1:9/x"),
    "another kind of schema": ({"type": "object", "$schema": "http://127.0.0.1:9/x"}, "http://127.0.0.1:9/x"),
}


@pytest.mark.parametrize("name", BAD_SCHEMAS)
@pytest.mark.parametrize("tool", ["measure", None])
async def test_a_plan_with_a_schema_that_cannot_be_used_is_refused(open_world: Any, name: str, tool: str | None):
    bad, reason = BAD_SCHEMAS[name]
    how = {"n": 2} if tool else {}
    bench = Bench()
    models = FakeModels([plan({**ask("a", tool, **how), "expected_output": bad}), plan(ask("a", "look", n=1))])
    state = await open_world(models, [bench.measure, bench.look]).run()

    objection = str(models.requests("plan")[1].messages[-1])
    assert all(each in objection for each in ("subtask 0 (a)", "expected_output", reason))
    assert bench.made == [("look", 1)], "something ran before the plan was sound"
    assert state.status is RunStatus.SUCCEEDED


@pytest.mark.slow
async def test_a_run_that_was_cut_off_anywhere_ends_with_the_same_value(open_world: Any):
    order = plan(sized(), {**ask("b", "look", n=result("/value/centimetres")), "needs": [0]})
    bench = Bench()
    first = open_world(FakeModels(order, work=["words", {"centimetres": 20}]), [bench.measure, bench.look])
    whole = await first.run()
    entries = await first.entries()

    for cut in range(1, len(entries)):
        events = [entry.event for entry in entries[:cut]]
        again = open_world(FakeModels(order, work={"centimetres": 20}), [bench.measure, bench.look])
        await again.store.create("run_1", events[0])
        if events[1:]:
            await again.store.append("run_1", events[1:])
        state = await again.take_over("run_1")
        assert state.finished.answer == whole.finished.answer, cut
        assert state.steps["wo-001.0"].data == whole.steps["wo-001.0"].data, cut
