"""Apply events of orders, steps and attempts to the state, and find out which steps may start."""

from __future__ import annotations

from collections.abc import Mapping

from leadhand.core import events as ev
from leadhand.core.approval import EFFECT
from leadhand.core.errors import INTERRUPTED, MAX_TURNS, RAN_OUT, Failure, FailureClass
from leadhand.core.ids import split_attempt, step_of
from leadhand.core.outcome import made_calls, with_evidence
from leadhand.core.relations import ancestors, children_of, parent_of
from leadhand.core.run import SETTLED, UNSUCCESSFUL, AttemptStatus, StepStatus
from leadhand.core.state import (
    NOT_COMPACTED,
    AttemptState,
    CallAnswer,
    ModelTurn,
    OrderState,
    RunState,
    Settlement,
    StepState,
)
from leadhand.core.value import FrozenDict, Json
from leadhand.core.words.failures import REJECTED, more_steps
from leadhand.core.work_order import OpenCall, Step, Subtask
from leadhand.core.work_result import VerdictKind, WorkResult

WORKER = "work"
"""The worker that carries out the subtasks of a work order."""

# --- the maps of steps -----------------------------------------------------------------------------------------------


def put(state: RunState, after: StepState) -> None:
    """Set a step, and keep the maps of steps true: which one it is in follows from its attempt."""
    key = after.step.step_id
    before = state.steps.get(key)
    state.steps[key] = after
    was = None if before is None or before.attempt is None else _MAP_OF[before.attempt.status]
    now = None if after.attempt is None else _MAP_OF[after.attempt.status]
    if was != now:
        if was is not None:
            getattr(state, was).pop(key, None)
        if now is not None:
            getattr(state, now)[key] = None
    if (was is None and now is not None) or after.status in SETTLED:
        for steps in (state.ready, state.awaited, state.blocked):
            steps.pop(key, None)
    if after.step.counts:
        _count(state, before, after)
    if after.status in SETTLED and (before is None or before.settlements is not after.settlements):
        if before is not None and before.status in SETTLED:
            state.redone = state.seq
        state.settled.pop(key, None)
        state.settled[key] = state.seq
    elif before is not None and before.status in SETTLED and after.status not in SETTLED:
        state.settled.pop(key, None)
        state.redone = state.seq
    if before is not None and before.status in SETTLED and before.status is not after.status:
        _again(state, after)
    if "parked" in (was, now):
        note_due(state, key)
    if after.step.parent is not None and (before is None or before.closed is not after.closed):
        note_due(state, step_of(after.step.parent))


def _again(state: RunState, after: StepState) -> None:
    """Determine again what waits once a settled step has another status: the step itself, and those that need it."""
    if after.status is StepStatus.PENDING:
        await_needs(state, after.step.step_id)
    for key in [*state.ready, *state.awaited, *state.blocked]:
        if after.step.step_id in state.steps[key].step.needs:
            await_needs(state, key)


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
    """Determine whether a new or unblocked step is ready, waits for open needs, or is blocked by failed ones."""
    needs = {needed: state.steps[needed].status for needed in state.steps[key].step.needs}
    lost = next((needed for needed, status in needs.items() if status in UNSUCCESSFUL), None)
    awaited = [needed for needed, status in needs.items() if status is not StepStatus.COMPLETED]
    for steps in (state.awaited, state.ready, state.blocked):
        steps.pop(key, None)
    if lost is not None:
        state.blocked[key] = lost
    elif awaited:
        state.awaited[key] = len(awaited)
        for needed in awaited:
            dependents = state.dependents.get(needed, ())
            if key not in dependents:
                state.dependents[needed] = (*dependents, key)
    else:
        state.ready[key] = None


def needs_settled(state: RunState, key: str, *, ok: bool) -> None:
    """Update the count of a settled step's order, and release or block the steps that need it."""
    step = state.steps[key]
    if step.order:
        order = state.orders[step.order]
        state.orders[step.order] = order._replace(open=order.open - 1)
        if order.open == 1:
            state.settled.pop(step.order, None)
            state.settled[step.order] = state.seq
    for dependent in state.dependents.pop(key, ()):
        if not ok:
            if state.steps[dependent].status is StepStatus.PENDING:
                state.blocked.setdefault(dependent, key)
        elif dependent in state.awaited:  # else it is already blocked by another of its needs
            state.awaited[dependent] -= 1
            if not state.awaited[dependent]:
                del state.awaited[dependent]
                if dependent not in state.blocked:
                    state.ready[dependent] = None


