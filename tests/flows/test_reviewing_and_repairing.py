"""What came back is judged; only what fell short is done again, with what was accepted pinned and passed in."""

from __future__ import annotations

from typing import Any

import pytest
from core import moves
from hypothesis import assume, given
from hypothesis import strategies as st

from flows.scripts import Script, accept, drop, judged, look, replan, retry
from leadhand.core.errors import FailureClass
from leadhand.core.run import RunStatus
from leadhand.core.work_order import Subtask


def repairs(script: Script) -> tuple[Subtask, ...]:
    """The subtasks of the latest order, which must be a repair."""
    order = script.state.order
    assert order is not None
    assert order.order.repairs is not None, "there is no repair order"
    return order.order.subtasks


def test_one_review_judges_up_to_twenty_five_subtasks():
    script = Script(*(judged(f"s{number}") for number in range(25)))
    script.done(*script.under_way)

    assert script.under_way == ["review-wo-001-0"]
    assert len(script.facts("review-wo-001-0")["subtasks"]) == 25


@pytest.mark.parametrize(("max_output_tokens", "fits"), [(400, False), (2_400, True)])
def test_an_answer_is_asked_for_only_where_it_fits_into_one_reply(max_output_tokens: int, *, fits: bool):
    script = Script(*(look(f"s{number}", number) for number in range(40)), max_output_tokens=max_output_tokens)
    script.done(*script.under_way)
    assert script.under_way == ["review-wo-001-0"]
    assert script.facts("review-wo-001-0").get("compose", False) is fits


def test_a_larger_order_is_reviewed_in_shards_in_parallel_and_judged_as_one():
    script = Script(*(judged(f"s{number}") for number in range(60)))
    keys = script.under_way
    script.done(*keys)
    shards = [f"review-wo-001-{number}" for number in range(3)]
    assert script.under_way == shards
    assert [len(script.facts(shard)["subtasks"]) for shard in shards] == [25, 25, 10]
    assert not any(script.facts(shard).get("compose") for shard in shards)

    script.think(shards[1], {"verdicts": accept(*keys[25:50]), "complete": True})
    script.think(shards[0], {"verdicts": accept(*keys[:25]), "complete": True})
    assert script.under_way == [shards[2]], "it was judged before every shard was there"
    script.think(shards[2], {"verdicts": accept(*keys[50:]), "complete": True})
    assert script.under_way == ["compose"]
    script.think("compose")
    assert script.finished.status is RunStatus.SUCCEEDED


def test_an_order_is_not_complete_while_a_shard_could_not_be_reviewed():
    """Though the lead calls the whole complete: nobody has seen the rest."""
    script = Script(*(judged(f"s{number}", number) for number in range(30)))
    keys = script.under_way
    script.done(*keys)
    script.think("review-wo-001-0", {"verdicts": accept(*keys[:25]), "complete": True})
    script.think_fails("review-wo-001-1")

    assert script.state.orders["wo-001"].review is not None
    assert not script.state.orders["wo-001"].review.complete


def test_the_same_missing_part_found_by_two_shards_is_added_once():
    script = Script(*(judged(f"s{number}", number) for number in range(30)))
    keys = script.under_way
    script.done(*keys)
    missing = [look("more", 99)]
    script.think("review-wo-001-0", {"verdicts": accept(*keys[:25]), "complete": False, "missing": missing})
    script.think("review-wo-001-1", {"verdicts": accept(*keys[25:]), "complete": False, "missing": missing})

    assert [subtask.name for subtask in repairs(script)] == ["more"]


def test_when_all_is_there_review_and_answer_are_one_thought():
    script = Script(look("a"))
    script.done("wo-001.0")
    brief = script.facts("review-wo-001-0")
    assert brief["compose"] is True
    assert "gaps" not in brief
    assert brief["sources"] == [{"n": 1, "title": "A page", "url": "https://example.org/a"}]

    script.reviewed(accept("wo-001.0"), answer="All is well [1].")
    assert script.finished.status is RunStatus.SUCCEEDED
    assert script.finished.answer == "All is well [1]."
    assert "compose" not in script.state.steps


def test_an_answer_written_with_a_review_is_released_only_if_all_was_accepted():
    script = Script(look("a"), look("b"), max_steps=1)
    script.done("wo-001.0", "wo-001.1")
    script.reviewed(accept("wo-001.0") + drop("wo-001.1"), answer="All is well.")

    assert script.under_way == ["compose"]
    script.think("compose", text="Half of it is well.")
    assert script.finished.answer == "Half of it is well."
    assert [gap.name for gap in script.finished.gaps] == ["b"]


