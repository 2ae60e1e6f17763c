"""A request becomes a plan, a plan an order, and an order work for as many hands as it has subtasks."""

from __future__ import annotations

import pytest

from flows.scripts import Script, accept, look
from leadhand.core import events as ev
from leadhand.core.errors import FailureClass
from leadhand.core.relations import tools_of
from leadhand.core.run import RunStatus
from leadhand.flows.work_order.roles import Plan


def test_a_run_begins_with_a_plan_and_nothing_else():
    script = Script()

    assert script.under_way == ["plan"]
    brief = script.facts("plan")
    assert brief["request"] == script.state.definition.request
    assert [tool["name"] for tool in brief["tools"]] == ["look", "write", "send"]
    worker = script.state.worker(script.state.steps["plan"].step.worker)
    assert worker is not None
    assert worker.name == "plan"
    assert worker.output == Plan.model_json_schema()


@pytest.mark.parametrize("count", [1, 2, 60])
def test_every_subtask_of_a_plan_is_handed_out_at_once(count: int):
    script = Script(*(look(f"s{number}", number) for number in range(count)))

    assert script.under_way == [f"wo-001.{number}" for number in range(count)]


def test_with_a_batch_size_the_next_group_goes_out_once_the_one_before_is_through():
    script = Script(*(look(f"s{number}") for number in range(5)), batch_size=2)
    assert script.under_way == ["wo-001.0", "wo-001.1"]

    script.done("wo-001.0")
    assert script.under_way == ["wo-001.1"]
    script.failed("wo-001.1")
    assert script.under_way == ["wo-001.2", "wo-001.3"]
    script.done("wo-001.2", "wo-001.3")
    assert script.under_way == ["wo-001.4"]


def test_a_group_that_waits_for_a_person_makes_the_run_wait_and_not_hang():
    script = Script(*(look(f"s{number}") for number in range(3)), batch_size=1)
    script.park("wo-001.0")

    assert not script.stuck
    assert script.under_way or script.state.status is RunStatus.WAITING


def test_a_subtask_starts_when_everything_it_needs_is_there_and_not_before():
    script = Script(look("a"), look("b"), look("c", needs=[0, 1]))
    assert script.under_way == ["wo-001.0", "wo-001.1"]

    script.done("wo-001.0")
    assert script.under_way == ["wo-001.1"]
    script.done("wo-001.1")
    assert script.under_way == ["wo-001.2"]
    assert script.facts("wo-001.2")["needs"] == {
        key: {"summary": f"{key} is done", "raw": {"n": 1}} for key in ("wo-001.0", "wo-001.1")
    }


def test_what_needs_a_failed_subtask_is_given_up_at_once_and_siblings_are_not():
    script = Script(look("a"), look("b", needs=[0]), look("c", needs=[1]), look("d"))
    script.failed("wo-001.0")

    assert script.under_way == ["wo-001.3"]
    for key, cause in (("wo-001.1", "wo-001.0"), ("wo-001.2", "wo-001.1")):
        blocked = script.state.steps[key]
        assert blocked.failure is not None
        assert blocked.failure.class_ is FailureClass.BLOCKED
        assert cause in blocked.failure.message
        assert len(blocked.event_ids) == 1


def test_two_subtasks_of_one_name_stay_two():
    script = Script(look("same", 1), look("same", 2))
    script.done("wo-001.0")
    script.failed("wo-001.1")

    one, other = (each for each in script.state.steps.values() if each.order)
    assert (one.subtask.name, other.subtask.name) == ("same", "same")
    assert (one.status, other.status) == ("completed", "failed")
    assert not set(one.event_ids) & set(other.event_ids)


def test_the_order_is_over_only_when_nothing_runs_or_waits():
    script = Script(look("a"), look("b"))
    script.park("wo-001.0")
    script.done("wo-001.1")

    assert script.state.status is RunStatus.WAITING
    assert not script.under_way
    script.answered("wo-001.0")
    assert script.under_way == ["wo-001.0"]
    script.done("wo-001.0")
    assert script.under_way == ["review-wo-001-0"]


