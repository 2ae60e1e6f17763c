"""Apply events of steps and attempts to the state, and find out which steps may start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from leadhand.core import events as ev
from leadhand.core.approval import EFFECT
from leadhand.core.errors import MAX_TURNS, RAN_OUT, Failure
from leadhand.core.evidence import made_calls, with_evidence
from leadhand.core.frozen import FrozenDict
from leadhand.core.ids import event_id, step_of
from leadhand.core.lifecycle import UNSUCCESSFUL, AttemptStatus, StepStatus
from leadhand.core.state import NOT_COMPACTED, AttemptState, CallAnswer, ModelTurn, RunState, StepState
from leadhand.core.value import Json
from leadhand.core.work_order import OpenCall, Step
from leadhand.core.work_result import WorkResult

INTERRUPTED = "interrupted"
"""The type of the failure that pausing a run causes. It does not count against the attempt."""


def assigned(state: RunState, entry: ev.Entry, event: ev.StepIssued) -> None:
    key = event.step.step_id
    if key not in state.steps:
        planned(state, event.step)
    if key in state.ready:  # without needs, the same event schedules its first attempt
        _schedule(state, key, AttemptState(attempt=f"{key}/a1", number=1), entry.seq)


def planned(state: RunState, step: Step, order: str = "", position: int = 0) -> None:
    """Add a new step to the state; it starts when its needs are completed."""
    key = step.step_id
    state.steps[key] = StepState(step=step, order=order, position=position)
    if (parent := parent_of(step)) is not None:
        state.children[parent] = state.children.get(parent, 0) + 1
    if not order:  # the steps of an order may need each other: see orders.order_issued
        await_needs(state, key)


def _schedule(state: RunState, key: str, attempt: AttemptState, seq: int) -> None:
    before = state.steps[key]
    state.steps[key] = before._replace(
        status=StepStatus.RUNNING if before.status is StepStatus.WAITING else before.status,
        attempt=attempt,
        attempts=max(before.attempts, attempt.number),
        scheduled=seq,
    )
    for place in (state.ready, state.parked, state.retrying):
        place.pop(key, None)
    state.live[key] = None
    if before.counts:
        state.busy[key] = None


def scheduled(state: RunState, entry: ev.Entry, event: ev.AttemptScheduled) -> None:
    key = step_of(event.attempt)
    step = state.steps[key]
    before = step.attempt or step.stopped
    afresh = event.continues is None
    kept = before is not None and event.continues == before.attempt
    answers: Mapping[str, CallAnswer] = before.answers if before is not None and kept else FrozenDict()
    state.steps[key] = step._replace(
        calls=() if afresh else step.calls,
        begun=(),
        compacted=NOT_COMPACTED if afresh else step.compacted,
        stopped=None,
    )
    attempt = AttemptState(
        attempt=event.attempt,
        number=int(event.attempt.rpartition("/a")[2]),
        continues=event.continues,
        not_before=event.not_before,
        feedback=event.feedback,
        answers=answers,
    )
    _schedule(state, key, attempt, entry.seq)


def settled(state: RunState, entry: ev.Entry, event: ev.AttemptSettled) -> None:
    key = step_of(event.attempt)
    step = state.steps[key]
    attempt = step.attempt
    if attempt is None or attempt.attempt != event.attempt:
        return
    for place in (state.unsettled, state.live, state.parked, state.retrying):
        place.pop(key, None)
    failures = step.failures
    if event.failure is not None and event.failure.type != INTERRUPTED:
        failures = (*failures, event.failure.class_)
    changed = step._replace(failures=failures, failure=event.failure, event_ids=(*step.event_ids, event_id(entry.seq)))
    if not event.final:
        state.steps[key] = changed._replace(attempt=attempt._replace(status=AttemptStatus.SETTLED))
        state.retrying[key] = None
        return
    result = attempt.result
    data = result.data if event.ok and result is not None else None
    if data is not None and result is not None:
        data = with_evidence(data, result.used, step.evidence)
    # The result of a subtask is text; for other steps, the model's JSON is the value.
    structured = event.ok and step.step.subtask is None
    stopped = attempt if _can_continue(state, step, event.failure) else None
    state.steps[key] = changed._replace(
        status=StepStatus.COMPLETED if event.ok else StepStatus.FAILED,
        attempt=None,
        calls=step.calls if stopped is not None else (),
        begun=(),
        data=data,
        value=answered_value(step, result) if structured else None,
        acted=step.has_acted,
        made=made_calls(step),
        stopped=stopped,
    )
    state.busy.pop(key, None)
    needs_settled(state, key, ok=event.ok)


def _can_continue(state: RunState, step: StepState, failure: Failure | None) -> bool:
    """Whether higher limits of the run let an attempt continue: that of its lead, or of a child that it waits for."""
    above = ancestors(state, step.step)
    lead = above[-1] if above else step
    types = RAN_OUT if above else {*RAN_OUT, MAX_TURNS}  # the turns of a child are a limit of its role
    return (
        failure is not None
        and failure.type in types
        and lead.step.answers
        and all(_has_turns(state, each) for each in (step, lead))
    )


def _has_turns(state: RunState, step: StepState) -> bool:
    role = state.worker(step.step.worker)
    return role is not None and role.loop == "turns"


def last_value(step: StepState) -> Json:
    """Return the structured answer of a step, from the last reply in its lineage. Code has its own value."""
    turns = [call for call in step.calls if isinstance(call, ModelTurn)]
    return turns[-1].value if turns and turns[-1].asked is None else None


def answered_value(step: StepState, result: WorkResult | None) -> Json:
    """Return the structured answer of an attempt: what its result records, else the last reply in its lineage."""
    return result.value if result is not None and result.value is not None else last_value(step)


def current(state: RunState, attempt: str) -> StepState | None:
    """Return the step of an attempt if that attempt is current; None for a late observation."""
    step = state.steps.get(step_of(attempt))
    if step is None or step.attempt is None or step.attempt.attempt != attempt:
        return None
    return step if step.attempt.status in _UNDER_WAY else None


_UNDER_WAY = (AttemptStatus.SCHEDULED, AttemptStatus.RUNNING)


def settle_reservations(state: RunState, attempt: str) -> None:
    """Count the open reservations of an attempt in full, since the usage of its calls will never be known."""
    for amount in state.reserved.pop(attempt, {}).values():
        state.spent = state.spent + amount


def lost(state: RunState, _entry: ev.Entry, event: ev.AttemptLost) -> None:
    settle_reservations(state, event.attempt)
    step = current(state, event.attempt)
    if step is not None:
        _return(state, step, WorkResult.failed(step.key, event.failure))


def attempt_started(state: RunState, _entry: ev.Entry, event: ev.AttemptStarted) -> None:
    step = current(state, event.attempt)
    if step is not None and step.attempt is not None:
        state.steps[step.key] = step._replace(
            status=StepStatus.RUNNING,
            attempt=step.attempt._replace(status=AttemptStatus.RUNNING, host=event.host),
        )


def attempt_returned(state: RunState, _entry: ev.Entry, event: ev.AttemptReturned) -> None:
    settle_reservations(state, event.attempt)
    step = current(state, event.attempt)
    if step is not None:
        _return(state, step, event.result)


def _return(state: RunState, step: StepState, result: WorkResult) -> None:
    key = step.key
    assert step.attempt is not None
    state.steps[key] = step._replace(
        attempt=step.attempt._replace(status=AttemptStatus.RETURNED, result=result),
    )
    state.live.pop(key, None)
    state.unsettled[key] = None


def parked(state: RunState, _entry: ev.Entry, event: ev.AttemptParked) -> None:
    settle_reservations(state, event.attempt)
    step = current(state, event.attempt)
    if step is not None and step.attempt is not None:
        _park(state, step, step.attempt, event.open_calls)


def effect_questioned(state: RunState, _entry: ev.Entry, event: ev.EffectQuestioned) -> None:
    key = step_of(event.attempt)
    step = state.steps[key]
    attempt = step.attempt
    if attempt is not None and attempt.attempt == event.attempt and key in state.unsettled:
        _park(state, step, attempt, event.open_calls)


def _park(state: RunState, step: StepState, attempt: AttemptState, calls: tuple[OpenCall, ...]) -> None:
    turns = {_turn_of(call.call_id) for call in calls}
    kept = {  # what was decided in the turn that is not over, and what people denied; an approval holds for one attempt
        call_id: answer
        for call_id, answer in attempt.answers.items()
        if (_turn_of(call_id) in turns if answer.decided else not answer.ok and not call_id.endswith(EFFECT))
    }
    parked = attempt._replace(status=AttemptStatus.PARKED, host=None, open_calls=calls, result=None)
    parked = parked._replace(answers=FrozenDict(kept))
    for place in (state.live, state.unsettled):
        place.pop(step.key, None)
    state.parked[step.key] = None
    state.steps[step.key] = step._replace(status=StepStatus.WAITING, attempt=parked)


def _turn_of(call_id: str) -> str:
    return call_id.rpartition("/c")[0]


def needs_settled(state: RunState, key: str, *, ok: bool) -> None:
    """Update the counts of a settled step's order, and release or block the steps that need it."""
    step = state.steps[key]
    if step.order:
        order = state.orders[step.order]
        state.orders[step.order] = order._replace(open=order.open - 1)
    for dependent in state.dependents.pop(key, ()):
        if state.steps[dependent].reuses == key:
            reused_settled(state, dependent, ok=ok)
            continue
        if not ok:
            if state.steps[dependent].status is StepStatus.PENDING:
                state.blocked.setdefault(dependent, key)
            continue
        if dependent not in state.awaited:  # already blocked by another of its needs
            continue
        state.awaited[dependent] -= 1
        if not state.awaited[dependent]:
            del state.awaited[dependent]
            if dependent not in state.blocked:
                state.ready[dependent] = None