def test_an_answer_that_is_written_with_the_review_of_a_repair_order_is_used():
    script = Script(look("a", 1), look("b", 2))
    script.done("wo-001.0")
    script.failed("wo-001.1", "transient")
    script.reviewed(accept("wo-001.0") + retry("wo-001.1"))
    script.done("wo-002.0")
    assert script.facts("review-wo-002-0")["compose"]

    script.reviewed(accept("wo-002.0"), answer="Both are well.")
    assert (script.finished.status, script.finished.answer) == (RunStatus.SUCCEEDED, "Both are well.")
    assert not any(key.startswith("compose") for key in script.state.steps)


def test_a_repair_order_holds_only_what_is_open_and_what_is_missing():
    script = Script(look("a", 1), look("b", 2), look("c", 3))
    script.done("wo-001.0")
    script.failed("wo-001.1", "transient")
    script.failed("wo-001.2")
    script.reviewed(accept("wo-001.0") + retry("wo-001.1") + drop("wo-001.2"), missing=[look("d", 4)], complete=False)

    assert [(subtask.name, subtask.repairs_subtask) for subtask in repairs(script)] == [("b", "wo-001.1"), ("d", None)]
    order = script.state.order
    assert order is not None
    assert (order.order.work_order_id, order.order.repairs) == ("wo-002", "wo-001")
    assert script.under_way == ["wo-002.0", "wo-002.1"]
    assert script.state.steps["wo-001.1"].superseded_by == "wo-002.0"


def test_accepted_results_are_pinned_and_passed_in_by_their_key():
    script = Script(look("a"), look("b", args={"n": {"$result": {"subtask": "0", "path": "/raw/n"}}}, needs=[0]))
    script.done("wo-001.0")
    script.failed("wo-001.1", "transient")
    script.reviewed(accept("wo-001.0") + retry("wo-001.1"))

    (again,) = repairs(script)
    assert again.needs == ("wo-001.0",)
    assert again.args == {"n": {"$result": {"subtask": "wo-001.0", "path": "/raw/n"}}}
    assert script.under_way == ["wo-002.0"]
    assert script.facts("wo-002.0")["needs"]["wo-001.0"]["summary"] == "wo-001.0 is done"


def test_needs_follow_a_repaired_subtask_to_its_new_key():
    script = Script(look("a"), look("b", args={"n": {"$result": {"subtask": "0", "path": "/raw/n"}}}, needs=[0]))
    script.failed("wo-001.0", "transient")
    script.reviewed(retry("wo-001.0", "wo-001.1"))

    first, second = repairs(script)
    assert (first.needs, second.needs) == ((), ("wo-002.0",))
    assert second.args == {"n": {"$result": {"subtask": "wo-002.0", "path": "/raw/n"}}}
    assert script.under_way == ["wo-002.0"]


@pytest.mark.parametrize("class_", ["invalid", "unavailable", "rejected", "exhausted", "too_large"])
def test_what_failed_for_good_is_not_repeated_as_it_was(class_: str):
    script = Script(look("a"), look("b"))
    script.done("wo-001.0")
    script.failed("wo-001.1", class_)
    script.reviewed(accept("wo-001.0") + retry("wo-001.1"))

    assert script.under_way == ["compose"]
    script.think("compose")
    (gap,) = script.finished.gaps
    assert (gap.subtask_index, gap.class_) == (1, FailureClass(class_))


@pytest.mark.parametrize("class_", ["transient", "lost"])
def test_what_failed_in_passing_is_itself_a_reason_to_try_again_until_the_steps_are_used_up(class_: str):
    script = Script(look("a"), max_steps=3)
    for number in range(1, 4):
        script.failed(f"wo-00{number}.0", class_)
        script.reviewed(retry(f"wo-00{number}.0"))

    assert len(script.state.orders) == 3
    assert [gap.work_order_id for gap in script.finished.gaps] == ["wo-003"], "what was done again is no gap any more"


def test_a_result_found_wanting_is_done_again_once_and_the_worker_is_told_why():
    script = Script(look("a"))
    script.done("wo-001.0")
    script.reviewed(retry("wo-001.0"))
    assert script.facts("wo-002.0")["repairs"] == {"subtask": "wo-001.0", "why_it_is_done_again": "try again"}

    script.done("wo-002.0")
    script.reviewed(retry("wo-002.0"))
    assert [gap.step for gap in script.finished.gaps] == ["wo-002.0"]


def test_a_replan_does_something_else_in_its_place():
    script = Script(look("a", 1))
    script.failed("wo-001.0")
    script.reviewed([replan("wo-001.0", name="b", tool="look", args={"n": 2})])

    (other,) = repairs(script)
    assert (other.name, other.args, other.repairs_subtask) == ("b", {"n": 2}, "wo-001.0")
    script.done("wo-002.0")
    script.reviewed(accept("wo-002.0"))
    script.think("compose2")
    assert script.finished.status is RunStatus.SUCCEEDED


def test_a_replan_that_is_the_same_call_as_before_is_not_made():
    script = Script(look("a", 1))
    script.failed("wo-001.0")
    script.reviewed([replan("wo-001.0", name="another name", tool="look", args={"n": 1})])

    assert list(script.state.orders) == ["wo-001"]


