"""Open approvals and questions: lists know which runs have some, without loading any run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from leadhand.core import events as ev
from leadhand.core.approval import EFFECT, Approval, args_hash
from leadhand.core.errors import Fenced
from leadhand.core.question import Question
from leadhand.core.run import RunStatus
from leadhand.core.tool import Effect
from leadhand.ports import ContextStore

from .samples import Contract, pauses, started

ARGS = {"to": "Bob", "amount": 30}


def asks(call: str, *, tool: str = "pay_tool", kind: str = "call", **more: Any) -> ev.ApprovalRequested:
    """A request for approval of a call such as ``wo-001.0/t0/c0``."""
    attempt = f"{call.rpartition('/t')[0]}/a1"
    approval = {"approval_id": call, "kind": kind, "attempt": attempt, "tool": tool, "args": ARGS, **more}
    return ev.ApprovalRequested(approval=Approval.model_validate({**approval, "effect": Effect.ONCE}))


def says(call: str, *, yes: bool = True, shown: dict[str, Any] = ARGS, always: bool = False) -> ev.ApprovalAnswered:
    """A person's answer to the approval of a call that was ``shown`` with these arguments."""
    return ev.ApprovalAnswered(by="Ann", approval_id=call, approve=yes, args_hash=args_hash(shown), always=always)


FIRST, SECOND, THIRD = "wo-001.0/t0/c0", "wo-001.1/t0/c0", "wo-001.1/t2/c0/t0/c1"


