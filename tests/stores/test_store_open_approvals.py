"""The index of open questions agrees with the states of runs, whatever happens."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import aclosing, closing
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from core import moves
from core.histories import History, Pick, definition
from hypothesis import given
from hypothesis import strategies as st
from store_memory import memory, transact

from leadhand.app.approvals import open_approvals
from leadhand.app.clock import SystemClock
from leadhand.core.approval import Approval, ApprovalStatus, args_hash
from leadhand.core.commands import Ask
from leadhand.core.events import AnyEvent, ApprovalAnswered, ApprovalRequested, RunFinished
from leadhand.core.evolve import evolve, start
from leadhand.core.lifecycle import AttemptStatus
from leadhand.core.open_approvals import APPROVAL_EVENTS, QUESTION, OpenApproval, open_approvals_after
from leadhand.core.question import Question
from leadhand.core.run import RunStatus
from leadhand.core.state import RunState
from leadhand.core.tool import Effect
from leadhand.engine import snapshots
from leadhand.engine.forking import fork
from leadhand.stores.codec import encode
from leadhand.stores.connection import Changed, Row
from leadhand.stores.opening import open_store
from leadhand.stores.sqlite import SqliteConnection
from leadhand.stores.transaction import Append, Create
from leadhand.testing.memory_store import MemoryStore
from leadhand.testing.store_contract import asks, pauses, says, started


def open_in(state: RunState) -> dict[str, OpenApproval]:
    """What a run asks, as its state says."""
    pending = (each for each in state.approvals.values() if each.status is ApprovalStatus.PENDING)
    unanswered = (each.id for each in state.questions.values() if each.reply is None)
    return {
        **{approval.approval_id: OpenApproval.of(approval) for approval in pending},
        **{name: OpenApproval(QUESTION, "", "", "", None) for name in unanswered},
    }


def check(history: History) -> Counter[str]:
    """Follow a history with the index; how often each event changed what is open."""
    state = start("run_1", history.log[0])
    questions: dict[str, OpenApproval] = {}
    changes: Counter[str] = Counter()
    for entry in history.log[1:]:
        before, state = questions, evolve(state, entry)
        questions = open_approvals_after(questions, [entry.event], entry.at)
        assert questions == open_in(state), entry
        if questions != before:
            assert isinstance(entry.event, APPROVAL_EVENTS)
            changes[entry.event.type] += 1
    return changes


def park(history: History, pick: Pick) -> None:
    """An attempt stops for people, about a call to come and one whose end nobody saw."""
    attempt = moves.some(history, pick, AttemptStatus.RUNNING)
    if attempt is not None:
        history.parks(attempt, pick([("approval",), ("approval", "approval"), ("effect", "approval")]))


def ask(history: History, pick: Pick) -> None:
    """A question about a call's fate, or one that does not stand for ever; perhaps one that was put before."""
    attempt = moves.some(history, pick, AttemptStatus.PARKED)
    call = pick(attempt.open_calls) if attempt is not None else None
    if attempt is None or call is None or call.call_id in attempt.answers:
        return
    asked = Approval(
        approval_id=call.call_id,
        kind="effect" if call.kind == "effect" else "call",
        attempt=attempt.attempt,
        tool=pick(["send", "pay"]),
        args=call.args,
        effect=Effect.ONCE,
        expires_at=pick([None, history.now + timedelta(seconds=2)]),
        status=pick([ApprovalStatus.PENDING] * 4 + [ApprovalStatus.APPROVED]),
    )
    history.write(ApprovalRequested(approval=asked))


def wonder(history: History, pick: Pick) -> None:
    """The flow asks a question: a new one, or one that was put before."""
    history.command(Ask(Question(id=pick(["question-1", "question-2", "question-3"]), text="where?")))


def say(history: History, pick: Pick) -> None:
    """Somebody answers: what was asked or not, what was shown or not, in time or not."""
    approval = pick([*history.state.approvals.values(), None])
    if approval is None:
        return
    called = approval.approval_id
    answered = ApprovalAnswered(
        approval_id=called,
        approve=pick([True, False]),
        args_hash=args_hash(pick([approval.args, approval.args, {"n": "other"}])),
        args=pick([None, None, {"n": 9}]),
        always=pick([False, False, True]),
    )
    history.write(pick([answered, answered, ApprovalAnswered(approval_id=called, approve=pick([True, False]))]))


def expire(history: History, pick: Pick) -> None:
    """The time of an open question is up."""
    asked = [name for name, each in open_in(history.state).items() if each.kind != QUESTION and pick([True, False])]
    if asked:
        history.write(ApprovalAnswered(approval_id=pick(asked, approve=False, expired=True)))


