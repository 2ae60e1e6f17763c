"""One answer comes back, whatever happened: from every accepted result, with every gap by its name."""

from __future__ import annotations

import pytest

from flows.scripts import Script, accept, drop, judged, look, replan, retry
from leadhand.core.errors import FailureClass
from leadhand.core.run import RunStatus


def test_the_composer_is_shown_the_request_every_accepted_result_and_every_gap():
    script = Script(
        look("a", 1), look("b", 2), look("c", 3), cannot=[{"what": "fly", "reason": "no tool"}], max_steps=1
    )
    script.done("wo-001.0", "wo-001.1")
    script.failed("wo-001.2")
    script.reviewed(accept("wo-001.0", "wo-001.1") + drop("wo-001.2"), missing=[look("d", 4)], complete=False)
    facts = script.facts("compose")

    assert facts["request"] == script.state.definition.request
    assert [result["summary"] for result in facts["results"]] == ["wo-001.0 is done", "wo-001.1 is done"]
    assert not any(result.get("not_evaluated") for result in facts["results"])
    assert [gap["what"] for gap in facts["gaps"]] == ["c", "d", "fly"]
    assert all(gap["reason"] and gap["next_action"] and gap["class"] for gap in facts["gaps"])
    assert facts["sources"] == [{"n": 1, "title": "A page", "url": "https://example.org/a"}]


def test_what_was_dropped_or_done_again_is_not_shown_to_the_composer_as_a_result():
    script = Script(look("a", 1), look("b", 2))
    script.done("wo-001.0", "wo-001.1")
    script.reviewed([*drop("wo-001.0"), replan("wo-001.1", name="c", tool="look", args={"n": 3})])
    script.done("wo-002.0")
    script.reviewed(accept("wo-002.0"))

    assert [result["summary"] for result in script.facts("compose2")["results"]] == ["wo-002.0 is done"]


def test_the_composers_call_may_use_what_was_held_back_and_is_streamed_as_a_draft():
    script = Script(look("a"), max_steps=1)
    script.done("wo-001.0")
    script.reviewed(accept("wo-001.0"))

    assert script.state.steps["compose"].step.final
    assert not script.state.steps["review-wo-001-0"].step.final


def test_an_answer_is_delivered_as_it_was_written_whatever_it_says():
    said = "Nothing was found [7]. 4,711 euros!\n\nSources: https://invented.example/"
    script = Script(look("a"), max_steps=1)
    script.done("wo-001.0")
    script.reviewed(accept("wo-001.0"))
    script.think("compose", text=said)

    assert (script.finished.status, script.finished.answer) == (RunStatus.SUCCEEDED, said)


def test_when_no_model_can_compose_the_results_are_listed():
    script = Script(look("a"), look("b"))
    script.done("wo-001.0")
    script.failed("wo-001.1")
    script.reviewed(accept("wo-001.0") + drop("wo-001.1"))
    script.think_fails("compose")

    assert script.finished.status is RunStatus.PARTIAL
    assert script.finished.answer == "- wo-001.0 is done [1]"
    assert [gap.name for gap in script.finished.gaps] == ["b", "the answer"]


@pytest.mark.parametrize("reviewed", [True, False])
def test_when_everything_fails_nothing_is_composed_and_every_gap_is_named(*, reviewed: bool):
    script = Script(look("a"), look("b"))
    script.failed("wo-001.0")
    script.failed("wo-001.1")
    if reviewed:
        script.reviewed(drop("wo-001.0", "wo-001.1"))
    else:
        script.think_fails("review-wo-001-0")

    assert (script.finished.status, script.finished.answer) == (RunStatus.FAILED, "")
    assert [gap.name for gap in script.finished.gaps] == ["a", "b"]
    assert "compose" not in script.state.steps


def test_without_a_review_results_are_shown_as_not_evaluated_and_the_run_is_partial():
    script = Script(look("a"), look("b"))
    script.done("wo-001.0", "wo-001.1")
    script.think_fails("review-wo-001-0")
    facts = script.facts("compose")
    assert [result.get("not_evaluated") for result in facts["results"]] == [True, True]
    assert [gap["what"] for gap in facts["gaps"]] == ["a", "b"]

    script.think("compose")
    assert script.finished.status is RunStatus.PARTIAL
    assert {gap.class_ for gap in script.finished.gaps} == {FailureClass.INSUFFICIENT}


def test_one_shard_that_cannot_be_reviewed_leaves_only_its_own_subtasks_without_an_evaluation():
    script = Script(*(judged(f"s{number}", number) for number in range(30)))
    keys = script.under_way
    script.done(*keys)
    script.think("review-wo-001-0", {"verdicts": accept(*keys[:25]), "complete": True})
    script.think_fails("review-wo-001-1")
    script.think("compose")

    assert script.finished.status is RunStatus.PARTIAL
    assert [gap.name for gap in script.finished.gaps] == [f"s{number}" for number in range(25, 30)]


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_a_run_has_no_more_orders_than_steps(steps: int):
    script = Script(look("a"), max_steps=steps)
    for number in range(1, steps + 1):
        script.failed(f"wo-00{number}.0", "transient")
        script.reviewed(retry(f"wo-00{number}.0"))

    assert len(script.state.orders) == steps
    assert [gap.class_ for gap in script.finished.gaps] == [FailureClass.TRANSIENT]


def test_a_finished_run_wants_nothing_more():
    script = Script(look("a"))
    script.done("wo-001.0")
    script.reviewed(accept("wo-001.0"), answer="Done.")

    length = len(script.log)
    script.decide_all()

    assert len(script.log) == length


def test_the_flow_asks_for_nothing_twice():
    script = Script(look("a"), look("b", needs=[0]))
    assert list(script.policy.next(script.state)) == [], "it wants again what is under way"
    script.done("wo-001.0")
    assert list(script.policy.next(script.state)) == []
    script.done("wo-001.1")
    assert list(script.policy.next(script.state)) == []
