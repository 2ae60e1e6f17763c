"""Apply events of orders, steps and attempts to the state, and find out which steps may start."""

from __future__ import annotations

from typing import Any

from leadhand.core import events as ev
from leadhand.core.approval import EFFECT, ApprovalStatus
from leadhand.core.errors import EXPIRED, INTERRUPTED, MAX_TURNS, RAN_OUT, Failure, FailureClass
from leadhand.core.ids import asking_call, split_attempt, step_of
from leadhand.core.outcome import made_calls, with_evidence
from leadhand.core.relations import ancestors, children_of, parent_of
from leadhand.core.run import AttemptStatus, StepStatus
from leadhand.core.state import (
    NOT_COMPACTED,
    AttemptState,
    ModelTurn,
    OrderState,
    RunState,
    Settlement,
    StepState,
)
from leadhand.core.value import FrozenDict, Json
from leadhand.core.words.failures import REJECTED, more_steps
from leadhand.core.work_order import OpenCall, Step
from leadhand.core.work_result import VerdictKind

# --- the maps of steps -----------------------------------------------------------------------------------------------


def put(state: RunState, step: StepState, /, **changes: Any) -> None:
    """Set a step, with these changes, and keep true what follows from it: the maps of steps, its order, and the reviews
    of its result."""
    key = step.step.step_id
    before, after = state.steps.get(key), step.evolve(**changes) if changes else step
    state.steps[key] = after
    if before is step and _FOLLOWED.isdisjoint(changes):
        return
    was_closed, is_closed = before is not None and before.closed, after.closed
    was = None if before is None or before.attempt is None else _MAP_OF[before.attempt.status]
    now = None if after.attempt is None else _MAP_OF[after.attempt.status]
    if was != now:
        if was is not None:
            getattr(state, was).pop(key, None)
        if now is not None:
            getattr(state, now)[key] = None
    if before is None or before.status is not after.status or (was is None) is not (now is None):
        await_needs(state, key)
    if after.step.counts:
        _count(state, before, after)
    ends = is_closed and (before is None or before.settlements is not after.settlements)
    if ends or (was_closed and not is_closed):
        state.settled.pop(key, None)
        if ends:
            state.settled[key] = state.seq
        if was_closed:
            state.redone = state.seq
            _void(state, after)
    if before is not None and before.status is not after.status and (was_closed or is_closed):
        for dependent in state.dependents.get(key, ()):
            if after.ok and not was_closed and state.awaited.get(dependent, 0) > 1:
                state.awaited[dependent] -= 1  # it still needs others: a step that needs thousands is not read again
            else:
                await_needs(state, dependent)
    if "parked" in (was, now):
        note_due(state, key)
    if before is not None and after.order and was_closed is not is_closed:
        _open(state, after.order, 1 if was_closed else -1)
    if after.step.parent is not None and (before is None or was_closed is not is_closed):
        note_due(state, step_of(after.step.parent))
    for above in ancestors(state, after.step) if after.acted else ():
        if not above.acted:
            state.steps[above.key] = above.evolve(acted=True)


_FOLLOWED = frozenset({"status", "attempt", "superseded_by", "settlements", "order", "step"})
"""The parts of a step from which something else follows."""


def note_due(state: RunState, key: str) -> None:
    """Note whether something is due for a parked step, after a change of the step, its children or its approvals."""
    state.due.pop(key, None)
    attempt = step.attempt if (step := state.steps.get(key)) is not None else None
    if attempt is None or attempt.status is not AttemptStatus.PARKED:
        return
    if attempt.answered or any(_can_proceed(state, attempt, call) for call in attempt.open_calls):
        state.due[key] = None


def _can_proceed(state: RunState, attempt: AttemptState, call: OpenCall) -> bool:
    """Whether an open call can be answered by the run, or a person has to be asked about it."""
    if call.call_id in attempt.answers:
        return False
    if call.answered_by_run:
        return all(child.closed for child in children_of(state, call.call_id))
    asked = state.approvals.get(call.call_id)
    return asked is None or asked.attempt != attempt.attempt


_MAP_OF = {
    AttemptStatus.SCHEDULED: "live",
    AttemptStatus.RUNNING: "live",
    AttemptStatus.RETURNED: "unsettled",
    AttemptStatus.PARKED: "parked",
}
"""The map of a step whose current attempt has this status."""


