"""A worker's turns: the named tool first, a model only for what is left to say, and every call answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.fakes import FakeModels, calls, down
from engine.tools import Bench, refusal
from engine.worlds import ask, plan
from leadhand.core.conversation import ToolMessage, UserMessage
from leadhand.core.errors import FailureClass
from leadhand.core.events import (
    AttemptScheduled,
    ConversationCompacted,
    ModelCallBegan,
    NoteEmitted,
    ToolCallReturned,
)
from leadhand.core.limits import Limits
from leadhand.core.run import RunStatus
from leadhand.core.tool import SetTodos, Todo, ToolReturn
from leadhand.ports.models import ModelRequest
from leadhand.tools.decorator import tool


def asked(models: FakeModels) -> dict[str, int]:
    """How often each worker was asked."""
    return {worker: len(models.requests(worker)) for worker in ("plan", "work", "review", "compose")}


@pytest.mark.parametrize(
    ("returned", "summary"),
    [
        ("Low water at noon.", "Low water at noon."),
        ("x" * 300, "x" * 300),
        ("x" * 301, "x" * 299 + "…"),
        ({"key": "x" * 400}, '{"key":"' + "x" * 291 + "…"),
        (["a", 1], '["a",1]'),
        (7.5, "7.5"),
        ("  ", '"  "'),
        (None, "null"),
    ],
    ids=["text", "long text", "longer text", "object", "list", "number", "blank", "nothing"],
)
async def test_what_a_tool_returned_is_the_result_whatever_it_is(open_world: Any, returned: Any, summary: str):
    @tool
    def find() -> Any:
        """Find it."""
        return returned

    world = open_world(FakeModels(plan(ask("a", "find"))), [find])
    state = await world.run()

    assert asked(world.models)["work"] == 0
    data = state.steps["wo-001.0"].data
    assert (data.summary, data.raw) == (summary, returned)
    assert len(data.summary) <= 300


async def test_a_summary_that_is_cut_holds_no_part_of_a_secret(open_world: Any):
    secret = "swordfish-" * 5

    @tool
    def find() -> dict[str, str]:
        """Find it."""
        return {"text": "x" * 270 + secret, "password": "hunter2"}

    world = open_world(FakeModels(plan(ask("a", "find"))), [find], secrets=[secret])
    state = await world.run()

    assert "swordfish" not in state.steps["wo-001.0"].data.summary
    assert "swordfish" not in "".join(entry.event.model_dump_json() for entry in await world.entries())


async def test_every_call_of_a_reply_is_made_in_parallel_and_answered_in_its_order(open_world: Any):
    bench = Bench()
    models = FakeModels(
        plan(ask("a", None)), work=[calls(("look", {"n": 3}), ("measure", {"n": 1}), ("look", {"n": 2})), "all seen"]
    )
    world = open_world(models, [bench.look, bench.measure])
    state = await world.run()

    assert sorted(bench.made) == [("look", 2), ("look", 3), ("measure", 1)]
    assert bench.most_at_once == 3
    answered = [message for message in models.requests("work")[1].messages if isinstance(message, ToolMessage)]
    assert [message.call_id for message in answered] == ["call_0", "call_1", "call_2"]
    assert [message.name for message in answered] == ["look", "measure", "look"]
    assert ["saw 3" in answered[0].content, "10" in answered[1].content, "saw 2" in answered[2].content] == [True] * 3
    assert state.steps["wo-001.0"].data.summary == "all seen"
    assert state.steps["wo-001.0"].data.raw == {
        "wo-001.0/t1/c0": {"n": 3},
        "wo-001.0/t1/c1": {"value": 10},
        "wo-001.0/t1/c2": {"n": 2},
    }


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (("look", {"n": "one"}), "n: "),
        (("look", {}), "n"),
        (("look", {"n": 1, "m": 2}), "m"),
        (("look", '{"n": 1'), "JSON"),
        (("peek", {"n": 1}), "peek"),
        (("", {}), "look"),
    ],
    ids=["wrong type", "missing", "one too many", "no JSON", "unknown tool", "no name"],
)
async def test_a_call_that_cannot_be_made_is_told_to_the_model_which_corrects_it(
    open_world: Any, bad: tuple[str, Any], message: str
):
    bench = Bench()
    models = FakeModels(plan(ask("a", None)), work=[calls(bad), calls(("look", {"n": 1})), "seen"])
    world = open_world(models, [bench.look])
    state = await world.run()

    assert state.status == "succeeded"
    assert bench.made == [("look", 1)]
    told = models.requests("work")[1].messages[-1]
    assert isinstance(told, ToolMessage)
    assert not told.ok
    assert json.loads(told.content)["isError"] is True
    assert message in told.content


async def test_an_error_of_a_tool_is_told_to_the_model_which_has_no_other_tool_than_its_subtask_names(open_world: Any):
    bench = Bench()
    models = FakeModels(
        plan(ask("a", "broken", n=1)),
        work=[calls(("look", {"n": 1})), "I looked instead", calls(("give_up", {"reason": "x"}))],
    )
    world = open_world(models, [bench.broken(refusal()), bench.look])
    state = await world.run()

    assert "no such number" in str(models.requests("work")[0].messages)
    refusal_ = json.loads(models.requests("work")[1].messages[-1].content)
    assert refusal_["isError"]
    assert "look" in refusal_["message"]
    assert bench.counts["look"] == 0
    last = models.requests("work")[-1]
    assert "or write CANNOT: and the reason" in last.messages[-1].text
    assert "give_up" not in [each.name for each in last.tools], "a worker is asked for what it can do"
    assert state.status == "failed", "the tool that was ordered never answered"


async def test_a_worker_that_keeps_claiming_without_calling_fails_as_unproven(open_world: Any):
    bench = Bench()
    models = FakeModels(
        plan(ask("a", "look", n=4), {**ask("b", "measure"), "needs": [0]}), work="It measures 40, surely."
    )
    world = open_world(models, [bench.look, bench.measure])
    state = await world.run()

    failed = state.steps["wo-001.1"]
    assert (failed.failure.type, failed.failure.class_) == ("unproven", "invalid")
    assert "measure" in state.finished.gaps[0].reason
    assert bench.counts["measure"] == 0
    assert state.status == "partial"
    again = [
        event
        for event in await world.events(AttemptScheduled)
        if event.attempt in ("wo-001.1/a2", "wo-001.1/a3", "wo-001.1/a4")
    ]
    assert len(again) == state.definition.limits.max_repairs
    assert all(event.continues is None and event.feedback for event in again)
    assert again[-1].feedback in str(models.requests("work")[-1].messages)


async def test_an_empty_answer_is_objected_to(open_world: Any):
    models = FakeModels(plan(ask("a", "measure", n=1)), work=["  ", "It measures 10."])
    world = open_world(models, [Bench().measure], worker_calls="always")
    state = await world.run()

    assert state.status == "succeeded"
    assert isinstance(models.requests("work")[1].messages[-1], UserMessage)


async def test_a_worker_gives_up_with_a_reason_and_nothing_else_of_that_reply_is_done(open_world: Any):
    bench = Bench()
    models = FakeModels(plan(ask("a", None)), work=calls(("look", {"n": 1}), ("give_up", {"reason": "it is too dark"})))
    world = open_world(models, [bench.look])
    state = await world.run()

    assert bench.made == []
    assert state.steps["wo-001.0"].failure.message == "it is too dark"
    assert "it is too dark" in state.finished.gaps[0].reason


async def test_a_worker_that_gives_up_after_a_failed_call_fails_for_its_reason_and_that_of_the_call(
    open_world: Any,
):
    bench = Bench()
    models = FakeModels(plan(ask("a", "broken")), work=calls(("give_up", {"reason": "it does not work"})))
    world = open_world(models, [bench.broken(refusal("there is no page 7"))])
    state = await world.run()

    assert state.steps["wo-001.0"].failure.message == "it does not work; the last error: there is no page 7"


async def test_a_worker_that_never_comes_to_an_end_is_stopped_after_its_turns(open_world: Any):
    bench = Bench()
    models = FakeModels(plan(ask("a", None)), work=calls(("look", {"n": 1})))
    world = open_world(models, [bench.look], limits=Limits(max_turns=3))
    state = await world.run()

    assert asked(models)["work"] == 3
    assert (state.finished.gaps[0].class_, state.steps["wo-001.0"].failure.type) == ("exhausted", "max_turns")


async def test_a_worker_that_repeats_a_call_is_stopped(open_world: Any):
    bench = Bench()
    models = FakeModels(plan(ask("a", None)), work=calls(("measure", {"n": 1})))
    world = open_world(models, [bench.measure])
    state = await world.run()

    assert bench.made == [("measure", 1)] * 4
    assert asked(models)["work"] == 4
    (gap,) = state.finished.gaps
    assert (gap.class_, state.steps["wo-001.0"].failure.type) == ("exhausted", "no_progress")


async def test_a_conversation_that_outgrows_the_window_is_shortened_and_goes_on(open_world: Any):
    """What was told in full is in the log all the same, and a takeover goes on with what was shortened."""
    told: list[int] = []

    def picky(request: ModelRequest, facts: dict[str, Any]) -> Any:
        size = sum(len(message.content) for message in request.messages if isinstance(message, ToolMessage))
        told.append(size)
        return down("too long", "too_large", "context_length") if size > 2_000 else "It is long."

    @tool
    async def read() -> str:
        """Read all of it."""
        return "x" * 100_000

    world = open_world(FakeModels(plan(ask("a", "read")), work=picky), [read], worker_calls="always")
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert told[0] > 100_000
    assert 900 < told[-1] < 2_000
    assert [event.keep for event in await world.events(ConversationCompacted)] == [4_000, 1_000]
    (call,) = await world.events(ToolCallReturned)
    assert call.ok


async def test_the_reason_of_each_turn_is_the_same_after_a_restart_as_before_it(open_world: Any):
    order = plan({**ask("a", "look", n=1), "expected_output": "a sentence"})
    lines = ["", calls(("look", {"n": 4711})), "", "1"]
    models = FakeModels(order, work=lines)
    world = open_world(models, [Bench().look])
    await world.run()
    entries = await world.entries()
    asked_before = models.requests("work")[-1].messages
    begun = [entry for entry in entries if isinstance(entry.event, ModelCallBegan)]
    last = max(entry.seq for entry in begun if entry.event.call_id.startswith("wo-001.0/"))

    again = open_world(FakeModels(order, work=lines[-1]), [Bench().look])
    first, *others = [entry.event for entry in entries[: last - 1]]
    await again.store.create("run_1", first)
    await again.store.append("run_1", others)
    await again.take_over("run_1")

    assert again.models.requests("work")[0].messages == asked_before
    assert sum(isinstance(message, UserMessage) for message in asked_before) == 3, "the facts, and two objections"


async def test_turns_that_bring_nothing_new_end_the_attempt(open_world: Any):
    bench = Bench()
    circle = [calls(("measure", {"n": n})) for n in (1, 2, 1, 2, 1, 2)]
    models = FakeModels(plan(ask("a", None)), work=circle)
    world = open_world(models, [bench.measure], limits=Limits(max_turns=50))
    state = await world.run()

    assert asked(models)["work"] == 5, "two turns, and three that repeat them"
    failure = state.steps["wo-001.0"].failure
    assert (failure.type, failure.class_) == ("no_progress", "exhausted")


@pytest.mark.parametrize("effect", ["polling", "once"])
async def test_turns_that_poll_or_act_are_progress(open_world: Any, effect: str):
    made: list[int] = []
    policy: dict[str, Any] = {"polling": True} if effect == "polling" else {"effect": "once", "approval": "auto"}

    @tool(**policy)
    async def beat() -> str:
        """Do it once more."""
        made.append(1)
        return "done"

    models = FakeModels(plan(ask("a", None)), work=[*[calls(("beat", {}))] * 6, "enough"])
    world = open_world(models, [beat], limits=Limits(max_turns=50))
    state = await world.run()

    assert state.steps["wo-001.0"].data.summary == "enough"
    assert len(made) == 6


async def test_a_worker_is_stopped_although_every_turn_parks_it(open_world: Any):
    @tool
    async def todos() -> ToolReturn:
        """Write the same list again."""
        return ToolReturn(raw="written", asks=(SetTodos(todos=(Todo(id="1", content="go on"),)),))

    bench = Bench()
    models = FakeModels(plan(ask("a", None)), work=calls(("todos", {}), ("peek", {})))
    world = open_world(models, [todos, bench.look], limits=Limits(max_turns=50))
    state = await world.run()

    assert state.steps["wo-001.0"].failure.class_ == "exhausted"
    assert asked(models)["work"] == 4


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
    state = await first.run()
    assert state.steps["wo-001.0"].data.value == {"centimetres": 20}
    assert len([each for each in await first.events(NoteEmitted) if each.refused]) == 1
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


async def test_a_turn_that_brings_something_new_is_progress(open_world: Any):
    turns = [calls(("measure", {"n": n // 2})) for n in range(12)]
    models = FakeModels(plan(ask("a", None)), work=[*turns, "all measured"])
    state = await open_world(models, [Bench().measure], limits=Limits(max_turns=50)).run()

    assert state.steps["wo-001.0"].data.summary == "all measured"