def reused_settled(state: RunState, key: str, *, ok: bool) -> None:
    """Let a subtask take over the result of the one that it reuses, or start it if that one failed."""
    if state.steps[key].status is not StepStatus.PENDING:
        return
    if ok:
        state.reusable[key] = None
    else:
        state.steps[key] = state.steps[key]._replace(reuses="")
        await_needs(state, key)


def await_needs(state: RunState, key: str) -> None:
    """Determine whether a new or unblocked step is ready, waits for open needs, or is blocked by failed ones."""
    needs = state.steps[key].step.needs
    statuses = {needed: state.steps[needed].status for needed in needs}
    lost = next((needed for needed, status in statuses.items() if status in UNSUCCESSFUL), None)
    awaited = sum(1 for status in statuses.values() if status is not StepStatus.COMPLETED)
    for place in (state.awaited, state.ready, state.blocked):
        place.pop(key, None)
    if lost is not None:
        state.blocked[key] = lost
    elif awaited:
        state.awaited[key] = awaited
        for needed, status in statuses.items():
            dependents = state.dependents.get(needed, ())
            if status is not StepStatus.COMPLETED and key not in dependents:
                state.dependents[needed] = (*dependents, key)
    else:
        state.ready[key] = None


def blocked_by(state: RunState, causes: set[str]) -> list[str]:
    """Return the steps that were dropped because they need one of ``causes``, directly or through others."""
    found: list[str] = []
    for key, step in state.steps.items():
        needs = step.step.needs
        if step.given_up and step.superseded_by is None and causes.intersection(needs):
            found.append(key)
            causes = {*causes, key}
    return found