def test_a_missing_part_that_was_tried_before_is_not_tried_again_and_stays_a_gap():
    script = Script(look("a", 1), look("b", 2))
    script.done("wo-001.0")
    script.failed("wo-001.1")
    script.reviewed(accept("wo-001.0") + drop("wo-001.1"), missing=[look("b again", 2)], complete=False)

    assert script.under_way == ["compose"]
    assert "b" in {gap["what"] for gap in script.facts("compose")["gaps"]}


def test_what_is_missing_after_the_last_order_is_a_gap():
    script = Script(look("a", 1), max_steps=1)
    script.done("wo-001.0")
    assert script.facts("review-wo-001-0")["last_order"] is True
    script.reviewed(accept("wo-001.0"), missing=[look("b", 2)], complete=False)
    script.think("compose")

    assert script.finished.status is RunStatus.PARTIAL
    assert [gap.name for gap in script.finished.gaps] == ["b"]


@pytest.mark.parametrize("was_done", [True, False], ids=["found wanting", "failed"])
def test_a_repair_is_left_out_when_what_it_needs_is_not_done_again(*, was_done: bool):
    script = Script(look("a", 1), look("b", 2, needs=[0]), look("c", 3, needs=[1]))
    if was_done:
        script.done("wo-001.0")
        script.failed("wo-001.1", "transient")
    else:
        script.failed("wo-001.0")
    script.reviewed(drop("wo-001.0") + retry("wo-001.1", "wo-001.2"))

    assert list(script.state.orders) == ["wo-001"], "an order was spent on what was blocked from the start"
    assert [gap.step for gap in script.finished.gaps] == ["wo-001.0", "wo-001.1", "wo-001.2"]


@pytest.mark.parametrize("needs", [["wo-001.0"], ["wo-001.1"]], ids=["itself", "what needs it"])
def test_a_replacement_that_ties_a_circle_does_not_hang_the_run(needs: list[str]):
    script = Script(look("a", 1), look("b", 2, needs=[0]))
    script.failed("wo-001.0")
    verdicts = [replan("wo-001.0", name="c", tool="look", args={"n": 3}, needs=needs), *retry("wo-001.1")]
    while "review-wo-001-0" in script.under_way:
        script.reviewed(verdicts)

    assert not script.stuck
    assert script.finished.status is RunStatus.FAILED


@pytest.mark.slow
@given(st.data())
def test_whatever_a_sound_review_says_its_repair_order_can_be_issued_and_carried_out(data: st.DataObject):
    def pick(options: Any) -> Any:
        return data.draw(st.sampled_from(options))

    count = pick([1, 2, 3, 4])
    needs = [[index for index in range(number) if pick([False, True])] for number in range(count)]
    script = Script(*(look(f"s{number}", number, needs=needs[number]) for number in range(count)), max_steps=9)
    while not script.under_way[0].startswith("review-"):
        if pick([True, False]):
            script.done(script.under_way[0])
        else:
            script.failed(script.under_way[0], pick(["transient", "unavailable", "lost"]))
    name = script.under_way[0]
    review = moves.proposed_review(pick, script, script.state.steps[name].step.input["covers"])
    assume(not script.problems(name, review))
    script.think(name, review)
    script.finish()

    assert not script.stuck
    order = script.state.orders.get("wo-002")
    if order is not None:
        again = [script.state.steps[key] for key in order.order.subtask_keys]
        assert not any(each.given_up for each in again if each.subtask.repairs_subtask)
    assert script.finished.failure is None or script.finished.failure.type != "flow_error"


def facts_of_review(script: Script) -> dict[str, Any]:
    (name,) = (name for name in script.under_way if name.startswith("review-"))
    return script.facts(name)


def test_the_reviewer_sees_the_request_every_result_every_error_and_what_was_accepted_before():
    script = Script(look("a", 1), look("b", 2), cannot=[{"what": "fly", "reason": "no tool"}])
    script.done("wo-001.0")
    script.failed("wo-001.1", "transient")
    facts = facts_of_review(script)
    (other,) = facts["subtasks"]
    assert facts["request"] == script.state.definition.request
    assert facts["plan_cannot"] == [{"what": "fly", "reason": "no tool"}]
    assert facts["as_ordered"] == {"wo-001.0": {"name": "a", "args": {"n": 1}, "summary": "wo-001.0 is done"}}
    assert (other["status"], other.get("result"), other["error"]["class"]) == ("failed", None, "transient")

    script.reviewed(accept("wo-001.0") + retry("wo-001.1"))
    script.done("wo-002.0")
    accepted = {"subtask": "wo-001.0", "name": "a", "args": {"n": 1}, "summary": "wo-001.0 is done", "sources": [1]}
    assert facts_of_review(script)["accepted"] == [accepted]