def test_a_plan_that_cannot_do_anything_fails_with_what_cannot_be_done():
    script = Script(cannot=[{"what": "book a flight", "reason": "no tool books"}])

    assert (script.finished.status, script.finished.answer) == (RunStatus.FAILED, "")
    assert [(gap.name, gap.reason) for gap in script.finished.gaps] == [("book a flight", "no tool books")]
    assert script.finished.failure is not None
    assert script.finished.failure.class_ is FailureClass.UNAVAILABLE


def test_parts_beyond_every_tool_are_noted_once_and_the_rest_is_done():
    script = Script(look("a"), cannot=[{"what": "book a flight", "reason": "no tool books"}])
    script.done("wo-001.0")
    script.reviewed(accept("wo-001.0"), cannot=[{"what": "book a flight", "reason": "no tool books"}])
    script.think("compose")

    assert script.finished.status is RunStatus.PARTIAL
    assert [gap.name for gap in script.finished.gaps] == ["book a flight"]


def test_an_answer_that_a_review_wrote_is_used_beside_parts_beyond_every_tool():
    script = Script(look("a"), cannot=[{"what": "book a flight", "reason": "no tool books"}])
    script.done("wo-001.0")
    given = {"verdicts": accept("wo-001.0"), "complete": True, "answer": "It is 1."}
    assert script.policy.details(script.state, "review-wo-001-0").draft(given)
    script.reviewed(given["verdicts"], answer=given["answer"])

    assert script.finished.status is RunStatus.PARTIAL
    assert script.finished.answer == "It is 1."
    assert [gap.name for gap in script.finished.gaps] == ["book a flight"]


def test_a_review_that_calls_an_order_incomplete_for_what_no_tool_can_do_is_accepted():
    script = Script(look("a"), cannot=[{"what": "book a flight", "reason": "no tool books"}])
    script.done("wo-001.0")
    said = {"verdicts": accept("wo-001.0"), "complete": False, "answer": "It is 1."}
    assert script.problems("review-wo-001-0", said) == []
    script.think("review-wo-001-0", said)
    assert (script.finished.status, script.finished.answer) == (RunStatus.PARTIAL, "It is 1.")
    other = Script(look("a"))
    other.done("wo-001.0")
    assert other.problems("review-wo-001-0", {"verdicts": accept("wo-001.0"), "complete": False})


def test_a_plan_that_cannot_be_had_fails_the_run_with_the_reason():
    script = Script()
    script.think_fails("plan")

    assert (script.finished.status, script.finished.answer) == (RunStatus.FAILED, "")
    assert script.finished.failure is not None
    assert (script.finished.failure.type, script.finished.failure.class_) == ("http_401", FailureClass.UNAVAILABLE)


def test_the_worker_is_told_its_subtask_and_nothing_of_the_others():
    script = Script(look("a", 1), look("b", 2))
    brief = script.facts("wo-001.0")

    assert brief["subtask"] == {"name": "a", "tool": "look", "args": {"n": 1}}
    assert "needs" not in brief
    assert tools_of(script.state, script.state.steps["wo-001.0"].step) == {"look", "write", "send"}
    assert '"b"' not in str(brief)


def test_nothing_new_starts_while_a_run_is_paused():
    script = Script(look("a"), look("b", needs=[0]))
    script.write(ev.RunRequested(what="pause", by="me"))
    script.done("wo-001.0")
    assert script.state.status is RunStatus.PAUSED
    assert not script.under_way

    script.write(ev.RunRequested(what="resume", by="me"))
    script.decide_all()
    assert script.under_way == ["wo-001.1"]


def test_a_cancelled_run_ends_with_what_it_has_and_names_the_rest():
    script = Script(look("a"), look("b"))
    script.done("wo-001.0")
    script.write(ev.RunRequested(what="cancel", by="me"))
    script.decide_all()

    assert script.finished.status is RunStatus.CANCELLED
    assert "wo-001.0 is done" in script.finished.answer
    assert "b" in {gap.name for gap in script.finished.gaps}