def _count(state: RunState, before: StepState | None, after: StepState) -> None:
    if before is not None and before.status is after.status and before.superseded_by is after.superseded_by:
        return
    for step, by in ((before, -1), (after, 1)):
        if step is not None and step.superseded_by is None:
            state.counted[step.status] = state.counted.get(step.status, 0) + by


def await_needs(state: RunState, key: str) -> None:
    """Determine whether a step may start, or is blocked by what it needs."""
    step = state.steps[key]
    for found in (state.ready, state.blocked, state.awaited):
        found.pop(key, None)
    if step.status is not StepStatus.PENDING or step.attempt is not None:
        return
    needs = ((needed, state.steps.get(needed)) for needed in step.step.needs)
    if open_needs := [(needed, each) for needed, each in needs if each is None or not each.ok]:
        state.awaited[key] = len(open_needs)
    if lost := next((needed for needed, each in open_needs if each is not None and each.closed), None):
        state.blocked[key] = lost
    elif not open_needs:
        state.ready[key] = None


# --- orders ----------------------------------------------------------------------------------------------------------


def _open(state: RunState, name: str, count: int) -> None:
    """Count the subtasks of an order that are not settled."""
    order = state.orders[name] = state.orders[name]._replace(open=state.orders[name].open + count)
    state.settled.pop(name, None)
    if not order.open:
        state.settled[name] = state.seq


def order_issued(state: RunState, entry: ev.Entry, event: ev.OrderIssued) -> None:
    order, keys = event.order, event.order.subtask_keys
    unsettled = sum(not (key in state.steps and state.steps[key].closed) for key in keys)
    state.orders[order.work_order_id] = OrderState(order=order, at=entry.at, open=unsettled)
    if not unsettled:
        state.settled[order.work_order_id] = state.seq
    for position, step in enumerate(order.steps):
        key = step.step_id
        if key in state.steps:  # it began while the plan was being written
            put(state, state.steps[key], order=order.work_order_id, position=position)
            continue
        add(state, step, order.work_order_id, position)
        if (repairs := order.subtasks[position].repairs_subtask) is not None:
            repaired = state.steps[repairs]
            put(state, repaired, superseded_by=key)
            put(state, state.steps[key], by_hand=repaired.by_hand)
        if state.definition.limits.batch_size is None:  # else they start in groups
            _schedule_first(state, key, entry.seq)


def _void(state: RunState, changed: StepState) -> None:
    """Forget the reviews of the order of a step that is another one now, or that it judges, and of those after it: what
    they rejected is as it was settled."""
    names = [*state.orders]
    for name in {changed.order, changed.step.judges}.intersection(names):
        for key in names[names.index(name) :]:
            _void_review(state, key)


def _void_review(state: RunState, name: str) -> None:
    if state.orders[name].review is None:
        return
    state.orders[name] = state.orders[name]._replace(review=None)
    state.settled.pop(f"~{name}", None)
    for step in (state.steps[key] for key in state.orders[name].order.subtask_keys):
        if step.verdict is not None and not step.by:
            failure = step.settlements[-1].failure
            status = StepStatus.COMPLETED if failure is None else StepStatus.FAILED
            put(state, step, status=status, failure=failure, verdict=None)


def judged(state: RunState, _entry: ev.Entry, event: ev.ResultsJudged) -> None:
    state.orders[event.work_order_id] = state.orders[event.work_order_id]._replace(review=event.review)
    state.settled[f"~{event.work_order_id}"] = state.seq
    for verdict in event.review.verdicts:
        step = state.steps[verdict.subtask]
        status, failure = step.status, step.failure
        if verdict.verdict is VerdictKind.DROP:
            status = StepStatus.DROPPED
        elif verdict.verdict is not VerdictKind.ACCEPT and status is StepStatus.COMPLETED:
            status = StepStatus.FAILED
        if status is not step.status and failure is None:
            reason = verdict.reason or REJECTED
            failure = Failure.of(reason, "found_wanting", FailureClass.INSUFFICIENT, more_steps(state))
        # A result that a review accepts after all is not replaced by what a review that is void had done again.
        replaced = None if verdict.verdict is VerdictKind.ACCEPT else step.superseded_by
        changes: dict[str, Any] = {"status": status, "failure": failure, "superseded_by": replaced}
        changed = {name: value for name, value in changes.items() if getattr(step, name) is not value}
        put(state, step, verdict=verdict, **changed)


