"""The lead proposes; what cannot be acted on is asked for again with the reason, a fixed number of times."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from core.invariants import reserved_total

from engine.fakes import FakeModels, calls, down, judged
from engine.tools import Bench
from engine.worlds import ask, plan
from leadhand.cli.terminal.progress import Progress
from leadhand.core.conversation import UserMessage
from leadhand.core.errors import FailureClass
from leadhand.core.events import NoteEmitted
from leadhand.core.limits import Limits, Money
from leadhand.core.run import RunStatus

GOOD = plan(ask("a", "look", n=1))
BAD_PLANS = {
    "words": ("I would look at number one.", ("JSON",)),
    "a list": ([], ("object",)),
    "no goal": ({"subtasks": [ask("a", "look", n=1)]}, ("goal",)),
    "one thing too many": ({**GOOD, "comment": "so"}, ("comment",)),
    "unknown tool": (plan(ask("a", "fly", n=1)), ("'fly'", "look")),
    "wrong type of argument": (plan(ask("a", "look", n="one")), ("look", "n: ")),
    "missing argument": (plan(ask("a", "look")), ("a", "n")),
    "unknown argument": (plan(ask("a", "look", n=1, m=2)), ("look", "m")),
    "wrong type beside a need": (plan(ask("a", "look", n=1), {**ask("b", "look", n="one"), "needs": [0]}), ("n: ",)),
    "circle": (plan({**ask("a"), "needs": [1]}, {**ask("b"), "needs": [0]}), ("cycle",)),
    "unknown need": (plan({**ask("a"), "needs": [5]}), ("subtask 5",)),
    "nothing": (plan(), ("subtasks",)),
}
"""Plans, and the data that an objection to each names."""


@pytest.mark.parametrize("name", BAD_PLANS)
async def test_a_plan_that_cannot_be_carried_out_is_asked_for_again_with_the_reason(open_world: Any, name: str):
    bad, named = BAD_PLANS[name]
    bench = Bench()
    models = FakeModels([bad, GOOD])
    world = open_world(models, [bench.look])
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert bench.made == [("look", 1)], "something ran before the plan was sound"
    objection = models.requests("plan")[1].messages[-1]
    assert isinstance(objection, UserMessage)
    assert all(each in objection.text for each in named)
    (told,) = [each for each in await world.events(NoteEmitted) if each.refused]
    progress = Progress()
    lines = [str(line) for entry in await world.entries() if (line := progress.take(entry)) is not None]
    assert any(told.message in line for line in lines)
    assert told.message != objection.text, "which is for the model"


async def test_a_plan_that_calls_a_tool_instead_is_told_that_this_is_no_plan(open_world: Any):
    models = FakeModels([calls(("look", {"n": 1})), GOOD])
    world = open_world(models, [Bench().look])
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert "JSON" in str(models.requests("plan")[1].messages[2:])


async def test_a_lead_without_a_model_fails_the_run_at_once_with_what_to_do(open_world: Any):
    models = FakeModels(down("the key was refused"))
    world = open_world(models, [Bench().look])
    state = await world.run()

    assert state.status is RunStatus.FAILED
    assert len(models.asked) == 1, "it was tried again"
    assert "the key was refused" in state.finished.failure.message
    assert state.finished.failure.class_ is FailureClass.UNAVAILABLE
    assert state.finished.failure.next_action


async def test_a_lead_that_is_down_in_passing_is_asked_again(open_world: Any):
    models = FakeModels([down(class_="transient", type_="http_500"), down(class_="rate_limited"), GOOD])
    world = open_world(models, [Bench().look])
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert len(models.requests("plan")) == 3
    assert len(world.clock.slept) == 2, "it did not wait between the tries"


async def test_a_review_that_stays_bad_leaves_gaps_beside_the_results(open_world: Any):
    models = FakeModels(
        plan({**ask("a", "look", n=1), "expected_output": "it"}), review={"verdicts": [], "complete": True}
    )
    world = open_world(models, [Bench().look])
    state = await world.run()

    assert state.status is RunStatus.PARTIAL
    assert "saw 1" in state.finished.answer
    assert [(gap.step, gap.class_) for gap in state.finished.gaps] == [("wo-001.0", FailureClass.INSUFFICIENT)]
    assert len(models.requests("review")) == 3


async def test_a_review_that_accepts_what_failed_is_asked_for_again(open_world: Any):
    def accept_all(request: Any, facts: dict[str, Any]) -> dict[str, Any]:
        verdicts = [{"subtask": shown["subtask"], "verdict": "accept"} for shown in facts["subtasks"]]
        return {"verdicts": verdicts, "complete": True}

    bench = Bench()
    broken = bench.broken(ValueError("no"), retries=0)
    models = FakeModels(
        plan(ask("a", "broken"), ask("b", "look", n=1)), review=accept_all, work=calls(("give_up", {"reason": "no"}))
    )
    world = open_world(models, [broken, bench.look])
    state = await world.run()

    assert state.status is RunStatus.PARTIAL
    assert "wo-001.0" in models.requests("review")[1].messages[-1].text
    assert not state.steps["wo-001.0"].accepted


async def test_a_review_can_replace_a_subtask_and_add_one(open_world: Any):
    def once_more(request: Any, facts: dict[str, Any]) -> dict[str, Any]:
        replacement = ask("a2", "look", n=7)
        verdicts = [
            {"subtask": "wo-001.0", "verdict": "replan", "replacement": replacement},
            {"subtask": "wo-001.1", "verdict": "accept"},
        ]
        return {"verdicts": verdicts, "complete": False, "missing": [ask("c", "look", n=8)]}

    bench = Bench()
    models = FakeModels(plan(ask("a", "look", n=1), ask("b", "look", n=2)), review=[once_more, judged])
    world = open_world(models, [bench.look])
    state = await world.run()

    assert sorted(bench.made) == [("look", 1), ("look", 2), ("look", 7), ("look", 8)]
    assert state.status is RunStatus.SUCCEEDED
    assert state.finished.answer == "saw 2; saw 7; saw 8"


async def test_a_replacement_whose_arguments_do_not_fit_is_asked_for_again(open_world: Any):
    def badly(request: Any, facts: dict[str, Any]) -> dict[str, Any]:
        replacement = ask("a2", "look", n="seven")
        return {
            "verdicts": [{"subtask": "wo-001.0", "verdict": "replan", "replacement": replacement}],
            "complete": False,
        }

    models = FakeModels(plan(ask("a", "look", n=1)), review=[badly, judged])
    world = open_world(models, [Bench().look])
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert "n: " in models.requests("review")[1].messages[-1].text


async def test_an_empty_composition_is_asked_for_again(open_world: Any):
    models = FakeModels(
        plan(ask("a", "look", n=1)),
        review=lambda request, facts: {**judged(request, facts), "answer": None},
        compose=["  ", "I saw one."],
    )
    world = open_world(models, [Bench().look])
    state = await world.run()

    assert state.finished.answer == "I saw one."


async def test_a_model_that_hangs_is_given_up_and_asked_again(open_world: Any):
    async def hangs_once(_request: Any) -> None:
        if len(models.asked) == 1:
            await asyncio.Event().wait()

    models = FakeModels(GOOD, hold=hangs_once)
    world = open_world(models, [Bench().look], limits=Limits(attempt_timeout_s=0.05))
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert len(models.requests("plan")) == 2
    assert reserved_total(state) == Money()
    assert state.spent.requests == 3, "a call that went out was not counted"


async def test_a_defect_of_an_adapter_costs_its_attempt_and_not_the_process(open_world: Any):
    models = FakeModels(plan(ask("a"), ask("b", "look", n=2)), work=ZeroDivisionError("a bug"))
    bench = Bench()
    world = open_world(models, [bench.look, bench.measure])
    state = await world.run()

    assert state.status is RunStatus.PARTIAL
    assert "ZeroDivisionError: a bug" in state.finished.gaps[0].reason
    assert reserved_total(state) == Money()


async def test_the_answer_is_broadcast_as_it_is_written_and_only_the_finished_one_is_logged(open_world: Any):
    models = FakeModels(
        plan(ask("a", "measure", n=1)),
        work="It measures 10.",
        review=lambda request, facts: {**judged(request, facts), "answer": None},
        compose=[" ", "It is 10 [9]."],
    )
    world = open_world(models, [Bench().measure])
    state = await world.run()

    assert "".join(piece for _, attempt, piece in world.written if attempt == "compose/a1").strip() == "It is 10 [9]."
    assert ("run_1", "compose/a1", "") in world.written, "the first one is called back"
    assert state.finished.answer == "It is 10 [9]."
