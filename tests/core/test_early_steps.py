"""A subtask begins before its order only if nobody could mind: no person, no other subtask, nothing irreversible."""

from __future__ import annotations

from typing import Any

import pytest

from core.histories import History, definition
from core.own import DELEGATES
from leadhand.core import decide as do
from leadhand.core import events as ev
from leadhand.core.decide.attempts import may_begin
from leadhand.core.errors import FailureClass
from leadhand.core.tool import ApprovalPolicy
from leadhand.core.work_order import Subtask, WorkOrder, subtask_step

LOOK = Subtask(name="a", tool="look", args={"n": 1})
REFERENCE = {"n": {"$result": {"subtask": "wo-001.1", "path": "/raw/n"}}}


def run(**more: Any) -> History:
    what = definition()
    return History(what.evolve(**{"tools": (*what.tools, *DELEGATES), **more}))


@pytest.mark.parametrize(
    ("changed", "of_run", "expected"),
    [
        ({}, {}, True),
        ({"tool": "write"}, {}, True),
        ({"tool": "send"}, {}, False),
        ({"tool": "send"}, {"approve": ApprovalPolicy.AUTO}, False),
        ({"tool": "research"}, {}, False),
        ({"tool": "fly"}, {}, False),
        ({"tool": None}, {}, False),
        ({"args": {}}, {}, False),
        ({"args": REFERENCE}, {}, False),
        ({"needs": ("wo-001.1",)}, {}, False),
        ({"worker": "work"}, {}, False),
        ({}, {"approve_plan": True}, False),
        ({}, {"plan_only": True}, False),
        ({}, {"approve_rules": {"tool:look": ApprovalPolicy.ASK}}, False),
        ({}, {"approve_rules": {"tool:look": ApprovalPolicy.NEVER}}, False),
    ],
)
def test_a_subtask_begins_early_only_if_its_call_can_be_repeated_and_nobody_is_asked(
    changed: dict[str, Any], of_run: dict[str, Any], expected: bool
):
    assert may_begin(run(**of_run).state, LOOK.evolve(**changed)) is expected


def test_a_subtask_does_not_begin_early_with_a_tool_that_its_worker_lacks():
    workers = (each.evolve(tools=("write",)) if each.name == "work" else each for each in definition().workers)

    assert not may_begin(run(workers=tuple(workers)).state, LOOK)


def test_an_order_adopts_what_began_early_as_it_is_and_nothing_begins_early_after_it():
    history = run()
    assert history.command(do.IssueStep(subtask_step("wo-001.0", LOOK)))
    order = WorkOrder(work_order_id="wo-001", goal="it", subtasks=(LOOK,))
    assert not history.command(do.IssueOrder(order.evolve(subtasks=(LOOK.evolve(args={"n": 2}),))))
    assert history.command(do.IssueOrder(order))

    assert history.state.steps["wo-001.0"].order == "wo-001"
    assert not history.command(do.IssueStep(subtask_step("wo-002.0", LOOK)))


def test_what_began_early_has_the_arguments_that_were_written():
    history = run()
    assert history.command(do.IssueStep(subtask_step("wo-001.0", LOOK)))
    history.fails(history.live[0], FailureClass.UNAVAILABLE)
    assert history.command(do.Settle("wo-001.0"))
    for args, status in (({"n": 2}, "failed"), (None, "pending")):
        history.write(ev.StepRequested(what="retry", by="ann", steps=("wo-001.0",), args=args))
        assert history.command(do.DecideRequest())
        assert history.state.steps["wo-001.0"].status == status


def test_a_plan_that_is_written_again_has_nothing_of_the_one_before_it_from_there_on():
    history = run()
    history.decide_all()
    (planning,) = history.live
    history.starts(planning)
    for index, value in ((0, "a"), (1, "b"), (2, "c"), (1, "d")):
        history.write(ev.ElementWritten(attempt=planning.attempt, index=index, value=value))

    assert history.live[0].written == ((0, "a"), (1, "d"))
