"""From a state and a command to the events that follow: the rules of the house, pure.

``decide`` either returns what happens or raises :class:`~leadhand.domain.commands.Refused`; it never half-does a thing.
``due`` says which commands the state itself calls for, whatever the flow.
"""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from . import commands as do
from . import events as ev
from .approval import EFFECT, ApprovalStatus
from .assignment import OpenCall
from .children import answer_of, wanted_children
from .errors import Failure, FailureClass
from .evidence import indeterminate, unproven
from .evolve import fold
from .evolve_attempts import INTERRUPTED, thought
from .ids import assignment_of, attempt_id, order_id
from .lifecycle import RUN, AttemptStatus, SubtaskStatus
from .outcome import answer_sources, gaps, plain_summary, status_of
from .retries import Retry, retry
from .review import Decision, Review, Verdict
from .run import ENDED, RunStatus
from .state import AssignmentState, AttemptState, RunState
from .thoughts import thought_faults
from .tool import ApprovalPolicy, Effect
from .wishes import honour
from .work_order import WorkOrder, faults
from .work_result import WorkResult


def decide(state: RunState, command: do.Command, now: datetime) -> list[ev.AnyEvent]:
    """The events that ``command`` makes happen, none of them yet part of ``state``.

    Raises :class:`~leadhand.domain.commands.Refused` when the state does not allow it.
    """
    if state.finished is not None and not isinstance(command, do.Honour):
        raise do.Refused("the run is over")
    match command:
        case do.IssueOrder():
            return _issue_order(state, command.order, command.by)
        case do.Honour():
            return honour(state)
        case do.Decline():
            return [ev.RequestDeclined(request="retry_granted", reason=command.reason)]
        case do.RefuseParts():
            return [ev.PartsRefused(parts=command.parts)]
        case do.Assign():
            return _assign(state, command)
        case do.Block():
            if state.doomed.get(command.subtask) != command.cause:
                raise do.Refused(f"{command.subtask} is not blocked by {command.cause}")
            return [ev.SubtaskBlocked(subtask=command.subtask, cause=command.cause)]
        case do.Settle():
            return _settle(state, command.assignment, now)
        case do.TryAgain():
            return _try_again(state, command.assignment, now)
        case do.Continue():
            return _continue(state, command.assignment)
        case do.AnswerChild():
            return [answer_of(state, command.call_id)]
        case do.GiveUpAttempt():
            _current(state, command.attempt)
            return [ev.AttemptLost(attempt=command.attempt, failure=command.failure)]
        case do.JudgeOrder():
            return _judge(state, command.work_order_id, command.review)
        case do.AskApproval():
            asked = state.approvals.get(command.approval.approval_id)
            if asked is not None and asked.attempt == command.approval.attempt:
                raise do.Refused(f"{command.approval.approval_id} was asked already")
            return [ev.ApprovalRequested(approval=command.approval)]
        case do.ExpireApproval():
            asked = state.approvals.get(command.approval_id)
            if asked is None or asked.status is not ApprovalStatus.PENDING:
                raise do.Refused(f"{command.approval_id} is not open")
            return [ev.ApprovalExpired(approval_id=command.approval_id)]
        case do.Pause():
            return [ev.RunPaused(reason=command.reason)] if _may(state, RunStatus.PAUSED) else []
        case do.Wait():
            return [ev.RunWaiting(reason=command.reason)] if _may(state, RunStatus.WAITING) else []
        case do.Resume():
            return [ev.RunResumed()] if _may(state, RunStatus.RUNNING) else []
        case do.Finish():
            return _finish(state, command, now)
        case _:
            assert_never(command)


def due(state: RunState) -> list[do.Command]:
    """What the state calls for by itself: judge, retry, take up what was answered, give up what is doomed."""
    wished: list[do.Command] = [do.Honour()] if state.wishes else []
    if state.finished is not None:
        return wished
    wanted: list[do.Command] = [*wished]
    wanted += [do.Settle(assignment=key) for key in state.unsettled]
    wanted += [do.TryAgain(assignment=key) for key in state.retrying]
    if state.status is RunStatus.PAUSED:
        return wanted + ([do.Resume()] if state.resume_wanted else [])
    if state.pause_reason is not None:
        return [*wanted, do.Pause(reason=state.pause_reason)]
    wanted += wanted_children(state)
    wanted += [do.Block(subtask=key, cause=cause) for key, cause in state.doomed.items()]
    answered = [do.Continue(assignment=key) for key in state.parked if _attempt(state, key).answered]
    if state.status is RunStatus.WAITING and (answered or not state.parked):
        wanted.append(do.Resume())
    return wanted + answered