# --- orders ----------------------------------------------------------------------------------------------------------


def order_issued(state: RunState, entry: ev.Entry, event: ev.OrderIssued) -> None:
    order, keys = event.order, event.order.subtask_keys()
    unsettled = sum(not (key in state.steps and state.steps[key].closed) for key in keys)
    state.orders[order.work_order_id] = OrderState(order=order, at=entry.at, open=unsettled)
    if not unsettled:
        state.settled[order.work_order_id] = state.seq
    fresh: list[str] = []
    for position, (key, subtask) in enumerate(zip(keys, order.subtasks, strict=True)):
        if key in state.steps:  # it began while the plan was being written
            put(state, state.steps[key]._replace(order=order.work_order_id, position=position))
            continue
        fresh.append(key)
        add(state, subtask_step(key, subtask), order.work_order_id, position)
        if subtask.repairs_subtask is not None:
            repaired = state.steps[subtask.repairs_subtask]
            put(state, repaired._replace(superseded_by=key))
            put(state, state.steps[key]._replace(by_hand=repaired.by_hand))
    for key in fresh:
        await_needs(state, key)


def reopened(state: RunState, name: str, count: int) -> None:
    """Open an order again, of which ``count`` subtasks are repeated, or one has changed. Its review is void, and so are
    those of the orders after it."""
    order = state.orders[name]
    state.orders[name] = order._replace(open=order.open + count)
    if count:
        state.settled.pop(name, None)
    for key, each in [*state.orders.items()][[*state.orders].index(name) :]:
        if each.review is not None:
            _void(state, key)


def _void(state: RunState, name: str) -> None:
    """Forget the review of an order: what it rejected is as it was settled."""
    state.orders[name] = state.orders[name]._replace(review=None)
    state.settled.pop(f"~{name}", None)
    for step in (state.steps[key] for key in state.orders[name].order.subtask_keys()):
        if step.verdict is not None and not step.by:
            failure = step.settlements[-1].failure
            status = StepStatus.COMPLETED if failure is None else StepStatus.FAILED
            put(state, step._replace(status=status, failure=failure, verdict=None))


def subtask_step(key: str, subtask: Subtask) -> Step:
    """Return the step that carries out a subtask: by the worker of the project that it names, if it names one."""
    worker = subtask.worker if subtask.worker is not None else WORKER
    return Step(step_id=key, worker=worker, title=subtask.name, needs=subtask.needs, subtask=subtask, counts=True)


def judged(state: RunState, _entry: ev.Entry, event: ev.ResultsJudged) -> None:
    if event.work_order_id:
        order = state.orders[event.work_order_id]
        state.orders[event.work_order_id] = order._replace(review=event.review)
        state.settled[f"~{event.work_order_id}"] = state.seq
    for verdict in event.review.verdicts:
        step = state.steps[verdict.subtask]
        if step.by:
            continue  # a person's decision takes precedence
        status, failure = step.status, step.failure
        if step.order:
            if verdict.verdict is VerdictKind.DROP:
                status = StepStatus.DROPPED
            elif verdict.verdict is not VerdictKind.ACCEPT and status is StepStatus.COMPLETED:
                status = StepStatus.FAILED
        if status is not step.status and failure is None:
            reason = verdict.reason or REJECTED
            failure = Failure.of(reason, "found_wanting", FailureClass.INSUFFICIENT, more_steps(state))
        # A result that a review accepts after all is not replaced by what a review that is void had done again.
        replaced = None if verdict.verdict is VerdictKind.ACCEPT else step.superseded_by
        put(state, step._replace(status=status, failure=failure, verdict=verdict, superseded_by=replaced))


# --- steps and their attempts ----------------------------------------------------------------------------------------


def issued(state: RunState, entry: ev.Entry, event: ev.StepIssued) -> None:
    key = event.step.step_id
    if key not in state.steps:
        add(state, event.step)
        if event.step.kind == "flow":  # its own steps carry it out
            put(state, state.steps[key]._replace(status=StepStatus.RUNNING))
            return
        await_needs(state, key)
    if key in state.ready:  # without needs, the same event schedules its first attempt
        _schedule(state, state.steps[key], AttemptState(attempt=f"{key}/a1", number=1), entry.seq)


def add(state: RunState, step: Step, order: str = "", position: int = 0) -> None:
    """Add a new step to the state."""
    put(state, StepState(step=step, order=order, position=position))
    if (parent := parent_of(step)) is not None:
        state.children[parent] = state.children.get(parent, 0) + 1


