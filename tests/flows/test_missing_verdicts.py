"""A review that leaves out a verdict counts for the others; what it left out is reviewed once more, by itself."""

from __future__ import annotations

from typing import Any

import pytest

from flows.scripts import Script, accept, drop, free, judged
from leadhand.core.errors import FailureClass
from leadhand.core.run import RunStatus


def reviewed(count: int, *left_out: int, **more: Any) -> tuple[Script, list[str]]:
    """A run whose first review accepts all subtasks but those ``left_out``."""
    script = Script(*(judged(f"s{number}", number) for number in range(count)))
    keys = script.under_way
    script.done(*keys)
    given = [key for number, key in enumerate(keys) if number not in left_out]
    script.reviewed(accept(*given), **more)
    return script, keys


def verdicts(script: Script) -> dict[str, bool]:
    return {key: each.accepted for key, each in script.state.steps.items() if each.order}


def test_what_a_review_left_out_is_reviewed_by_itself_and_the_answer_that_it_wrote_is_released():
    said = "All three are done."
    script, keys = reviewed(3, 1, answer=said)
    assert script.under_way == ["review-wo-001-0-again"]
    facts = script.facts("review-wo-001-0-again")
    assert [each["subtask"] for each in facts["subtasks"]] == [keys[1]]
    assert facts["judge_only"]
    assert "compose" not in facts

    script.think("review-wo-001-0-again", {"verdicts": accept(keys[1])})
    assert all(verdicts(script).values())
    assert script.finished.status is RunStatus.SUCCEEDED
    assert script.finished.answer == said
    assert "compose" not in script.state.steps


def test_an_answer_is_not_released_if_the_second_review_rejects_what_the_first_left_out():
    script, keys = reviewed(3, 1, answer="All three are done.")
    script.think("review-wo-001-0-again", {"verdicts": drop(keys[1])})
    assert script.under_way == ["compose"]


def test_no_draft_is_shown_of_an_answer_whose_review_lacks_a_verdict():
    script = Script(*(judged(f"s{number}", number) for number in range(2)))
    keys = script.under_way
    script.done(*keys)
    state, key = script.state, "review-wo-001-0"
    may_show = script.policy.details(state, key).draft
    assert may_show is not None
    assert may_show({"verdicts": accept(*keys)})
    assert not may_show({"verdicts": accept(keys[0])})


@pytest.mark.parametrize("again", ["fails", "leaves one out"])
def test_only_what_is_left_out_twice_is_not_evaluated(again: str):
    script, keys = reviewed(4, 1, 2)
    left = [keys[1], keys[2]] if again == "fails" else [keys[1]]
    if again == "fails":
        script.unusable("review-wo-001-0-again", f"no verdict for {keys[1]}; no verdict for {keys[2]}")
    else:
        script.think("review-wo-001-0-again", {"verdicts": accept(keys[2])})
    assert script.under_way == ["compose"], "it was asked for more than once more"
    assert verdicts(script) == {key: key not in left for key in keys}

    script.think("compose")
    gaps = script.finished.gaps
    assert script.finished.status is RunStatus.PARTIAL
    assert [(gap.step, gap.class_) for gap in gaps] == [(key, FailureClass.INSUFFICIENT) for key in left]
    assert not any(key in gap.reason for gap in gaps for key in keys), "the words for the model are shown to people"
    order = script.state.orders["wo-001"]
    assert order.review is not None
    assert not order.review.complete


def test_a_failure_of_a_review_that_names_no_subtask_is_the_reason_of_each_gap():
    script = Script(free("a"), judged("b", 2))
    script.done("wo-001.0", "wo-001.1")
    script.unusable("review-wo-001-0", "no JSON: 'Sure!'")
    script.think("compose")
    assert [gap.reason.endswith("no JSON: 'Sure!'") for gap in script.finished.gaps] == [True, True]


def test_what_a_review_names_for_its_model_is_no_reason_for_people():
    script = Script(free("a"), judged("b", 2))
    script.done("wo-001.0", "wo-001.1")
    script.unusable("review-wo-001-0", "wo-009.0 is not among the subtasks to review")
    script.think("compose")
    assert [gap.reason for gap in script.finished.gaps] == [
        "the result could not be evaluated: the review gave no usable verdict"
    ] * 2


def test_a_large_order_is_reviewed_again_only_where_a_shard_left_something_out():
    script = Script(*(judged(f"s{number}", number) for number in range(60)))
    keys = script.under_way
    script.done(*keys)
    script.think("review-wo-001-0", {"verdicts": accept(*keys[:24]), "complete": True})
    assert script.under_way == ["review-wo-001-1", "review-wo-001-2", "review-wo-001-0-again"]
    script.think("review-wo-001-1", {"verdicts": accept(*keys[25:50])})
    script.think("review-wo-001-2", {"verdicts": accept(*keys[50:]), "complete": True})
    assert [each["subtask"] for each in script.facts("review-wo-001-0-again")["subtasks"]] == [keys[24]]
    script.think("review-wo-001-0-again", {"verdicts": accept(keys[24])})
    script.think("compose")
    assert script.finished.status is RunStatus.SUCCEEDED


def test_a_review_that_has_to_be_corrected_is_told_what_it_left_out_too():
    script = Script(judged("a"), judged("b", 2))
    script.done("wo-001.0", "wo-001.1")
    for given, left_out in ((["wo-001.0", "wo-009.0"], ["wo-001.1"]), (["wo-009.0"], ["wo-001.0", "wo-001.1"])):
        *missing, odd = script.problems("review-wo-001-0", {"verdicts": accept(*given), "complete": True})
        assert [problem.split()[-1] for problem in missing] == left_out
        assert "wo-009.0" in odd


def test_an_answer_that_a_shard_writes_unasked_is_not_released():
    """It saw a part of the results only."""
    script = Script(*(judged(f"s{number}", number) for number in range(30)))
    keys = script.under_way
    script.done(*keys)
    script.think("review-wo-001-0", {"verdicts": accept(*keys[:25]), "complete": True, "answer": "All is done."})
    script.think("review-wo-001-1", {"verdicts": accept(*keys[25:]), "complete": True, "answer": "All is done."})
    assert script.under_way == ["compose"]