def descendants(state: RunState, key: str) -> list[str]:
    """Return the descendants of a step: its children, their children, and so on."""
    found: list[str] = []
    for name, step in state.steps.items():  # in order: parents come before their children
        parent = parent_of(step.step)
        if parent is not None and parent in (key, *found):
            found.append(name)
    return found


def ended_by(state: RunState, event: ev.Event) -> Iterator[str]:
    """Return the attempts of a state that end, as lost or because a person resolved their subtask, with an event."""
    if isinstance(event, ev.AttemptLost):
        yield event.attempt
    elif isinstance(event, ev.SubtaskResolved):
        for key in (event.subtask, *descendants(state, event.subtask)):
            step = state.steps.get(key)
            if step is not None and step.attempt is not None:
                yield step.attempt.attempt


def children_of(state: RunState, call_id: str) -> list[StepState]:
    """Return the steps that one call asked for, in order."""
    found: list[StepState] = []
    while (child := state.steps.get(child_id(call_id, len(found)))) is not None:
        found.append(child)
    return found


def artifacts_of(state: RunState, key: str) -> list[str]:
    """Return the paths of the artifacts that a step and its descendants wrote."""
    below = f"{key}/"
    return [
        path
        for path, versions in state.artifacts.items()
        if any(f"{version.by}/".startswith(below) for version in versions)
    ]


def child_id(call_id: str, number: int) -> str:
    """Return the id of the ``number``-th step that a call asked for, counted from 0."""
    return call_id if number == 0 else f"{call_id}.{number}"


def parent_of(step: Step) -> str | None:
    """Return the step that asked for this one; None if the flow did."""
    return step_of(step.parent) if step.parent is not None else None


def ancestors(state: RunState, step: Step) -> list[StepState]:
    """Return the ancestors of a step, nearest first."""
    found: list[StepState] = []
    while (parent := parent_of(step)) is not None:
        found.append(state.steps[parent])
        step = found[-1].step
    return found
