"""A subtask can expect an object of a JSON schema: the worker is asked for it, and code checks it like a text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.fakes import FakeModels, calls
from engine.tools import Bench
from engine.worlds import ask, plan
from leadhand.core.conversation import UserMessage
from leadhand.core.errors import FailureClass
from leadhand.core.events import ModelCallBegan, NoteEmitted
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


async def test_the_worker_is_asked_for_the_object_and_the_value_is_kept_beside_what_the_tool_returned(open_world: Any):
    bench = Bench()
    models = FakeModels(plan(sized()), work={"centimetres": 20, "words": "Very Large"})
    world = open_world(models, [bench.measure])
    state = await world.run()

    (request,) = models.requests("work")
    assert request.output is not None
    assert request.output.schema_ == SIZE
    assert models.facts("work")[0]["subtask"]["expected_output"] == SIZE
    assert "give_up" in [tool.name for tool in request.tools], "it cannot write that it gives up"
    found = state.steps["wo-001.0"]
    assert (found.data.value, found.data.raw) == ({"centimetres": 20, "words": "Very Large"}, {"value": 20})
    assert json.loads(found.data.summary) == found.data.value
    shown = models.facts("review")[0]["subtasks"][0]
    assert (shown["expected_output"], shown["result"]["raw"]) == (SIZE, {"value": 20}), "a review judges it in full"
    assert state.status is RunStatus.SUCCEEDED
    assert "20" in state.finished.answer

    document = await world.document()
    assert document["work_orders"][0]["subtasks"][0]["expected_output"] == SIZE
    (event,) = [event for event in document["context_store"]["events"] if event["result"] == "success"]
    assert event["content"]["value"] == found.data.value
    assert event["content"]["raw"] == {"value": 20}


async def test_other_subtasks_refer_to_the_fields_of_the_value(open_world: Any):
    bench = Bench()
    second = {**ask("b", "look", n=result("/value/centimetres")), "needs": [0]}
    world = open_world(FakeModels(plan(sized(), second), work={"centimetres": 20}), [bench.measure, bench.look])
    await world.run()

    assert bench.made == [("measure", 2), ("look", 20)]


async def test_a_worker_without_a_tool_can_be_asked_for_an_object(open_world: Any):
    bench = Bench()
    first = {**ask("choose"), "expected_output": SIZE}
    second = {**ask("b", "look", n=result("/value/centimetres")), "needs": [0]}
    models = FakeModels(plan(first, second), work=[calls(("measure", {"n": 2})), {"centimetres": 20}])
    await open_world(models, [bench.measure, bench.look]).run()

    assert bench.made == [("measure", 2), ("look", 20)]


BAD_VALUES = {
    "a text": ("It is 20 cm.", "JSON"),
    "a wrong type": ({"centimetres": "20"}, "centimetres: "),
    "a missing field": ({}, '"centimetres"'),
    "one field too many": ({"centimetres": 20, "more": 20}, "more"),
}


@pytest.mark.parametrize("name", BAD_VALUES)
async def test_an_object_that_does_not_match_is_asked_for_again_with_its_problems(open_world: Any, name: str):
    bad, problem = BAD_VALUES[name]
    models = FakeModels(plan(sized()), work=[bad, {"centimetres": 20}])
    world = open_world(models, [Bench().measure])
    state = await world.run()

    objection = models.requests("work")[1].messages[-1]
    assert isinstance(objection, UserMessage)
    assert problem in objection.text
    assert state.steps["wo-001.0"].data.value == {"centimetres": 20}
    assert len([each for each in await world.events(NoteEmitted) if each.refused]) == 1


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


async def test_a_worker_that_never_matches_fails_as_invalid(open_world: Any):
    models = FakeModels(plan(sized()), work={"centimetres": "many"})
    world = open_world(models, [Bench().measure], limits=Limits(max_steps=1))
    state = await world.run()

    found = state.steps["wo-001.0"]
    assert found.failure.class_ is FailureClass.INVALID
    assert 'centimetres: "many"' in found.failure.message
    assert found.data is None
    assert state.status is not RunStatus.SUCCEEDED


async def test_a_worker_that_cannot_find_the_value_gives_up(open_world: Any):
    models = FakeModels(plan(sized()), work=calls(("give_up", {"reason": "it has no size"})))
    state = await open_world(models, [Bench().measure], limits=Limits(max_steps=1)).run()

    assert state.steps["wo-001.0"].failure.message == "it has no size"


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