def standstill(state: RunState) -> list[do.Command]:
    """What to do when nobody wants anything and nothing is under way: wait for people, or end for want of progress."""
    if (
        state.finished is not None
        or state.status is not RunStatus.RUNNING
        or state.live
        or state.unsettled
        or state.retrying
    ):
        return []
    if state.parked:
        return [do.Wait(reason=f"{len(state.parked)} waiting for an answer")]
    failure = Failure.model_validate(
        {"message": "nothing is left to do, and nothing was decided", "type": "no_progress", "class": "exhausted"}
    )
    return [do.Finish(answer=None, failure=failure)]


# --- orders ----------------------------------------------------------------------------------------------------------


def _issue_order(state: RunState, order: WorkOrder, by: str) -> list[ev.AnyEvent]:
    if order.work_order_id in state.orders:
        raise do.Refused(f"{order.work_order_id} was issued already, and an order does not change")
    if order.work_order_id != order_id(len(state.orders) + 1):
        raise do.Refused(f"the next order is {order_id(len(state.orders) + 1)}, not {order.work_order_id}")
    if not by and state.steps >= state.definition.limits.max_steps:
        raise do.Refused(f"the run is limited to {state.definition.limits.max_steps} orders")
    latest = state.order
    if latest is not None and (latest.open or latest.review is None):
        raise do.Refused(f"{latest.order.work_order_id} is not over and reviewed")
    found = faults(order, state.tools, state.subtasks)
    found += [
        f"{subtask.name} repairs {subtask.repairs_subtask!r}, which is no subtask that needs it"
        for subtask in order.subtasks
        if subtask.repairs_subtask is not None and not _repairable(state, subtask.repairs_subtask)
    ]
    repaired = [subtask.repairs_subtask for subtask in order.subtasks if subtask.repairs_subtask is not None]
    if len(repaired) != len(set(repaired)):
        found.append("two subtasks repair the same one")
    if found and by:
        return [ev.RequestDeclined(request="retry_granted", reason="; ".join(found))]
    if found:
        raise do.Refused("; ".join(found))
    supplied = [
        ev.SubtaskResolved(subtask=key, data=again.data, by=again.by)
        for key, subtask in zip(order.subtask_keys(), order.subtasks, strict=True)
        if (again := state.again.get(subtask.repairs_subtask or "")) is not None and again.data is not None
    ]
    return [ev.WorkOrderIssued(order=order, by=by), *(supplied if by else [])]


def _repairable(state: RunState, key: str) -> bool:
    subtask = state.subtasks.get(key)
    return subtask is not None and subtask.superseded_by is None and not subtask.accepted


def _judge(state: RunState, order: str, review: Review) -> list[ev.AnyEvent]:
    """Put a review on record, closed where it is open: a subtask without a verdict is not accepted."""
    at = state.orders.get(order)
    if at is None or at.open or at.review is not None:
        raise do.Refused(f"{order} is not waiting for a review")
    given = {verdict.subtask: verdict for verdict in review.verdicts}
    verdicts: list[Verdict] = []
    for key in at.order.subtask_keys():
        verdict = given.get(key)
        if verdict is None:
            continue  # stays unverified: neither accepted nor called wrong
        subtask = state.subtasks[key]
        if subtask.by and subtask.verdict is not None:
            verdict = subtask.verdict  # a person's word stands
        if verdict.verdict is Decision.ACCEPT and subtask.status is not SubtaskStatus.COMPLETED:
            verdict = verdict.evolve(verdict=Decision.DROP, reason=f"it is {subtask.status} and cannot be accepted")
        verdicts.append(verdict)
    sound = review.complete and not review.missing and all(v.verdict is Decision.ACCEPT for v in verdicts)
    covered = len(verdicts) == len(at.order.subtasks)
    answer = review.answer if sound and covered else None
    return [
        ev.OrderReviewed(
            work_order_id=order, review=review.evolve(verdicts=tuple(verdicts), complete=sound, answer=answer)
        )
    ]