class AskingContract(Contract):
    """A run's line counts its open approvals and questions, and lists can be filtered by them."""

    async def test_a_question_to_a_person_is_counted_until_its_first_answer(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        where, when = (ev.QuestionAsked(question=Question(id=name, text="?")) for name in ("where", "when"))
        await store.append("run-1", [where, when, asks(FIRST)])
        assert (await store.run("run-1")).asking == 3
        answers = [ev.QuestionAnswered(by="Ann", question_id=name, text="here") for name in ("where", "where", FIRST)]
        for answer in answers:
            await store.append("run-1", [answer])
            assert (await store.run("run-1")).asking == 2
        await store.append("run-1", [ev.StepSettled(step="wo-001.0", ok=False, by="Ann")])
        assert [(run.run_id, run.asking) for run in await store.runs(asking=True)] == [("run-1", 1)]
        await store.append("run-1", [ev.RunFinished(status=RunStatus.CANCELLED, answer="")])
        assert await store.runs(asking=True) == []

    async def test_an_approval_is_counted_until_it_is_answered(self, store: ContextStore) -> None:
        for run_id in ("run-1", "run-2", "run-3"):
            await store.create(run_id, started())
        assert await store.runs(asking=True) == []
        await store.append("run-1", [asks(FIRST), asks(SECOND)])
        await store.append("run-3", [asks(FIRST)])
        assert [(run.run_id, run.asking) for run in await store.runs()] == [("run-3", 1), ("run-2", 0), ("run-1", 2)]
        assert [run.run_id for run in await store.runs(asking=True)] == ["run-3", "run-1"]
        assert [run.run_id for run in await store.runs(asking=True, before="run-3")] == ["run-1"]
        await store.append("run-1", [says(FIRST)])
        await store.append("run-3", [says(FIRST, yes=False)])
        assert (await store.run("run-1")).asking == 1
        assert [run.run_id for run in await store.runs(asking=True)] == ["run-1"]

    async def test_what_is_asked_and_answered_at_once_is_not_open(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.append("run-1", [asks(FIRST), asks(SECOND), says(FIRST)])
        assert (await store.run("run-1")).asking == 1
        await store.append("run-1", [says(SECOND), asks(SECOND)])  # the same call again
        assert (await store.run("run-1")).asking == 1
        await store.append("run-1", [says(SECOND)])
        assert await store.runs(asking=True) == []

    @pytest.mark.parametrize(
        "answer",
        [
            says(FIRST, shown={"to": "Bob", "amount": 31}),
            says(SECOND),
            ev.ApprovalAnswered(approval_id=FIRST, approve=True),
            ev.ApprovalAnswered(approval_id=SECOND, approve=False, expired=True),
            ev.StepSettled(step="wo-001.1", ok=False, by="Ann"),
            ev.StepSettled(step="wo-001", ok=False, by="Ann"),
        ],
        ids=lambda answer: answer.type,
    )
    async def test_an_answer_to_something_else_leaves_a_question_open(
        self, store: ContextStore, answer: ev.AnyEvent
    ) -> None:
        await store.create("run-1", started())
        await store.append("run-1", [asks(FIRST)])
        await store.append("run-1", [answer])
        assert (await store.run("run-1")).asking == 1

    async def test_an_answer_that_comes_too_late_leaves_a_question_open_until_it_is_expired(
        self, store: ContextStore
    ) -> None:
        await store.create("run-1", started())
        minute = timedelta(minutes=1)
        now = datetime.now(UTC)
        await store.append("run-1", [asks(FIRST, expires_at=now - minute), asks(SECOND, expires_at=now + 60 * minute)])
        await store.append("run-1", [says(FIRST), says(SECOND)])
        assert (await store.run("run-1")).asking == 1
        await store.append("run-1", [ev.ApprovalAnswered(approval_id=FIRST, approve=False, expired=True)])
        assert (await store.run("run-1")).asking == 0

    async def test_a_yes_for_always_answers_every_question_about_that_tool(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        about_its_end = asks(f"{THIRD}{EFFECT}", kind="effect")
        await store.append("run-1", [asks(FIRST), asks(SECOND), asks(THIRD, tool="send_tool"), about_its_end])
        await store.append("run-1", [says(FIRST, yes=False, always=True)])  # a no is a no to one call
        assert (await store.run("run-1")).asking == 3
        await store.append("run-1", [says(SECOND, always=True)])
        assert (await store.run("run-1")).asking == 2
        await store.append("run-1", [ev.ApprovalAnswered(approval_id=f"{THIRD}{EFFECT}", approve=False)])
        assert (await store.run("run-1")).asking == 1

    async def test_a_yes_for_always_leaves_questions_about_what_a_person_chose_open(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.append("run-1", [asks(FIRST), asks(SECOND, by_hand=True), asks(THIRD)])
        await store.append("run-1", [says(FIRST, always=True)])
        assert (await store.run("run-1")).asking == 1
        await store.append("run-1", [says(SECOND)])
        assert (await store.run("run-1")).asking == 0

    async def test_a_subtask_that_a_person_settles_asks_nothing_any_more(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.append("run-1", [asks(FIRST), asks(SECOND), asks(THIRD)])
        await store.append("run-1", [ev.StepSettled(step="wo-001.1", ok=False, by="Ann")])  # and its children
        assert (await store.run("run-1")).asking == 1

    async def test_a_run_that_is_over_asks_nothing_unless_it_is_reopened(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.append("run-1", [asks(FIRST)])
        await store.append("run-1", [ev.RunFinished(status=RunStatus.CANCELLED, answer="")])
        assert (await store.run("run-1")).asking == 0
        assert await store.runs(asking=True) == []
        await store.append("run-1", [ev.RunStatusSet(status=RunStatus.RUNNING, by="Ann")])
        assert (await store.run("run-1")).asking == 1
        assert [run.run_id for run in await store.runs(asking=True)] == ["run-1"]

    async def test_a_question_that_was_refused_was_not_put(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        with pytest.raises(Fenced):
            await store.append("run-1", [asks(FIRST)], epoch=9)
        await store.append("run-1", pauses("a"))
        assert await store.runs(asking=True) == []

    async def test_events_that_are_copied_to_another_run_open_its_approvals(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.append("run-1", [asks(FIRST), asks(SECOND), says(FIRST), says(SECOND)])
        first, *rest = await store.read("run-1", limit=4)
        assert isinstance(first.event, ev.RunStarted)
        await store.create("run-2", first.event)
        await store.append("run-2", [entry.event for entry in rest])
        assert [(run.run_id, run.asking) for run in await store.runs(asking=True)] == [("run-2", 1)]


class SharedAskingContract(Contract):
    """A process sees and answers the approvals that another requested."""

    async def test_a_question_is_seen_and_answered_by_another_process(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        await store.create("run-1", started())
        await store.append("run-1", [asks(FIRST), asks(SECOND)])
        assert [run.asking for run in await second_store.runs(asking=True)] == [2]
        await second_store.append("run-1", [says(FIRST)])
        await store.append("run-1", [says(SECOND)])
        assert await store.runs(asking=True) == await second_store.runs(asking=True) == []
