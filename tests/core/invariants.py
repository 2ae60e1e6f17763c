"""What holds of every run at every moment, whatever happened: checked after each step of every history made here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel

from leadhand.core import decide as do
from leadhand.core import events as ev
from leadhand.core.approval import ApprovalStatus, Question
from leadhand.core.decide import decide, due
from leadhand.core.errors import Refused
from leadhand.core.evolve import evolve, fold, start
from leadhand.core.ids import event_id, split_attempt, step_of
from leadhand.core.limits import Money
from leadhand.core.relations import children_of
from leadhand.core.run import ATTEMPT, ENDED, RUN, SETTLED, STEP, UNSUCCESSFUL, AttemptStatus, RunStatus, StepStatus
from leadhand.core.state import RunState, StepState
from leadhand.core.value import object_of
from leadhand.core.view import Projection
from leadhand.core.work_result import DOUBTED, ClaimVerdict
from leadhand.ports.heads import head_of

LONG_LOG = 400
"""Entries above which a log is checked in steps of a twentieth, so that a check costs what a test can pay."""


def check_log(run_id: str, entries: Sequence[ev.Entry]) -> RunState:
    """Fold a log entry by entry, and hold every state and every step against the invariants."""
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    state = start(run_id, entries[0])
    if len(entries) > LONG_LOG:
        stride = len(entries) // 20
        for first in range(1, len(entries), stride):
            state = fold(state, entries[first : first + stride])
            check_state(state, entries)
        return state
    for entry in entries[1:]:
        after = evolve(state, entry)
        check_step(state, after)
        check_state(after, entries)
        state = after
    return state


def check_list(run_id: str, entries: Sequence[ev.Entry]) -> None:
    """A list counts the subtasks of a run that no other has replaced."""
    projection = Projection(run_id)
    stride = 1 if len(entries) <= LONG_LOG else len(entries) // 20
    for first in range(0, len(entries), stride):
        some = entries[first : first + stride]
        projection.take_all(some)
        state = projection.state
        assert state is not None
        head = head_of(state)
        settled = [each for each in state.steps.values() if each.counts and each.superseded_by is None]
        assert head.completed == sum(each.ok for each in settled), f"after {some[-1].event.type}"
        assert head.failed == sum(each.status in UNSUCCESSFUL for each in settled), f"after {some[-1].event.type}"
        is_planned = state.finished is None and not state.orders and state.worker("work") is not None
        total = 0 if is_planned else len(settled)
        assert head.subtasks == total, f"after {some[-1].event.type}: it is not known until the plan is complete"


def check_step(before: RunState, after: RunState) -> None:
    """One entry: what was issued stays as it was, and every status moves along its table."""
    if after.status is not before.status:
        assert after.status in RUN[before.status], f"a run went from {before.status} to {after.status}"
    for key, order in before.orders.items():
        assert after.orders[key].order is order.order, f"{key} changed after it was issued"
    for key, subtask in before.steps.items():
        now = after.steps[key]
        assert now.step.subtask is subtask.step.subtask or now.by_hand, f"{key} changed after it was issued"
        if now.status is not subtask.status:
            assert now.status in STEP[subtask.status], f"{key} went from {subtask.status} to {now.status}"
        assert now.event_ids[: len(subtask.event_ids)] == subtask.event_ids, f"{key} lost evidence"
    for key, step in before.steps.items():
        was, now = step.attempt, after.steps[key].attempt
        if was is None:
            assert now is None or not step.closed, f"{key} was closed and is tried again"
        elif now is not None and now.attempt == was.attempt and now.status is not was.status:
            assert now.status in ATTEMPT[was.status], f"{now.attempt} went from {was.status} to {now.status}"
        elif now is not None and now.attempt != was.attempt:
            assert was.status is AttemptStatus.PARKED, f"{now.attempt} came too soon"
            assert now.number == was.number + 1
    for name, asked in before.questions.items():
        now = after.questions[name]
        open_again = now.evolve(reply=None, by="", answered_at=None)
        assert now == asked if asked.reply is not None else open_again == asked, f"{name} changed"
    unanswered = {key: each.expires_at for key, each in after.questions.items() if each.reply is None}
    assert after.unanswered == unanswered, "the open questions are not those without a reply"
    for kind in ("requests", "tokens", "nanousd"):
        assert getattr(after.spent, kind) >= getattr(before.spent, kind), f"{kind} were given back after being spent"


def check_state(state: RunState, entries: Sequence[ev.Entry]) -> None:
    """One state: its parts say the same, its evidence is its own, and nothing is owed or hidden."""
    _check_attempts(state)
    _check_readiness(state)
    _check_orders(state)
    _check_evidence(state, entries)
    _check_money(state)
    if state.finished is not None:
        _check_end(state)


def _check_attempts(state: RunState) -> None:
    expected: dict[AttemptStatus, set[str]] = {status: set() for status in AttemptStatus}
    for key, step in state.steps.items():
        if step.attempt is not None:
            assert step_of(step.attempt.attempt) == key
            expected[step.attempt.status].add(key)
    assert set(state.live) == expected[AttemptStatus.SCHEDULED] | expected[AttemptStatus.RUNNING]
    assert set(state.parked) == expected[AttemptStatus.PARKED]
    assert set(state.unsettled) == expected[AttemptStatus.RETURNED]
    assert set(state.due) == {key for key in state.parked if _is_due(state, state.steps[key])}
    asked_by = [split_attempt(each.step.parent) for each in state.steps.values() if each.step.parent is not None]
    assert set(state.children) == {key for key, _ in asked_by}
    for key, count in state.children.items():
        if (attempt := state.steps[key].attempt) is not None:
            assert count == sum(by == key and int(number) >= attempt.conversation for by, number in asked_by)
    for key in state.asking:
        asked = state.approvals[key]
        assert asked.kind == "plan" or state.steps[step_of(asked.attempt)].open_call(key), f"nothing waits for {key}"
    for key in state.parked:
        attempt = state.steps[key].attempt
        assert attempt is not None
        assert attempt.open_calls
        assert attempt.attempt not in {held for held, _ in state.reserved}, (
            f"{attempt.attempt} is parked and holds a reservation"
        )


def _is_due(state: RunState, step: StepState) -> bool:
    """Whether the controller has something to decide about a parked step."""
    attempt = step.attempt
    assert attempt is not None
    left = [call for call in attempt.open_calls if call.call_id not in attempt.answers]
    for call in left:
        asked = state.approvals.get(call.call_id)
        if call.answered_by_run and all(child.closed for child in children_of(state, call.call_id)):
            return True
        if not call.answered_by_run and (asked is None or asked.attempt != attempt.attempt):
            return True
    return not left


def _check_readiness(state: RunState) -> None:
    for key, subtask in state.steps.items():
        step: StepState = subtask
        needs = subtask.step.needs
        waits = [needed for needed in needs if state.steps[needed].status not in SETTLED]
        match subtask.status:
            case StepStatus.PENDING if step.attempt is not None:
                assert step.attempt.status not in (AttemptStatus.RUNNING, AttemptStatus.PARKED), f"{key} has begun"
            case StepStatus.PENDING:
                assert (key in state.ready) + (key in state.blocked or bool(waits)) == 1, f"{key} is nowhere"
                assert state.awaited.get(key, 0) == sum(not state.steps[needed].ok for needed in needs)
            case StepStatus.RUNNING:
                assert step.attempt is not None or step.is_inner
                assert key not in state.parked
            case StepStatus.WAITING:
                assert key in state.parked
            case StepStatus.COMPLETED if subtask.by:
                assert step.closed
                assert subtask.data is not None
                assert subtask.failure is None
            case StepStatus.COMPLETED:
                assert step.closed
                assert step.ok
                assert subtask.data is not None
                assert subtask.failure is None
            case StepStatus.FAILED | StepStatus.DROPPED:
                assert step.closed
                assert subtask.failure is not None
        if key in state.ready:
            assert all(state.steps[needed].status is StepStatus.COMPLETED for needed in needs)
        if key in state.blocked:
            cause = state.blocked[key]
            assert cause in needs
            assert state.steps[cause].status in (StepStatus.FAILED, StepStatus.DROPPED)
    pending = {key for key, subtask in state.steps.items() if subtask.status is StepStatus.PENDING}
    assert pending >= set(state.ready) | set(state.blocked)


def _check_orders(state: RunState) -> None:
    for number, (key, order) in enumerate(state.orders.items(), start=1):
        assert key == f"wo-{number:03d}"
        subtasks = [state.steps[subtask] for subtask in order.order.subtask_keys]
        assert order.open == sum(subtask.status not in SETTLED for subtask in subtasks)
        assert order.review is None or not order.open
    standing = [each for each in state.steps.values() if each.counts and each.superseded_by is None]
    assert {status: n for status, n in state.counted.items() if n} == Counter(each.status for each in standing)
    asking = {name for name, each in state.approvals.items() if each.status is ApprovalStatus.PENDING}
    assert asking == set(state.asking)
    assert all(state.asking[name] == state.approvals[name].expires_at for name in asking)
    for subtask in state.steps.values():
        if subtask.superseded_by is not None:
            assert state.steps[subtask.superseded_by].subtask.repairs_subtask == subtask.key
            assert not subtask.accepted, f"{subtask.key} was accepted and is done again"


def _check_evidence(state: RunState, entries: Sequence[ev.Entry]) -> None:
    seen: dict[str, str] = {}
    for subtask in state.steps.values():
        for cited in subtask.event_ids:
            assert cited not in seen, f"{cited} is evidence of {seen.get(cited)} and of {subtask.key}"
            seen[cited] = subtask.key
            entry = entries[int(cited.removeprefix("e-")) - 1]
            assert event_id(entry.seq) == cited
            match entry.event:
                case ev.StepSettled():
                    assert entry.event.step == subtask.key
                case _:
                    raise AssertionError(f"{cited} is {entry.event.type}, which says nothing about {subtask.key}")
        assert not subtask.counts or (subtask.status in SETTLED) <= bool(subtask.event_ids), (
            f"{subtask.key} has no evidence"
        )


def _check_money(state: RunState) -> None:
    for amount in (state.spent, reserved_total(state)):
        assert amount.requests >= 0
        assert amount.tokens >= 0
        assert amount.nanousd >= 0


def check_budget(state: RunState, *, honest: bool) -> None:
    """What is spent and held is within the limits, as long as nobody reported more than was reserved."""
    if honest:
        assert (state.spent + reserved_total(state)).fits(state.definition.limits.ceiling)


def _check_end(state: RunState) -> None:
    finished = state.finished
    assert finished is not None
    assert state.status is finished.status
    assert state.status in ENDED
    assert due(state) == ([do.DecideRequest()] if state.pending_requests else [])
    assert not [*state.live, *state.parked, *state.unsettled], "something outlived its run"
    assert reserved_total(state) == Money(), "a finished run holds a reservation"
    _check_judgement(state, finished)
    for command in ANY_COMMAND:
        try:
            decide(state, command, state.created_at)
        except Refused:
            continue
        raise AssertionError(f"a finished run accepted {command}")
    if state.status is RunStatus.SUCCEEDED:
        assert not finished.gaps
    answered = not state.orders and any(object_of(each.value).get("answer") for each in state.steps.values())
    if state.status is RunStatus.SUCCEEDED and state.definition.flow == "work-order" and not answered:
        left_out = finished.left_out
        ordered = (each for each in state.steps.values() if each.order and each.key not in left_out)
        standing = [each for each in ordered if each.superseded_by is None or each.superseded_by in left_out]
        assert standing
        assert all(subtask.accepted for subtask in standing)


def _check_judgement(state: RunState, finished: ev.RunFinished) -> None:
    """The status says what was done; doubts matter only if they are contradictions, or the run is strict."""
    if finished.status in (RunStatus.SUCCEEDED, RunStatus.PARTIAL):
        assert finished.answer.strip()
    judgement = finished.judgement
    if judgement is None:
        assert finished.gaps or finished.status is not RunStatus.PARTIAL
        return
    assert state.definition.check != "off"
    claims = {claim.n: claim for claim in judgement.claims}
    assert [*claims] == list(range(1, len(judgement.claims) + 1))
    assert {doubt.n for doubt in judgement.doubts} == {n for n, claim in claims.items() if claim.verdict in DOUBTED}
    for doubt in judgement.doubts:
        assert doubt.verdict is claims[doubt.n].verdict
        assert doubt.part in claims[doubt.n].text
    if judgement.judged_by is None:
        assert {claim.verdict for claim in judgement.claims} <= {ClaimVerdict.NOT_CHECKED, ClaimVerdict.UNCONFIRMED}
    unjudged = state.definition.check == "judge" and judgement.counts[ClaimVerdict.NOT_CHECKED]
    doubted = judgement.contradicted or (state.definition.strict and (judgement.doubts or unjudged))
    if finished.status is RunStatus.SUCCEEDED:
        assert not doubted
    elif finished.status is RunStatus.PARTIAL:
        assert doubted or finished.gaps


ANY_COMMAND: list[do.Command] = [
    do.Settle(step="plan"),
    do.Start(step="plan"),
    do.SetStatus(RunStatus.PAUSED),
    do.SetStatus(RunStatus.WAITING),
    do.SetStatus(),
    do.End(),
    do.Ask(asked=Question(id="question-9", text="where?")),
]


def differences(one: RunState, other: RunState) -> dict[str, tuple[Any, Any]]:
    """The fields in which two states differ."""
    return {
        field.name: (getattr(one, field.name), getattr(other, field.name))
        for field in fields(RunState)
        if getattr(one, field.name) != getattr(other, field.name)
    }


def reserved_total(state: RunState) -> Money:
    """The sum of all reservations."""
    return total(*state.reserved.values())


def total(*amounts: Money) -> Money:
    """The sum of amounts."""
    summed = Money()
    for amount in amounts:
        summed = summed + amount
    return summed


def parts(value: Any) -> Iterator[Any]:
    """Everything that a value holds."""
    if isinstance(value, BaseModel):
        inner: Iterable[Any] = vars(value).values()
    elif is_dataclass(value):
        inner = [getattr(value, each.name) for each in fields(value)]
    elif isinstance(value, dict):
        inner = [*value, *value.values()]
    else:
        inner = value if isinstance(value, list | tuple | set) else ()
    for each in inner:
        yield each
        yield from parts(each)
