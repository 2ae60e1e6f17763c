"""Events in words: a title, a line of text, a tone, and a level of detail, for every type of event."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from leadhand.core import events as ev
from leadhand.core.approval import EFFECT
from leadhand.core.errors import Failure
from leadhand.core.ids import split_attempt, step_of
from leadhand.core.run import RunStatus
from leadhand.core.value import object_of, text_of
from leadhand.core.work_order import OpenCall
from leadhand.core.work_result import VerdictKind

from .texts import is_interruption, label, line, waits_for


class Tone(StrEnum):
    """The tone of an event. ``attention``: something waits, is retried, or was decided by a person."""

    INFO = "info"
    GOOD = "good"
    ATTENTION = "attention"
    PROBLEM = "problem"


class Level(StrEnum):
    """Where an event is shown: ``phase`` events concern the run as a whole, ``step`` events concern one step and
    have a line in plain output, ``detail`` events are shown in the log only."""

    PHASE = "phase"
    STEP = "step"
    DETAIL = "detail"


class Words(NamedTuple):
    """An event in words. ``text`` is one line, "" if the title is enough; ``subject`` is the id of a step or an
    order, or "" for the run. ``topics`` are any of work, tools, models and people."""

    title: str
    text: str = ""
    subject: str = ""
    tone: Tone = Tone.INFO
    level: Level = Level.DETAIL
    topics: tuple[str, ...] = ()


_WORK = ("work",)
_TOOLS = ("tools",)
_MODELS = ("models",)
_PEOPLE = ("people",)
_GOOD, _ATTENTION, _PROBLEM = Tone.GOOD, Tone.ATTENTION, Tone.PROBLEM
_PHASE, _STEP = Level.PHASE, Level.STEP

WORDS: dict[type, Words] = {
    ev.RunStarted: Words("Run started", level=_PHASE),
    ev.RunClaimed: Words("Run taken over", level=_PHASE),
    ev.RunFinished: Words("Run finished", level=_PHASE),
    ev.OrderIssued: Words("Work order issued", level=_PHASE, topics=_WORK),
    ev.GapsNoted: Words("Not supported", tone=_PROBLEM, level=_PHASE),
    ev.ResultsJudged: Words("Results reviewed", tone=_PROBLEM, level=_PHASE, topics=_WORK),
    ev.StepIssued: Words("Step issued", topics=_WORK),
    ev.AttemptScheduled: Words("Attempt scheduled", topics=_WORK),
    ev.AttemptStarted: Words("Attempt started", level=_STEP, topics=_WORK),
    ev.AttemptReturned: Words("Result returned", topics=_WORK),
    ev.AttemptParked: Words("Waiting", tone=_ATTENTION, level=_PHASE, topics=_WORK),
    ev.QuestionAsked: Words("Question for you", tone=_ATTENTION, level=_PHASE, topics=_PEOPLE),
    ev.QuestionAnswered: Words("Question answered", tone=_GOOD, level=_PHASE, topics=_PEOPLE),
    ev.ModelCallBegan: Words("Model called", topics=_MODELS),
    ev.ModelCallReturned: Words("Model answered", topics=_MODELS),
    ev.ElementWritten: Words("Part written", topics=_MODELS),
    ev.ConversationCompacted: Words("Conversation shortened", topics=_MODELS),
    ev.ToolCallBegan: Words("Tool called", topics=_TOOLS),
    ev.ToolCallReturned: Words("Tool answered", topics=_TOOLS),
    ev.CallAnswered: Words("Call answered", topics=_WORK),
    ev.WorkerDefined: Words("Worker defined", level=_STEP, topics=_WORK),
    ev.ArtifactWritten: Words("File written", level=_STEP, topics=_WORK),
    ev.TodosSet: Words("Todos updated", level=_STEP, topics=_WORK),
    ev.NoteEmitted: Words("Note", level=_STEP, topics=_WORK),
    ev.ApprovalRequested: Words("Approval requested", tone=_ATTENTION, topics=_TOOLS + _PEOPLE),
    ev.ApprovalAnswered: Words("Approved", tone=_ATTENTION, topics=_PEOPLE),
    ev.RunStatusSet: Words("Run resumed", level=_PHASE),
    ev.RunRequested: Words("Resume requested", tone=_ATTENTION, topics=_PEOPLE),
    ev.RunChanged: Words("Limits changed", level=_PHASE, topics=_PEOPLE),
    ev.StepSettled: Words("Completed", tone=_GOOD, level=_STEP, topics=_WORK),
    ev.StepRequested: Words("Retry requested", tone=_ATTENTION, topics=_PEOPLE),
    ev.RequestDecided: Words("Retry accepted", tone=_ATTENTION, level=_PHASE, topics=_WORK + _PEOPLE),
}
"""The words for each type of event, unless its content requires others."""

_ENDINGS = {
    RunStatus.SUCCEEDED: ("Run succeeded", _GOOD),
    RunStatus.PARTIAL: ("Run finished with gaps", _ATTENTION),
    RunStatus.CANCELLED: ("Run cancelled", _ATTENTION),
    RunStatus.FAILED: ("Run failed", _PROBLEM),
}
_VERDICTS = {
    VerdictKind.ACCEPT: "accepted",
    VerdictKind.RETRY: "to retry",
    VerdictKind.REPLAN: "to plan again",
    VerdictKind.DROP: "dropped",
}
_REQUESTS = {"retry": "retry", "skip": "skip", "supply": "result"}
_REQUESTED = {"retry": "Retry requested", "skip": "Skip requested", "supply": "Result offered"}


STATUS_WORDS = {"dropped": "skipped"}
"""What people read instead of a status of a step; the other statuses are words themselves."""
FAILURE_WORDS = {
    "transient": "temporary error",
    "rate_limited": "rate limit",
    "invalid": "invalid",
    "unavailable": "not available",
    "rejected": "refused",
    "blocked": "blocked",
    "too_large": "too large",
    "insufficient": "not enough",
    "lost": "lost",
    "exhausted": "limit reached",
}
"""What the classes of failures mean."""
_CAUSES = {"not_found": "not found", "timeout": "timeout", "gave_up": "given up", "needs_failed": "blocked"}


def status_word(status: str, failure: Failure | None, by: str) -> str:
    """Return the word for the status of a step.

    What failed by itself has failed, even if a review dropped it; what a person left out is skipped.
    """
    if status in ("failed", "dropped"):
        if _cancelled(failure):
            return "cancelled"
        status = "failed" if failure is not None and not by else status
    return STATUS_WORDS.get(status, status)


def cause_word(class_: str, type_: str = "") -> str:
    """Return why something is missing, in two words or fewer: ``HTTP 503``, ``timeout``, ``not available``."""
    if type_.startswith("http_"):
        return f"HTTP {type_.removeprefix('http_')}"
    return _CAUSES.get(type_) or FAILURE_WORDS.get(class_, class_)


def words(entry: ev.Entry) -> Words:
    """Return the words for an entry. They depend on nothing else, so they are the same everywhere."""
    event = entry.event
    said = WORDS[type(event)]
    text = ""
    match event.type:
        case "run_started":
            text = event.definition.request
        case "run_claimed":
            text = f"by {event.owner}"
        case "run_status":
            text = f"by {event.by}" if event.by else event.reason
            if event.slept_s:
                text = f"{event.slept_s:,.0f} s do not count as time of the run"
                said = said._replace(title="Process was stopped", tone=_ATTENTION)
            elif event.by:
                said = said._replace(title="Run reopened", tone=_ATTENTION, topics=_PEOPLE)
            elif event.status is RunStatus.PAUSED:
                said = said._replace(title="Run paused", tone=_ATTENTION)
            elif event.status is RunStatus.WAITING:
                said = said._replace(title="Waiting for a person", tone=_ATTENTION, topics=_PEOPLE)
        case "run_finished":
            text = _why(event.failure)
            title, tone = _ENDINGS.get(event.status, (said.title, said.tone))
            said = said._replace(title=title, tone=tone)
        case "order_issued":
            number, order = len(event.order.subtasks), event.order
            text = f"{number:,} {'subtask' if number == 1 else 'subtasks'}: {order.goal}"
            if order.repairs:
                text += f" (repairs {order.repairs}{f', requested by {event.by}' if event.by else ''})"
                said = said._replace(title="Repair order issued", tone=_ATTENTION)
        case "question_asked":
            text = event.question.text
        case "question_answered":
            text = f"{event.text} (by {event.by})" if event.by else event.text
        case "gaps_noted":
            text = "; ".join(f"{part.what}: {part.reason}" for part in event.parts)
        case "results_judged":
            verdicts = [verdict.verdict for verdict in event.review.verdicts]
            found = [(verdicts.count(verdict), word) for verdict, word in _VERDICTS.items()]
            found.append((len(event.review.missing), "missing"))
            text = ", ".join(f"{number:,} {word}" for number, word in found if number)
            if found[0][0] == len(verdicts) and not event.review.missing:
                said = said._replace(tone=_GOOD)
        case "step_issued" if event.step.subtask is not None:
            text = "before the plan is complete"
            said = said._replace(title="Begun early")
        case "step_issued":
            text = event.step.worker
        case "attempt_scheduled":
            wait = (event.not_before - entry.at).total_seconds() if event.not_before is not None else 0.0
            when = f"in {wait:.1f} s" if wait >= 0.05 else ""
            why = event.feedback or (f"continues {event.continues}" if event.continues else "")
            text = ": ".join(filter(None, (when, why)))
            number = split_attempt(event.attempt)[1]
            said = said._replace(title=f"Attempt {number} scheduled")
            if number != "1" and (event.feedback or when or event.continues is None):
                said = said._replace(tone=_ATTENTION, level=_STEP)
        case "attempt_started":
            text = f"on {event.host}"
            said = said._replace(title=f"Attempt {split_attempt(event.attempt)[1]} started")
        case "attempt_returned" if event.lost and event.result.error is not None:
            text, failure = _why(event.result.error), event.result.error
            said = said._replace(title="Attempt lost", tone=_PROBLEM)
            if is_interruption(failure) or _cancelled(failure):
                text = failure.message
                said = said._replace(title="Interrupted" if is_interruption(failure) else "Stopped", tone=Tone.INFO)
        case "attempt_returned":
            text = event.result.data.summary if event.result.data is not None else _why(event.result.error)
            if not event.result.ok:
                said = said._replace(title="Failure returned", tone=_PROBLEM)
        case "step_settled" if event.by:
            text = _by(event.by, event.data.summary if event.data is not None else "")
            title, tone = ("Result supplied", _GOOD) if event.ok else ("Skipped", _ATTENTION)
            said = said._replace(title=title, tone=tone, level=_PHASE, topics=_WORK + _PEOPLE)
        case "step_settled" if not event.attempt:
            text = event.failure.message if event.failure is not None else ""
            said = said._replace(title="Blocked", tone=_PROBLEM, level=_PHASE)
        case "step_settled" if not event.ok and _cancelled(event.failure):
            text = event.failure.message if event.failure is not None else ""
            said = said._replace(title="Cancelled", tone=Tone.INFO, level=_PHASE)
        case "step_settled" if not event.ok:
            text = _why(event.failure)
            tone = Tone.INFO if is_interruption(event.failure) else _PROBLEM
            said = said._replace(title="Failed", tone=tone, level=_PHASE)
            if not event.final:
                said = said._replace(title="Will be retried", level=Level.DETAIL)
        case "attempt_parked" if any(call.kind == "effect" for call in event.open_calls):
            text = f"a person has to say whether this call was made: {_named(event.open_calls)}"
            said = said._replace(title="Waiting for confirmation", tone=_PROBLEM, topics=_WORK + _PEOPLE)
        case "attempt_parked":
            text = f"{waits_for(event.open_calls)}: {_named(event.open_calls)}"
            if all(call.answered_by_run for call in event.open_calls):
                said = said._replace(level=Level.DETAIL)
        case "model_call_began":
            text = event.model
        case "model_call_returned":
            usage = event.usage
            text = f"{event.model}: usage unknown"
            if event.failure is not None:
                text = _why(event.failure)
                said = said._replace(title="Model call failed", tone=_PROBLEM)
            elif usage is not None:
                text = f"{event.model}: {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
                text += f", {usage.cached_tokens:,} cached" if usage.cached_tokens else ""
                text += f", {usage.cache_write_tokens:,} written to cache" if usage.cache_write_tokens else ""
        case "conversation_compacted":
            text = f"tool results through turn {event.through}" if event.keep else ""
            if event.left_out:
                text += f"{', ' if text else ''}turns 1 to {event.left_out} left out"
        case "element_written":
            written = object_of(event.value)
            text = f"{event.index + 1}: {text_of(written.get('name')) or text_of(event.value)}".removesuffix(": ")
        case "tool_call_began":
            text = label(event.tool, event.args) + (f", as {event.changed_by} changed it" if event.changed_by else "")
        case "tool_call_returned" if event.blocked_args is not None:
            text = _why(event.failure)
            said = said._replace(title="Call blocked", tone=_PROBLEM)
        case "tool_call_returned":
            text = f"{event.tool}: {(event.summary or 'data') if event.ok else _why(event.failure)}"
            text += " (cached)" if event.cached is not None else ""
            if not event.ok:
                said = said._replace(title="Tool failed", tone=_PROBLEM)
        case "call_answered":
            text = event.content
            if not event.ok:
                said = said._replace(title="Call failed", tone=_PROBLEM)
        case "worker_defined":
            text = f"{event.worker.name}: {event.description}" if event.description else event.worker.name
        case "artifact_written":
            text = f"{event.path} ({event.size:,} bytes)"
        case "todos_set":
            done = sum(todo.status == "completed" for todo in event.todos)
            text = f"{done:,} of {len(event.todos):,} completed"
            now = [todo.content for todo in event.todos if todo.status == "in_progress"]
            text += f"; now: {'; '.join(now)}" if now else ""
        case "note_emitted":
            text = event.message
            if event.refused:
                said = said._replace(title="Asked again", tone=_ATTENTION, level=_STEP, topics=_MODELS)
            if event.waits_for:
                title, tone = ("Waiting", _ATTENTION) if event.waits_s is not None else ("Answers again", _GOOD)
                if event.waits_s is None and text.startswith("no longer"):
                    title = "Continues"
                text = text.removeprefix("waiting ")
                said = said._replace(title=title, tone=tone, level=_PHASE)
        case "approval_requested":
            text = label(event.approval.tool, event.approval.args)
            if event.approval.kind == "plan":
                said, text = said._replace(title="Plan approval requested"), event.approval.asked_for
            elif event.approval.kind == "effect":
                said = said._replace(title="Confirmation requested")
        case "approval_answered" if event.expired:
            text = "nobody answered in time, so it is denied"
            said = said._replace(title="Approval expired", tone=_PROBLEM, level=_PHASE)
        case "approval_answered" if event.approval_id.endswith(EFFECT):
            text = _by(event.by, event.reason)
            said = said._replace(title="Call confirmed" if event.approve else "Call was not made")
        case "approval_answered":
            text = _by(event.by, event.reason)
            if event.args is not None:
                text = f"with other arguments, {text}"
            if not event.approve or event.always:
                said = said._replace(title="Approved for the run" if event.approve else "Denied")
        case "step_requested":
            said = said._replace(title=_REQUESTED[event.what])
            text = _by(event.by, event.reason or event.summary)
            if event.what == "retry":
                text = _by(event.by, _listed(event.steps) or "all that failed")
        case "request_decided" if event.declined:
            text = f"{_REQUESTS[event.what]}: {event.declined}"
            said = said._replace(title="Request declined", tone=_PROBLEM, topics=_PEOPLE)
        case "request_decided":
            changed = " with other arguments" if event.args is not None else ""
            text = f"{_listed(event.steps)}{changed}, by {event.by}"
            if event.data is not None:
                said = said._replace(title="Result accepted")
        case "run_requested":
            text = _by(event.by, event.reason)
            if event.what == "cancel":
                said = said._replace(title="Cancellation requested", level=_PHASE)
            elif event.what == "pause":
                said = said._replace(title="Pause requested")
        case "run_changed":
            text = _by(event.by)
            if event.name is not None:
                tags = (event.tags or {}).items()
                text = _by(event.by, " ".join([event.name, *(f"{key}={value}" for key, value in tags)]))
                said = said._replace(title="Name and tags changed", level=Level.DETAIL)
        case "step_settled":
            pass  # the title is enough
    return Words(said.title, line(text), _subject(event), said.tone, said.level, said.topics)


def _subject(event: ev.AnyEvent) -> str:
    match event.type:
        case "approval_answered":
            return _caller(event.approval_id)
        case "call_answered":
            return _caller(event.call_id)
        case "step_requested" if event.what != "retry":
            return event.steps[0]
        case "step_settled":
            return event.step
        case "order_issued" | "results_judged" | "step_issued":
            return event.subject
        case "note_emitted" if event.waits_for:
            return ""  # others wait with the attempt that says so
        case _:
            return step_of(event.subject)


def _caller(call_id: str) -> str:
    """Return the step of a call: ``wo-001.0/t1/c0`` is a call of ``wo-001.0``."""
    return call_id.rpartition("/t")[0] or call_id


def _cancelled(failure: Failure | None) -> bool:
    """Whether it ended because a person cancelled the run: nothing has gone wrong."""
    return failure is not None and failure.type == "cancelled"


def _why(failure: Failure | None) -> str:
    """Format a failure with its class; "" for None."""
    return f"{failure.message} ({failure.class_.value})" if failure is not None else ""


def _by(name: str, more: str = "") -> str:
    who = f"by {name or 'somebody'}"
    return f"{who}: {more}" if more else who


def _named(calls: Iterable[OpenCall]) -> str:
    return ", ".join(label(call.tool, call.args) for call in calls if call.tool)


_LISTED = 5


def _listed(keys: tuple[str, ...]) -> str:
    more = f" and {len(keys) - _LISTED:,} more" if len(keys) > _LISTED else ""
    return f"{', '.join(keys[:_LISTED])}{more}"