# --- assignments and attempts ----------------------------------------------------------------------------------------


def _assign(state: RunState, command: do.Assign) -> list[ev.AnyEvent]:
    assignment = command.assignment
    key = assignment.assignment_id
    if key in state.assignments:
        raise do.Refused(f"{key} was handed out already")
    if key in state.subtasks and key not in state.ready:
        raise do.Refused(f"{key} is {state.subtasks[key].status} and cannot start")
    if state.status is not RunStatus.RUNNING:
        raise do.Refused(f"the run is {state.status}")
    return [ev.AssignmentIssued(assignment=assignment)]


def _settle(state: RunState, key: str, now: datetime) -> list[ev.AnyEvent]:
    assignment = state.assignments.get(key)
    attempt = assignment.attempt if assignment is not None else None
    if assignment is None or attempt is None or attempt.status is not AttemptStatus.RETURNED or attempt.result is None:
        raise do.Refused(f"{key} has nothing to settle")
    if assignment.doubts and state.cancel_by is None and state.definition.approve is not ApprovalPolicy.NEVER:
        # Neither done again nor given up in silence: a person knows, or can find out.
        questions = tuple(
            OpenCall(call_id=f"{call.call_id}{EFFECT}", kind="effect", tool=call.tool, args=call.args)
            for call in assignment.doubts
        )
        return [ev.AttemptHeld(attempt=attempt.attempt, open_calls=questions)]
    failure = _failure(state, assignment, attempt.result)
    if failure is None:
        return [ev.AttemptSettled(attempt=attempt.attempt, ok=True, final=True)]
    final = state.cancel_by is not None or _retry(state, assignment, attempt, failure, now) is None
    if final and state.cancel_by is None:
        later = _retry(state, assignment, attempt, failure, now, in_time=False)
        failure = failure if later is None else _too_late(state, failure)
    return [ev.AttemptSettled(attempt=attempt.attempt, ok=False, final=final, failure=failure)]


def _try_again(state: RunState, key: str, now: datetime) -> list[ev.AnyEvent]:
    """Schedule the attempt that follows one which was settled for another try."""
    assignment = state.assignments.get(key)
    attempt = assignment.attempt if assignment is not None else None
    if key not in state.retrying or assignment is None or attempt is None or assignment.failure is None:
        raise do.Refused(f"{key} is not to be tried again")
    failure = assignment.failure
    if failure.type != INTERRUPTED:  # its own class was counted when it was settled
        assignment = assignment._replace(failures=assignment.failures[:-1])
    # The time may be up meanwhile; that it is tried again was decided, and the deadline ends the run by itself.
    again = _retry(state, assignment, attempt, failure, now) or Retry(not_before=None, afresh=False)
    return [
        ev.AttemptScheduled(
            attempt=attempt_id(key, attempt.number + 1),
            continues=None if again.afresh else attempt.attempt,
            not_before=again.not_before,
            feedback=again.feedback,
        )
    ]


def _retry(
    state: RunState,
    assignment: AssignmentState,
    attempt: AttemptState,
    failure: Failure,
    now: datetime,
    *,
    in_time: bool = True,
) -> Retry | None:
    """Whether, when and how an attempt is followed by another; with ``in_time``, before the run's time is up."""
    key = assignment.assignment.assignment_id
    subtask = state.subtasks.get(key)
    return retry(
        failure,
        key=f"{state.run_id}/{attempt_id(key, attempt.number + 1)}",
        before=assignment.failures,
        limits=state.definition.limits,
        tool=state.tools.get(subtask.subtask.tool or "") if subtask is not None else None,
        now=now,
        deadline=state.deadline if in_time else None,
        acted=any(call.effect is Effect.ONCE for call in assignment.evidence),
    )


def _too_late(state: RunState, failure: Failure) -> Failure:
    """It would be tried again, but the run's time is up before it may be."""
    seconds = state.definition.limits.timeout_s
    message = f"{failure.message}; the run's time ({seconds:g} s) is up before it may be tried again"
    return Failure.model_validate({"message": message, "type": "time", "class": FailureClass.EXHAUSTED})