# --- steps and their attempts ----------------------------------------------------------------------------------------


def issued(state: RunState, entry: ev.Entry, event: ev.StepIssued) -> None:
    key = event.step.step_id
    if key not in state.steps:
        add(state, event.step)
        if event.step.kind == "flow":  # its own steps carry it out
            put(state, state.steps[key], status=StepStatus.RUNNING)
    _schedule_first(state, key, entry.seq)


def add(state: RunState, step: Step, order: str = "", position: int = 0) -> None:
    """Add a new step to the state."""
    for needed in step.needs:
        state.dependents[needed] = (*state.dependents.get(needed, ()), step.step_id)
    put(state, StepState(step=step, order=order, position=position))
    if (parent := parent_of(step)) is not None:
        state.children[parent] = state.children.get(parent, 0) + 1


def _schedule_first(state: RunState, key: str, seq: int) -> None:
    """Schedule the first attempt at a step with the event that issues it, unless the step needs others."""
    if key in state.ready:
        _schedule(state, state.steps[key], AttemptState(attempt=f"{key}/a1", number=1), seq)


def _schedule(state: RunState, step: StepState, attempt: AttemptState, seq: int, **changes: Any) -> None:
    status = StepStatus.RUNNING if step.status is StepStatus.WAITING else step.status
    number = max(step.attempts, attempt.number)
    put(state, step, status=status, attempt=attempt, attempts=number, scheduled=seq, **changes)


def scheduled(state: RunState, entry: ev.Entry, event: ev.AttemptScheduled) -> None:
    key, number = split_attempt(event.attempt)
    step = state.steps[key]
    before = None if event.continues is None else step.attempt or step.stopped
    attempt = AttemptState(
        attempt=event.attempt,
        number=int(number),
        conversation=int(number) if before is None else before.conversation,
        continues=event.continues,
        not_before=event.not_before,
        feedback=event.feedback,
        answers=FrozenDict() if before is None else before.answers,
    )
    if before is None and key in state.children:
        state.children[key] = 0
    fresh: dict[str, Any] = {"calls": (), "compacted": NOT_COMPACTED} if before is None else {}
    _schedule(state, step, attempt, entry.seq, running=(), stopped=None, **fresh)


def current(state: RunState, attempt: str) -> StepState | None:
    """Return the step of an attempt if that attempt is running or about to run; None for a late observation."""
    step = state.steps.get(step_of(attempt))
    if step is None or step.attempt is None or step.attempt.attempt != attempt:
        return None
    return step if step.attempt.status in (AttemptStatus.SCHEDULED, AttemptStatus.RUNNING) else None


def started(state: RunState, _entry: ev.Entry, event: ev.AttemptStarted) -> None:
    step = current(state, event.attempt)
    if step is not None and step.attempt is not None:
        attempt = step.attempt._replace(status=AttemptStatus.RUNNING, host=event.host)
        put(state, step, status=StepStatus.RUNNING, attempt=attempt)


def returned(state: RunState, _entry: ev.Entry, event: ev.AttemptReturned) -> None:
    _settle_reservations(state, event.attempt)
    step = current(state, event.attempt)
    if step is not None and step.attempt is not None:
        attempt = step.attempt._replace(status=AttemptStatus.RETURNED, returned=event)
        put(state, step, attempt=attempt)


def parked(state: RunState, _entry: ev.Entry, event: ev.AttemptParked) -> None:
    _settle_reservations(state, event.attempt)
    step = state.steps.get(step_of(event.attempt))
    attempt = step.attempt if step is not None else None
    if step is None or attempt is None or attempt.attempt != event.attempt:
        return
    if attempt.status is AttemptStatus.PARKED:
        return
    if attempt.status is AttemptStatus.RETURNED and any(call.kind != "effect" for call in event.open_calls):
        return  # it is late
    turns = {_turn_of(call.call_id) for call in event.open_calls}
    asking = {asking_call(call.call_id) for call in event.open_calls}
    kept = {  # what was decided in the turn that is not over, and what people denied; an approval holds for one attempt
        call_id: answer  # and for those in which its call asks what it has to know
        for call_id, answer in attempt.answers.items()
        if call_id in asking
        or (_turn_of(call_id) in turns if answer.decided else not answer.ok and not call_id.endswith(EFFECT))
    }
    attempt = attempt._replace(status=AttemptStatus.PARKED, host=None, open_calls=event.open_calls, returned=None)
    put(state, step, status=StepStatus.WAITING, attempt=attempt._replace(answers=FrozenDict(kept)))