MOVES: dict[Callable[[History, Pick], None], int] = {
    moves.decide_all: 6,
    moves.think_well: 6,
    moves.start: 6,
    moves.work: 1,
    moves.wish: 1,
    moves.time_passes: 1,
    park: 4,
    ask: 3,
    say: 3,
    expire: 1,
    wonder: 2,
    moves.reply: 3,
}


def asked_much(seed: int) -> History:
    """A history in which people are asked much, the same for the same seed."""
    random = Random(seed)
    history = History(definition())
    for move in random.choices(list(MOVES), list(MOVES.values()), k=120):
        if history.state.finished is None and not history.stuck:
            move(history, random.choice)
    return history


@pytest.mark.slow
@given(st.integers(0, 10_000_000))
def test_what_is_open_is_what_the_state_says_after_every_event(seed: int) -> None:
    check(asked_much(seed))


def test_the_histories_are_worth_following() -> None:
    changes = sum((check(asked_much(seed)) for seed in range(40)), Counter[str]())
    assert changes.keys() == {event.model_fields["type"].default for event in APPROVAL_EVENTS}


def test_the_events_of_one_commit_are_followed_in_order() -> None:
    history = History()
    call = "wo-001.0/t0/c0"
    questions = open_approvals_after({}, [says(call), asks(call)], history.now)
    assert list(questions) == [call]
    assert open_approvals_after(questions, [says(call)], history.now) == {}


# --- in the store ----------------------------------------------------------------------------------------------------


class Overheard:
    """A connection that remembers what it was asked to do."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection
        self.statements: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        self.statements.append(sql)
        return self._connection.execute(sql, parameters)

    def write(self, changes: Sequence[Changed]) -> None:
        for each in changes:
            words = "DELETE FROM" if each.change.deletes else "INSERT INTO"
            self.statements.append(f"{words} {each.change.table.name}")
        self._connection.write(changes)

    def about_questions(self) -> list[str]:
        """The first words of what concerned the index since the last look."""
        found = [" ".join(sql.split()[:2]) for sql in self.statements if re.search(r"\bopen_approvals\b", sql)]
        self.statements.clear()
        return found


def test_an_append_without_a_question_does_not_touch_the_index() -> None:
    with closing(memory()) as connection:
        overheard = Overheard(connection)

        def append(*events: AnyEvent) -> list[str]:
            transact(overheard, Append(run_id="run-1", events=[encode(event) for event in events]))  # type: ignore[arg-type]
            return overheard.about_questions()

        transact(overheard, Create(run_id="run-1", started=encode(started())))  # type: ignore[arg-type]
        overheard.statements.clear()
        call = "wo-001.0/t0/c0"
        assert append(asks(call))[-1] == "INSERT INTO"
        assert append(*pauses("a")) == []
        assert append(RunFinished(status=RunStatus.FAILED, answer="")) == []
        assert append(says(call))[-1] == "DELETE FROM"


async def test_only_runs_that_ask_are_looked_into() -> None:
    store = MemoryStore(SystemClock())
    for number in range(4):
        await store.create(f"run-{number}", started())
    await store.append("run-1", [asks("wo-001.0/t0/c0"), asks("wo-001.1/t0/c0")])
    await store.append("run-2", [asks("wo-001.0/t0/c0"), says("wo-001.0/t0/c0")])
    await store.append("run-3", [asks("wo-001.0/t0/c0"), RunFinished(status=RunStatus.FAILED, answer="")])
    loaded: list[str] = []

    class Looking:
        """As much of a runtime as looking takes."""

        def __init__(self) -> None:
            self.store = store

        async def load(self, run_id: str) -> RunState:
            loaded.append(run_id)
            return await snapshots.load(store, run_id)

    found = await open_approvals(Looking())  # type: ignore[arg-type]
    assert [(asked.run_id, asked.approval.approval_id) for asked in found] == [
        ("run-1", "wo-001.0/t0/c0"),
        ("run-1", "wo-001.1/t0/c0"),
    ]
    assert loaded == ["run-1"]


async def test_a_fork_has_no_approval_of_the_first_run_whether_it_is_open_or_answered(url: str) -> None:
    first, second = "wo-001.0/t0/c0", "wo-001.1/t0/c0"
    async with aclosing(await open_store(url)) as store:
        await store.create("run-1", started())
        await store.append("run-1", [asks(first), asks(second), says(first), says(second)])
        await fork(store, "run-1", 4, "run-2")
        assert await store.runs(asking=True) == []
        assert [entry.event.type for entry in await store.read("run-2")] == ["run_started"]