def _schedule(state: RunState, step: StepState, attempt: AttemptState, seq: int) -> None:
    status = StepStatus.RUNNING if step.status is StepStatus.WAITING else step.status
    number = max(step.attempts, attempt.number)
    put(state, step._replace(status=status, attempt=attempt, attempts=number, scheduled=seq))


def scheduled(state: RunState, entry: ev.Entry, event: ev.AttemptScheduled) -> None:
    key, number = split_attempt(event.attempt)
    step = state.steps[key]
    before, afresh = step.attempt or step.stopped, event.continues is None
    kept = before is not None and event.continues == before.attempt
    answers: Mapping[str, CallAnswer] = before.answers if before is not None and kept else FrozenDict()
    attempt = AttemptState(
        attempt=event.attempt,
        number=int(number),
        continues=event.continues,
        not_before=event.not_before,
        feedback=event.feedback,
        answers=answers,
    )
    step = step._replace(running=(), stopped=None)
    _schedule(state, step._replace(calls=(), compacted=NOT_COMPACTED) if afresh else step, attempt, entry.seq)


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
        put(state, step._replace(status=StepStatus.RUNNING, attempt=attempt))


def returned(state: RunState, _entry: ev.Entry, event: ev.AttemptReturned) -> None:
    _settle_reservations(state, event.attempt)
    step = current(state, event.attempt)
    if step is not None and step.attempt is not None:
        attempt = step.attempt._replace(status=AttemptStatus.RETURNED, result=event.result)
        put(state, step._replace(attempt=attempt))


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
    kept = {  # what was decided in the turn that is not over, and what people denied; an approval holds for one attempt
        call_id: answer
        for call_id, answer in attempt.answers.items()
        if (_turn_of(call_id) in turns if answer.decided else not answer.ok and not call_id.endswith(EFFECT))
    }
    attempt = attempt._replace(status=AttemptStatus.PARKED, host=None, open_calls=event.open_calls, result=None)
    put(state, step._replace(status=StepStatus.WAITING, attempt=attempt._replace(answers=FrozenDict(kept))))


def _turn_of(call_id: str) -> str:
    return call_id.rpartition("/c")[0]


def _settle_reservations(state: RunState, attempt: str) -> None:
    """Count the open reservations of an attempt in full, since the usage of its calls will never be known."""
    for amount in state.reserved.pop(attempt, {}).values():
        state.spent = state.spent + amount


def settled(state: RunState, entry: ev.Entry, event: ev.StepSettled) -> None:
    """Settle an attempt as the controller judged it, or a step without one."""
    step = state.steps[event.step]
    attempt = step.attempt
    if event.attempt and (attempt is None or attempt.attempt != event.attempt):
        return
    failures = step.failures
    if event.attempt and event.failure is not None and event.failure.type != INTERRUPTED:
        failures = (*failures, event.failure.class_)
    end = Settlement(entry.seq, entry.at, event.failure, attempt.number if event.attempt and attempt is not None else 0)
    changed = step._replace(failures=failures, failure=event.failure, settlements=(*step.settlements, end))
    if not event.final:
        put(state, changed._replace(status=StepStatus.PENDING, attempt=None, stopped=attempt))
        await_needs(state, event.step)  # the next event schedules its retry
        return
    result = attempt.result if attempt is not None and event.ok else None
    data = result.data if result is not None else event.data
    if data is not None and result is not None:
        data = with_evidence(data, result.used, step.evidence)
    # The result of a subtask is text; for other steps, the model's JSON is the value.
    structured = event.ok and step.step.subtask is None
    stopped = (attempt or step.stopped) if can_continue(state, step, event.failure) else None
    settled = changed._replace(
        status=StepStatus.COMPLETED if event.ok else StepStatus.FAILED,
        attempt=None,
        calls=step.calls if stopped is not None else (),
        running=(),
        data=data,
        value=answered_value(step, result) if structured else None,
        acted=step.has_acted,
        made=made_calls(step),
        stopped=stopped,
    )
    put(state, settled)
    needs_settled(state, event.step, ok=event.ok)


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


def answered_value(step: StepState, result: WorkResult | None) -> Json:
    """Return the structured answer of an attempt: what its result records, else the last reply in its lineage."""
    if result is not None and result.value is not None:
        return result.value
    turns = [call for call in step.calls if isinstance(call, ModelTurn)]
    return turns[-1].value if turns and turns[-1].asked is None else None