def _turn_of(call_id: str) -> str:
    return call_id.rpartition("/c")[0]


def _settle_reservations(state: RunState, attempt: str) -> None:
    """Count the open reservations of an attempt in full, since the usage of its calls will never be known."""
    for key in [key for key in state.reserved if key[0] == attempt]:
        state.spent = state.spent + state.reserved.pop(key)


def settled(state: RunState, entry: ev.Entry, event: ev.StepSettled) -> None:
    """Settle an attempt as the controller judged it, or a step without one, or as a person decided."""
    step = state.steps[event.step]
    attempt, failures = step.attempt, step.failures
    if event.attempt and event.failure is not None and event.failure.type != INTERRUPTED:
        failures = (*failures, event.failure.class_)
    number = attempt.number if event.attempt and attempt is not None else 0
    end = Settlement(entry.seq, entry.at, event.failure, number, event.by)
    settlements = (*step.settlements, end)
    changes: dict[str, Any] = {"failures": failures, "failure": event.failure, "settlements": settlements}
    if not event.final:
        # The next event schedules its retry.
        put(state, step, status=StepStatus.PENDING, attempt=None, stopped=attempt, **changes)
        return
    result = attempt.returned if attempt is not None and event.ok and not event.by else None
    data = event.data
    if result is not None and result.data is not None:
        data = with_evidence(result.data, result.used, step.evidence)
    value = event.data.raw if event.by and event.data is not None else None
    if event.ok and not event.by and step.step.subtask is None:  # the result of a subtask is text
        value = answered_value(step, result)
    stopped = (attempt or step.stopped) if can_continue(state, step, event.failure) else None
    failed = StepStatus.DROPPED if event.by else StepStatus.FAILED
    status, calls = StepStatus.COMPLETED if event.ok else failed, step.calls if stopped is not None else ()
    changes |= {**ended(state, step, event.by), "status": status, "calls": calls, "stopped": stopped}
    put(state, step, data=data, value=value, by=event.by, **changes)


def ended(state: RunState, step: StepState, by: str) -> dict[str, Any]:
    """Return what changes of a step when its attempt is over: only what it has done is left of it. Its open approvals
    and questions are withdrawn."""
    for call in step.attempt.open_calls if step.attempt is not None else ():
        if call.call_id in state.unanswered:
            del state.unanswered[call.call_id]
            question = state.questions[call.call_id]
            state.questions[call.call_id] = question.evolve(reply=question.default, by=by)
        if call.call_id in state.asking:
            del state.asking[call.call_id]
            status, reason = (ApprovalStatus.DENIED, "") if by else (ApprovalStatus.EXPIRED, EXPIRED)
            asked = state.approvals[call.call_id]
            state.approvals[call.call_id] = asked.evolve(status=status, by=by, reason=reason)
    return {"attempt": None, "calls": (), "running": (), "acted": step.has_acted, "made": made_calls(step)}


def can_continue(state: RunState, step: StepState, failure: Failure | None) -> bool:
    """Whether higher limits of the run let an attempt continue: that of its lead, or of a child that it waits for."""
    if failure is None or failure.type not in {*RAN_OUT, MAX_TURNS}:
        return False
    above = ancestors(state, step.step)
    if above and failure.type == MAX_TURNS:  # the turns of a child are a limit of its worker
        return False
    lead = above[-1] if above else step
    workers = (state.worker(each.step.worker) for each in (step, lead))
    return lead.step.final and all(worker is not None and worker.loop == "turns" for worker in workers)


def answered_value(step: StepState, result: ev.AttemptReturned | None) -> Json:
    """Return the structured answer of an attempt: what its result records, else the last reply in its lineage."""
    if result is not None and result.value is not None:
        return result.value
    turns = [call for call in step.calls if isinstance(call, ModelTurn)]
    return turns[-1].value if turns and turns[-1].asked is None else None