def _failure(state: RunState, assignment: AssignmentState, result: WorkResult) -> Failure | None:
    """Why a returned attempt does not count, or None: its own error, or what the code checks find."""
    unknown = _unseen_effect(assignment)
    if unknown is not None:
        return unknown
    if result.error is not None:
        return result.error
    subtask = state.subtasks.get(assignment.assignment.assignment_id)
    if subtask is not None:
        return unproven(state, assignment, subtask.subtask, result)
    text = result.data.summary if result.data is not None else ""
    found = thought_faults(state, assignment.assignment, thought(assignment), text)
    if not found:
        return None
    return Failure.model_validate({"message": "; ".join(found), "type": "bad_thought", "class": "invalid"})


def _unseen_effect(assignment: AssignmentState) -> Failure | None:
    """The failure of a ``once`` call whose end nobody saw: it says more than why the attempt around it ended."""
    return indeterminate(assignment.doubts[0].tool) if assignment.doubts else None


def _continue(state: RunState, key: str) -> list[ev.AnyEvent]:
    attempt = _attempt(state, key)
    if attempt.status is not AttemptStatus.PARKED or not attempt.answered:
        raise do.Refused(f"{key} still waits")
    # The parked attempt is neither a failure nor a retry: its number goes on, its failures do not.
    return [ev.AttemptScheduled(attempt=attempt_id(key, attempt.number + 1), continues=attempt.attempt)]


def _attempt(state: RunState, key: str) -> AttemptState:
    assignment = state.assignments.get(key)
    if assignment is None or assignment.attempt is None:
        raise do.Refused(f"{key} has no attempt under way")
    return assignment.attempt


def _current(state: RunState, attempt: str) -> AttemptState:
    key = assignment_of(attempt)
    if key in state.live and (found := _attempt(state, key)).attempt == attempt:
        return found
    raise do.Refused(f"{attempt} is not under way")


# --- the run ---------------------------------------------------------------------------------------------------------


def _may(state: RunState, status: RunStatus) -> bool:
    return status in RUN[state.status]


def _finish(state: RunState, command: do.Finish, now: datetime) -> list[ev.AnyEvent]:
    status = command.status or status_of(state)
    if status not in ENDED or not _may(state, status):
        raise do.Refused(f"a run that is {state.status} does not end as {status}")
    if status is RunStatus.SUCCEEDED and status_of(state) is not RunStatus.SUCCEEDED:
        raise do.Refused("the log does not show that everything was done")
    ended = _end_attempts(state, command.failure)
    entries = [
        ev.Entry.model_construct(seq=state.seq + n, at=now, epoch=state.epoch, event=event)
        for n, event in enumerate(ended, start=1)
    ]
    after = fold(state, entries) if entries else state
    finished = ev.RunFinished(
        status=status,
        number=len(state.answers) + 1,
        answer=plain_summary(after) if command.answer is None else command.answer,
        sources=tuple(answer_sources(after)),
        gaps=tuple(gaps(after)),
        failure=command.failure,
    )
    return [*ended, finished]


def _end_attempts(state: RunState, failure: Failure | None) -> list[ev.AnyEvent]:
    """End what is still under way or waits when its run ends; what has returned is judged, and not tried again."""
    cause = failure or Failure.model_validate(
        {"message": "the run ended before it did", "type": "run_ended", "class": "rejected"}
    )
    ended: list[ev.AnyEvent] = []
    for key in state.unsettled:
        assignment = state.assignments[key]
        if assignment.attempt is not None and assignment.attempt.result is not None:
            found = _failure(state, assignment, assignment.attempt.result)
            attempt = assignment.attempt.attempt
            ended.append(ev.AttemptSettled(attempt=attempt, ok=found is None, final=True, failure=found))
    for key in (*state.live, *state.parked, *state.retrying):
        attempt = _attempt(state, key).attempt
        why = _unseen_effect(state.assignments[key]) or cause
        if key in state.live:
            ended.append(ev.AttemptLost(attempt=attempt, failure=why))
        ended.append(ev.AttemptSettled(attempt=attempt, ok=False, final=True, failure=why))
    return ended
