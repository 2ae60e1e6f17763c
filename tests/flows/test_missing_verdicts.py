"""A review that leaves out a verdict is asked for again, and nothing of it counts before."""

from __future__ import annotations

from flows.scripts import Script, accept, free, judged


def test_no_draft_is_shown_of_an_answer_whose_review_lacks_a_verdict():
    script = Script(*(judged(f"s{number}", number) for number in range(2)))
    keys = script.under_way
    script.done(*keys)
    state, key = script.state, "review-wo-001-0"
    may_show = script.policy.details(state, key).draft(state, state.steps[key])
    assert may_show is not None
    assert may_show({"verdicts": accept(*keys)})
    assert not may_show({"verdicts": accept(keys[0])})


def test_a_failure_of_a_review_that_names_no_subtask_is_the_reason_of_each_gap():
    script = Script(free("a"), judged("b", 2))
    script.done("wo-001.0", "wo-001.1")
    script.unusable("review-wo-001-0", "no JSON: 'Sure!'")
    script.think("compose")
    assert [gap.reason.endswith("no JSON: 'Sure!'") for gap in script.finished.gaps] == [True, True]


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
