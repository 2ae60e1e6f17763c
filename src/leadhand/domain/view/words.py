"""Events in words: a title, a line of text, a tone, and where each is worth showing. Every type of event has words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leadhand.domain import events as ev
from leadhand.domain.ids import assignment_of
from leadhand.domain.run import RunStatus
from leadhand.domain.work_result import VerdictKind

from .reading import INTERRUPTED
from .texts import label, line, waits_for
from .wording import Level, Tone, Words, by_whom, caller, listed, named_calls, split, why


def words(entry: ev.Entry) -> Words:
    """The words for an entry: the same wherever they are asked for, since nothing but the entry decides them."""
    return WORDS[type(entry.event)](entry, entry.event)


_WORK = ("work",)
_TOOLS = ("tools",)
_MODELS = ("models",)
_PEOPLE = ("people",)
_WORK_PEOPLE = ("work", "people")
_PROBLEM, _ATTENTION, _GOOD, _INFO = Tone.PROBLEM, Tone.ATTENTION, Tone.GOOD, Tone.INFO
_PHASE, _STEP = Level.PHASE, Level.STEP


# --- the run ---------------------------------------------------------------------------------------------------------


def _run_started(_: ev.Entry, event: ev.RunStarted) -> Words:
    return Words("Run started", line(event.definition.request), level=_PHASE)


def _run_claimed(_: ev.Entry, event: ev.RunClaimed) -> Words:
    return Words("Run taken over", f"by {event.owner}", level=_PHASE)


def _run_paused(_: ev.Entry, event: ev.RunPaused) -> Words:
    return Words("Run paused", line(event.reason), tone=_ATTENTION, level=_PHASE)


def _run_waiting(_: ev.Entry, event: ev.RunWaiting) -> Words:
    return Words("Run waiting for people", line(event.reason), tone=_ATTENTION, level=_PHASE, topics=_PEOPLE)


def _run_resumed(_: ev.Entry, _event: ev.RunResumed) -> Words:
    return Words("Run resumed", level=_PHASE)


def _run_reopened(_: ev.Entry, event: ev.RunReopened) -> Words:
    return Words("Run reopened", f"by {event.by}", tone=_ATTENTION, level=_PHASE, topics=_PEOPLE)


_ENDINGS = {
    RunStatus.SUCCEEDED: ("Run succeeded", _GOOD),
    RunStatus.PARTIAL: ("Run finished with gaps", _ATTENTION),
    RunStatus.CANCELLED: ("Run cancelled", _ATTENTION),
    RunStatus.FAILED: ("Run failed", _PROBLEM),
}


def _run_finished(_: ev.Entry, event: ev.RunFinished) -> Words:
    title, tone = _ENDINGS.get(event.status, ("Run finished", _INFO))
    return Words(title, why(event.failure), tone=tone, level=_PHASE)


# --- orders ----------------------------------------------------------------------------------------------------------


def _order_issued(_: ev.Entry, event: ev.WorkOrderIssued) -> Words:
    order = event.order
    number = len(order.subtasks)
    text = f"{number:,} {'subtask' if number == 1 else 'subtasks'}: {order.goal}"
    if order.repairs:
        asked = f", requested by {event.by}" if event.by else ""
        return Words(
            "Repair order issued",
            line(f"{text} (repairs {order.repairs}{asked})"),
            order.work_order_id,
            _ATTENTION,
            _PHASE,
            _WORK,
        )
    return Words("Work order issued", line(text), order.work_order_id, level=_PHASE, topics=_WORK)


def _gaps_noted(_: ev.Entry, event: ev.GapsNoted) -> Words:
    text = "; ".join(f"{part.what}: {part.reason}" for part in event.parts)
    return Words("Not supported", line(text), tone=_PROBLEM, level=_PHASE)


_VERDICTS = {
    VerdictKind.ACCEPT: "accepted",
    VerdictKind.RETRY: "to retry",
    VerdictKind.REPLAN: "to plan again",
    VerdictKind.DROP: "dropped",
}


def _results_judged(_: ev.Entry, event: ev.ResultsJudged) -> Words:
    verdicts = [verdict.verdict for verdict in event.review.verdicts]
    found = [(verdicts.count(verdict), word) for verdict, word in _VERDICTS.items()]
    found.append((len(event.review.missing), "missing"))
    tone = _GOOD if found[0][0] == len(verdicts) and not event.review.missing else _PROBLEM
    text = ", ".join(f"{number:,} {word}" for number, word in found if number)
    return Words("Results reviewed", text, event.work_order_id, tone, _PHASE, _WORK)


def _subtask_blocked(_: ev.Entry, event: ev.SubtaskBlocked) -> Words:
    return Words("Blocked", f"needs {event.cause}, which did not succeed", event.subtask, _PROBLEM, _PHASE, _WORK)


def _subtask_resolved(_: ev.Entry, event: ev.SubtaskResolved) -> Words:
    said = event.data.summary if event.data is not None else event.reason
    text = line(f"by {event.by}: {said}" if said else f"by {event.by}")
    if event.data is not None:
        return Words("Result supplied", text, event.subtask, _GOOD, _PHASE, _WORK_PEOPLE)
    return Words("Skipped", text, event.subtask, _ATTENTION, _PHASE, _WORK_PEOPLE)


# --- attempts --------------------------------------------------------------------------------------------------------


def _assignment_issued(_: ev.Entry, event: ev.AssignmentIssued) -> Words:
    return Words("Assignment issued", event.assignment.role, event.assignment.assignment_id, topics=_WORK)


def _attempt_scheduled(entry: ev.Entry, event: ev.AttemptScheduled) -> Words:
    key, number = split(event.attempt)
    wait = (event.not_before - entry.at).total_seconds() if event.not_before is not None else 0.0
    when = f"in {wait:.1f} s" if wait >= 0.05 else ""
    why = event.feedback or (f"continues {event.continues}" if event.continues else "")
    text = line(": ".join(filter(None, (when, why))))
    again = number != "1" and (bool(event.feedback) or event.continues is None)
    return Words(
        f"Attempt {number} scheduled",
        text,
        key,
        _ATTENTION if again else _INFO,
        _STEP if again else Level.DETAIL,
        _WORK,
    )


def _attempt_started(_: ev.Entry, event: ev.AttemptStarted) -> Words:
    key, number = split(event.attempt)
    return Words(
        f"Attempt {number} started",
        f"on {event.host}",
        key,
        level=_STEP if number == "1" else Level.DETAIL,
        topics=_WORK,
    )


def _attempt_returned(_: ev.Entry, event: ev.AttemptReturned) -> Words:
    key = assignment_of(event.attempt)
    result = event.result
    if result.ok:
        return Words("Result returned", line(result.data.summary) if result.data else "", key, topics=_WORK)
    return Words("Failure returned", why(result.error), key, _PROBLEM, topics=_WORK)


def _attempt_settled(_: ev.Entry, event: ev.AttemptSettled) -> Words:
    key = assignment_of(event.attempt)
    if event.ok:
        return Words("Completed", "", key, _GOOD, _STEP, _WORK)
    interrupted = event.failure is not None and event.failure.type == INTERRUPTED
    tone = _INFO if interrupted else _PROBLEM
    if event.final:
        return Words("Failed", why(event.failure), key, tone, _PHASE, _WORK)
    return Words("Will be retried", why(event.failure), key, tone, topics=_WORK)


def _attempt_lost(_: ev.Entry, event: ev.AttemptLost) -> Words:
    key = assignment_of(event.attempt)
    if event.failure.type == INTERRUPTED:
        return Words("Interrupted", line(event.failure.message), key, topics=_WORK)
    return Words("Attempt lost", why(event.failure), key, _PROBLEM, topics=_WORK)


def _attempt_parked(_: ev.Entry, event: ev.AttemptParked) -> Words:
    text = line(f"{waits_for(event.open_calls)}: {named_calls(event.open_calls)}")
    return Words("Waiting", text, assignment_of(event.attempt), _ATTENTION, _PHASE, _WORK)


def _effect_questioned(_: ev.Entry, event: ev.EffectQuestioned) -> Words:
    text = line(f"a person has to say whether this call was made: {named_calls(event.open_calls)}")
    return Words("Waiting for confirmation", text, assignment_of(event.attempt), _PROBLEM, _PHASE, _WORK_PEOPLE)


# --- calls -----------------------------------------------------------------------------------------------------------


def _model_began(_: ev.Entry, event: ev.ModelCallBegan) -> Words:
    return Words("Model called", event.model, assignment_of(event.attempt), topics=_MODELS)


def _model_returned(_: ev.Entry, event: ev.ModelCallReturned) -> Words:
    key = assignment_of(event.attempt)
    if event.failure is not None:
        return Words("Model call failed", why(event.failure), key, _PROBLEM, topics=_MODELS)
    usage = event.usage
    used = "usage unknown" if usage is None else f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    return Words("Model answered", f"{event.model}: {used}", key, topics=_MODELS)


def _compacted(_: ev.Entry, event: ev.ConversationCompacted) -> Words:
    text = f"answers of tools through turn {event.through}"
    return Words("Conversation shortened", text, assignment_of(event.attempt), topics=_MODELS)


def _tool_began(_: ev.Entry, event: ev.ToolCallBegan) -> Words:
    return Words("Tool called", label(event.tool, event.args), assignment_of(event.attempt), topics=_TOOLS)


def _tool_returned(_: ev.Entry, event: ev.ToolCallReturned) -> Words:
    key = assignment_of(event.attempt)
    if event.ok:
        return Words("Tool answered", line(f"{event.tool}: {event.summary or 'data'}"), key, topics=_TOOLS)
    return Words("Tool failed", line(f"{event.tool}: {why(event.failure)}"), key, _PROBLEM, topics=_TOOLS)


def _call_answered(_: ev.Entry, event: ev.CallAnswered) -> Words:
    key = caller(event.call_id)
    if event.ok:
        return Words("Call answered", line(event.content), key, topics=_WORK)
    return Words("Call failed", line(event.content), key, _PROBLEM, topics=_WORK)


def _worker_defined(_: ev.Entry, event: ev.WorkerDefined) -> Words:
    text = f"{event.role.name}: {event.description}" if event.description else event.role.name
    return Words("Worker defined", line(text), assignment_of(event.attempt), level=_STEP, topics=_WORK)


def _artifact_written(_: ev.Entry, event: ev.ArtifactWritten) -> Words:
    text = line(f"{event.path} ({event.size:,} bytes)")
    return Words("File written", text, assignment_of(event.attempt), level=_STEP, topics=_WORK)


def _todos_set(_: ev.Entry, event: ev.TodosSet) -> Words:
    done = sum(todo.status == "completed" for todo in event.todos)
    text = f"{done:,} of {len(event.todos):,} completed"
    return Words("Todos updated", text, assignment_of(event.attempt), level=_STEP, topics=_WORK)


def _note_emitted(_: ev.Entry, event: ev.NoteEmitted) -> Words:
    return Words("Note", line(event.message), assignment_of(event.attempt), level=_STEP, topics=_WORK)


# --- people ----------------------------------------------------------------------------------------------------------


def _approval_requested(_: ev.Entry, event: ev.ApprovalRequested) -> Words:
    asked = event.approval
    title = "Approval requested" if asked.kind == "call" else "Confirmation requested"
    topics = ("tools", "people")
    return Words(title, label(asked.tool, asked.args), assignment_of(asked.attempt), _ATTENTION, topics=topics)


def _approval_answered(_: ev.Entry, event: ev.ApprovalAnswered) -> Words:
    title = "Denied" if not event.approve else "Approved for the run" if event.always else "Approved"
    return Words(title, by_whom(event.by, event.reason), caller(event.approval_id), _ATTENTION, topics=_PEOPLE)


def _approval_expired(_: ev.Entry, event: ev.ApprovalExpired) -> Words:
    text = "nobody answered in time, so the call is denied"
    return Words("Approval expired", text, caller(event.approval_id), _PROBLEM, _PHASE, _PEOPLE)


def _effect_answered(_: ev.Entry, event: ev.EffectAnswered) -> Words:
    title = "Call confirmed" if event.happened else "Call was not made"
    return Words(title, by_whom(event.by, event.summary), caller(event.approval_id), _ATTENTION, topics=_PEOPLE)


def _retry_requested(_: ev.Entry, event: ev.RetryRequested) -> Words:
    which = listed(event.subtasks) or "all that failed"
    return Words("Retry requested", by_whom(event.by, which), tone=_ATTENTION, topics=_PEOPLE)


def _retry_granted(_: ev.Entry, event: ev.RetryGranted) -> Words:
    title = "Retry accepted" if event.data is None else "Result accepted"
    changed = " with other arguments" if event.args is not None else ""
    return Words(title, line(f"{listed(event.subtasks)}{changed}, by {event.by}"), "", _ATTENTION, _PHASE, _WORK_PEOPLE)


def _skip_requested(_: ev.Entry, event: ev.SkipRequested) -> Words:
    return Words("Skip requested", by_whom(event.by, event.reason), event.subtask, _ATTENTION, topics=_PEOPLE)


def _result_supplied(_: ev.Entry, event: ev.ResultSupplied) -> Words:
    return Words("Result offered", by_whom(event.by, event.summary), event.subtask, _ATTENTION, topics=_PEOPLE)


def _cancel_requested(_: ev.Entry, event: ev.CancelRequested) -> Words:
    return Words("Cancellation requested", by_whom(event.by), "", _ATTENTION, _PHASE, _PEOPLE)


def _pause_requested(_: ev.Entry, event: ev.PauseRequested) -> Words:
    return Words("Pause requested", by_whom(event.by, event.reason), "", _ATTENTION, topics=_PEOPLE)


def _resume_requested(_: ev.Entry, event: ev.ResumeRequested) -> Words:
    return Words("Resume requested", by_whom(event.by), "", _ATTENTION, topics=_PEOPLE)


_REQUESTS = {
    "retry_requested": "retry",
    "retry_granted": "retry",
    "skip_requested": "skip",
    "result_supplied": "result",
}


def _request_declined(_: ev.Entry, event: ev.RequestDeclined) -> Words:
    text = line(f"{_REQUESTS.get(event.request, event.request)}: {event.reason}")
    return Words("Request declined", text, "", _PROBLEM, _PHASE, _PEOPLE)


WORDS: dict[type, Callable[[ev.Entry, Any], Words]] = {
    ev.RunStarted: _run_started,
    ev.RunClaimed: _run_claimed,
    ev.RunPaused: _run_paused,
    ev.RunWaiting: _run_waiting,
    ev.RunResumed: _run_resumed,
    ev.RunReopened: _run_reopened,
    ev.RunFinished: _run_finished,
    ev.WorkOrderIssued: _order_issued,
    ev.GapsNoted: _gaps_noted,
    ev.ResultsJudged: _results_judged,
    ev.SubtaskBlocked: _subtask_blocked,
    ev.SubtaskResolved: _subtask_resolved,
    ev.AssignmentIssued: _assignment_issued,
    ev.AttemptScheduled: _attempt_scheduled,
    ev.AttemptStarted: _attempt_started,
    ev.AttemptReturned: _attempt_returned,
    ev.AttemptSettled: _attempt_settled,
    ev.AttemptLost: _attempt_lost,
    ev.AttemptParked: _attempt_parked,
    ev.EffectQuestioned: _effect_questioned,
    ev.ModelCallBegan: _model_began,
    ev.ModelCallReturned: _model_returned,
    ev.ConversationCompacted: _compacted,
    ev.ToolCallBegan: _tool_began,
    ev.ToolCallReturned: _tool_returned,
    ev.CallAnswered: _call_answered,
    ev.WorkerDefined: _worker_defined,
    ev.ArtifactWritten: _artifact_written,
    ev.TodosSet: _todos_set,
    ev.NoteEmitted: _note_emitted,
    ev.ApprovalRequested: _approval_requested,
    ev.ApprovalAnswered: _approval_answered,
    ev.ApprovalExpired: _approval_expired,
    ev.EffectAnswered: _effect_answered,
    ev.RetryRequested: _retry_requested,
    ev.RetryGranted: _retry_granted,
    ev.SkipRequested: _skip_requested,
    ev.ResultSupplied: _result_supplied,
    ev.CancelRequested: _cancel_requested,
    ev.PauseRequested: _pause_requested,
    ev.ResumeRequested: _resume_requested,
    ev.RequestDeclined: _request_declined,
}
