"""A pass over any beginning of the log of a work-order run asks for exactly what the run asked for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from core.moves import walk

from flows.scripts import Script, accept, drop, judged, look, replan, retry
from leadhand.core import events as ev
from leadhand.core.evolve import replay
from leadhand.core.run import RunStatus
from leadhand.core.work_result import VerdictKind
from leadhand.flows.seam.run import FunctionRun
from leadhand.flows.work_order.flow import WORK_ORDER

OWN = ("plan", "review", "compose")
"""The workers of the steps that the flow asks for, besides subtasks."""


def check(log: Sequence[ev.Entry], until: int = 0) -> None:
    """Check that a new pass over each beginning of a log asks again for all that this has, and for nothing that the
    whole log does not have, unless the run ended before it could."""
    whole = replay("run_1", log)
    ended_early = whole.finished is None or whole.finished.failure is not None or whole.cancel_by is not None
    known = {**whole.steps, **whole.orders}
    for end in range(2, (until or len(log)) + 1):
        state = replay("run_1", log[:end])
        found = FunctionRun(WORK_ORDER, state.definition).advanced(state)
        asked = [key for key in found.steps if key[0] not in "?~!"]
        own = [key for key, each in state.steps.items() if each.step.worker in OWN and each.step.parent is None]
        lost = [key for key in own if key not in asked]
        lost += [key for key in state.orders if key not in asked]
        assert not lost, f"after {end} events"
        assert not found.strays, f"after {end} events"
        assert ended_early or not [key for key in asked if key not in known], f"after {end} events"
        found.close()


def test_a_run_with_a_repair_and_several_shards():
    script = Script(*(judged(f"s{number}", number) for number in range(60)), max_output_tokens=200, max_steps=2)
    keys = script.under_way
    script.failed(keys[3], "transient")
    script.done(*(key for key in keys[4:]))
    script.done(*keys[:3])
    while script.state.finished is None:
        for name in script.under_way:
            step = script.state.steps[name]
            if step.step.subtask is not None:
                script.done(name)
            elif name.startswith("review-"):
                covers = [script.state.steps[key] for key in step.step.input["covers"]]
                verdicts = [*accept(*(each.key for each in covers if each.ok))]
                verdicts += retry(*(each.key for each in covers if not each.ok))
                script.think(name, {"verdicts": verdicts, "complete": all(each.ok for each in covers)})
            else:
                script.think(name)
    assert [*script.state.orders] == ["wo-001", "wo-002"]
    assert "compose2" in script.state.steps
    check(script.log)


def test_a_run_whose_planner_asks_and_whose_review_replaces_drops_and_misses():
    script = Script()
    script.think("plan", {"question": "Which one?"})
    (asked,) = script.state.questions
    script.write(ev.QuestionAnswered(by="Ann", question_id=asked, text="The left one."))
    script.decide_all()
    script.think("plan-v2", {"goal": "it", "subtasks": [look("a", 1), look("b", 2), look("c", 3)]})
    script.done("wo-001.0", "wo-001.1")
    script.failed("wo-001.2")
    verdicts = [*accept("wo-001.0"), replan("wo-001.1", **look("d", 4)), *drop("wo-001.2")]
    script.reviewed(verdicts, missing=[look("e", 5)], complete=False)
    script.done("wo-002.0", "wo-002.1")
    script.reviewed(accept("wo-002.0", "wo-002.1"), complete=True)
    script.think("compose2")
    assert [each.verdict for each in script.state.orders["wo-001"].review.verdicts] == [
        VerdictKind.ACCEPT,
        VerdictKind.REPLAN,
        VerdictKind.DROP,
    ]
    check(script.log)


@pytest.mark.parametrize("seed", range(40))
def test_a_run_in_which_anything_may_happen(seed: int):
    """Until a person wants something to be done again: what follows from it is new."""
    log = walk(seed, 60, to_the_end=True).log
    check(log, next((n for n, each in enumerate(log) if isinstance(each.event, ev.RequestDecided)), len(log)))


def repaired() -> Script:
    """A run that ended without its third subtask; its second one was done by a repair order."""
    script = Script(look("a", 1), look("b", 2), look("c", 3))
    script.done("wo-001.0")
    script.failed("wo-001.1", "transient")
    script.failed("wo-001.2")
    script.reviewed([*accept("wo-001.0"), *retry("wo-001.1"), *drop("wo-001.2")])
    script.done("wo-002.0")
    script.reviewed(accept("wo-002.0"))
    script.think("compose2")
    assert script.finished.status is RunStatus.PARTIAL
    script.write(ev.StepRequested(what="retry", by="Ann", steps=("wo-001.2",)))
    script.decide_all()
    assert script.under_way == ["wo-001.2"]
    script.done("wo-001.2")
    return script


def test_after_a_retry_in_place_the_reviews_are_new_and_the_repair_is_not_done_again():
    script = repaired()
    assert script.under_way == ["review-wo-001-0-2"]
    script.reviewed([*accept("wo-001.0"), *retry("wo-001.1"), *accept("wo-001.2")], complete=False)
    assert script.under_way == ["review-wo-002-0-2"]
    script.reviewed(accept("wo-002.0"))
    script.think("compose2-2")

    assert (script.finished.status, script.finished.gaps) == (RunStatus.SUCCEEDED, ())
    assert [*script.state.orders] == ["wo-001", "wo-002"]
    assert script.finished.left_out == ("review-wo-001-0", "review-wo-002-0", "compose2")


def test_a_repair_that_is_not_wanted_any_more_is_left_out_and_what_it_repaired_counts():
    script = repaired()
    script.reviewed([*accept("wo-001.0"), *drop("wo-001.1"), *accept("wo-001.2")], complete=True)
    script.think("compose")

    assert script.finished.status is RunStatus.PARTIAL
    assert [gap.step for gap in script.finished.gaps] == ["wo-001.1"]
    assert "wo-002.0" in script.finished.left_out
    assert {source.event_id for source in script.finished.sources} == {script.state.steps["wo-001.0"].event_ids[-1]}
