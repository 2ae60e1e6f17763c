"""Words for people: a title, a line of text, a tone and a level of detail for every event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from leadhand.core import events as ev
from leadhand.core.approval import EFFECT
from leadhand.core.errors import INTERRUPTED, Failure
from leadhand.core.ids import split_attempt, step_of, step_of_call
from leadhand.core.text import label, line, listed
from leadhand.core.value import object_of, text_of
from leadhand.core.work_order import OpenCall
from leadhand.core.work_result import VerdictKind


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


_TABLE: dict[str, tuple[str, str, str]] = {
    "run_started": ("Run started", "{e.definition.request}", "phase"),
    "run_claimed": ("Run taken over", "by {e.owner}", "phase"),
    "run_status_set running": ("Run resumed", "", "phase"),
    "run_status_set paused": ("Run paused", "{e.reason}", "attention phase"),
    "run_status_set waiting": ("Waiting for a person", "{e.reason}", "attention phase people"),
    "run_status_set reopened": ("Run reopened", "by {e.by}", "attention phase people"),
    "run_status_set slept": (
        "Process was stopped",
        "{e.slept_s:,.0f} s do not count as time of the run",
        "attention phase",
    ),
    "run_finished succeeded": ("Run succeeded", "{more}", "good phase"),
    "run_finished partial": ("Run finished with gaps", "{more}", "attention phase"),
    "run_finished cancelled": ("Run cancelled", "{more}", "attention phase"),
    "run_finished failed": ("Run failed", "{more}", "problem phase"),
    "run_requested cancel": ("Cancellation requested", "{more}", "attention phase people"),
    "run_requested pause": ("Pause requested", "{more}", "attention people"),
    "run_requested resume": ("Resume requested", "{more}", "attention people"),
    "run_changed limits": ("Limits changed", "{more}", "phase people"),
    "run_changed name": ("Name and tags changed", "{more}", "people"),
    "order_issued": ("Work order issued", "{more}", "phase work"),
    "order_issued repair": ("Repair order issued", "{more}", "attention phase work"),
    "gaps_noted": ("Not supported", "{more}", "problem phase"),
    "results_judged": ("Results reviewed", "{more}", "problem phase work"),
    "results_judged accepted": ("Results reviewed", "{more}", "good phase work"),
    "step_issued": ("Step issued", "{e.step.worker}", "work"),
    "step_issued early": ("Begun early", "before the plan is complete", "work"),
    "step_settled": ("Completed", "", "good step work"),
    "step_settled failed": ("Failed", "{more}", "problem phase work"),
    "step_settled blocked": ("Blocked", "{e.failure.message}", "problem phase work"),
    "step_settled cancelled": ("Cancelled", "{e.failure.message}", "phase work"),
    "step_settled retried": ("Will be retried", "{more}", "problem work"),
    "step_settled interrupted": ("Will be retried", "{more}", "work"),
    "step_settled supplied": ("Result supplied", "{more}", "good phase work people"),
    "step_settled skipped": ("Skipped", "{e.failure.message}", "attention phase work people"),
    "step_requested retry": ("Retry requested", "{more}", "attention people"),
    "step_requested skip": ("Skip requested", "{more}", "attention people"),
    "step_requested supply": ("Result offered", "{more}", "attention people"),
    "request_decided": ("Retry accepted", "{more}", "attention phase work people"),
    "request_decided declined": ("Request declined", "{e.what}: {e.declined}", "problem phase people"),
    "attempt_scheduled": ("Attempt {number} scheduled", "{more}", "work"),
    "attempt_scheduled again": ("Attempt {number} scheduled", "{more}", "attention step work"),
    "attempt_started": ("Attempt {number} started", "on {e.host}", "step work"),
    "attempt_returned": ("Result returned", "{e.result.data.summary}", "work"),
    "attempt_returned failed": ("Failure returned", "{more}", "problem work"),
    "attempt_returned lost": ("Attempt lost", "{more}", "problem work"),
    "attempt_returned stopped": ("Stopped", "{e.result.error.message}", "work"),
    "attempt_parked": ("Waiting", "{more}", "attention phase work"),
    "attempt_parked asks": ("Waiting", "{more}", "attention work"),
    "attempt_parked effect": (
        "Waiting for confirmation",
        "a person has to say whether this call was made: {more}",
        "problem phase work people",
    ),
    "model_call_began": ("Model called", "{e.model}", "models"),
    "model_call_returned": ("Model answered", "{e.model}: {more}", "models"),
    "model_call_returned failed": ("Model call failed", "{more}", "problem models"),
    "element_written": ("Part written", "{more}", "models"),
    "conversation_compacted": ("Conversation shortened", "{more}", "models"),
    "tool_call_began": ("Tool called", "{more}", "tools"),
    "tool_call_returned": ("Tool answered", "{e.tool}: {more}", "tools"),
    "tool_call_returned failed": ("Tool failed", "{e.tool}: {more}", "problem tools"),
    "tool_call_returned blocked": ("Tool call blocked", "{more}", "problem tools"),
    "call_answered": ("Call answered", "{e.content}", "work"),
    "call_answered failed": ("Call failed", "{e.content}", "problem work"),
    "worker_defined": ("Worker defined", "{e.worker.name}{more}", "step work"),
    "worker_defined flow": ("Worker recorded", "{e.worker.name}", "work"),
    "artifact_written": ("File written", "{e.path} ({e.size:,} bytes)", "step work"),
    "todos_set": ("Todos updated", "{more}", "step work"),
    "note_emitted": ("Note", "{e.message}", "step work"),
    "note_emitted refused": ("Asked again", "{e.message}", "attention step models"),
    "note_emitted waits": ("Waiting", "{more}", "attention phase work"),
    "note_emitted continues": ("Continues", "{e.message}", "good phase work"),
    "approval_requested call": ("Approval requested", "{more}", "attention tools people"),
    "approval_requested plan": ("Plan approval requested", "{e.approval.asked_for}", "attention tools people"),
    "approval_requested effect": ("Confirmation requested", "{more}", "attention tools people"),
    "approval_answered": ("Denied", "{more}", "attention people"),
    "approval_answered yes": ("Approved", "{more}", "attention people"),
    "approval_answered always": ("Approved for the run", "{more}", "attention people"),
    "approval_answered happened": ("Call confirmed", "{more}", "attention people"),
    "approval_answered missed": ("Call was not made", "{more}", "attention people"),
    "approval_answered expired": (
        "Approval expired",
        "nobody answered in time, so it is denied",
        "problem phase people",
    ),
    "question_asked": ("Question for you", "{e.question.text}", "attention phase people"),
    "question_asked timer": ("Sleeping", "{more}", "phase work"),
    "question_asked signal": ("Waiting for a signal", "{e.question.text}{more}", "phase work"),
    "question_answered": ("Question answered", "{e.text}{more}", "good phase people"),
    "question_answered expired": ("Time is up", "{e.text}", "phase work"),
    "signal_sent": ("Signal received", "{e.name}{more}", "good phase people"),
}
"""For each type of event and, after a space, each kind of it: the title and the text as formats, and then the tone (if
not info), the level (if not detail) and the topics. The formats get the event ``e``, the ``number`` of its attempt, and
what :func:`_about` returns as ``more``."""


def _words(title: str, text: str, look: str) -> Words:
    said = look.split()
    tone = next((each for each in Tone if each in said), Tone.INFO)
    level = next((each for each in Level if each in said), Level.DETAIL)
    return Words(title, text, "", tone, level, tuple(word for word in said if word not in (tone, level)))


WORDS = {kind: _words(*row) for kind, row in _TABLE.items()}

_CANCELLED = "cancelled"
_VERDICTS = {
    VerdictKind.ACCEPT: "accepted",
    VerdictKind.RETRY: "to retry",
    VerdictKind.REPLAN: "to plan again",
    VerdictKind.DROP: "dropped",
}


def words(entry: ev.Entry) -> Words:
    """Return the words for an entry. They depend on nothing else, so they are the same everywhere."""
    event = entry.event
    kind, more = _about(event, entry.at)
    title, text, _, tone, level, topics = WORDS[f"{event.type} {kind}" if kind else event.type]
    if "{" in title:
        title = title.format(number=split_attempt(event.subject)[1])
    return Words(title, line(text.format(e=event, more=more)), _subject(event), tone, level, topics)


def _about(event: ev.AnyEvent, at: datetime) -> tuple[str, str]:
    """Return the kind of an event ("": the usual one), and what its words have besides its fields."""
    match event.type:
        case "run_status_set":
            return "slept" if event.slept_s else "reopened" if event.by else event.status, ""
        case "run_finished":
            return event.status, _why(event.failure)
        case "run_requested":
            return event.what, _by(event, event.reason)
        case "run_changed":
            tags = "".join(f" {key}={value}" for key, value in (event.tags or {}).items())
            return ("limits", _by(event)) if event.name is None else ("name", _by(event, event.name + tags))
        case "order_issued":
            number, repairs = len(event.order.subtasks), event.order.repairs
            text = f"{number:,} {'subtask' if number == 1 else 'subtasks'}: {event.order.goal}"
            return ("repair", f"{text} (repairs {repairs})") if repairs else ("", text)
        case "gaps_noted":
            return "", "; ".join(f"{part.what}: {part.reason}" for part in event.parts)
        case "results_judged":
            verdicts = [verdict.verdict for verdict in event.review.verdicts]
            found = [(verdicts.count(verdict), word) for verdict, word in _VERDICTS.items()]
            found.append((len(event.review.missing), "missing"))
            sound = found[0][0] == len(verdicts) and not event.review.missing
            return "accepted" if sound else "", ", ".join(f"{number:,} {word}" for number, word in found if number)
        case "step_issued":
            return "" if event.step.subtask is None else "early", ""
        case "step_settled" if event.by:
            return ("skipped", "") if event.data is None else ("supplied", _by(event, event.data.summary))
        case "step_settled" if event.failure is not None and event.final:
            kind = "cancelled" if event.failure.type == _CANCELLED else "failed" if event.attempt else "blocked"
            return kind, _why(event.failure)
        case "step_settled" if event.failure is not None:
            return "interrupted" if event.failure.type == INTERRUPTED else "retried", _why(event.failure)
        case "step_requested":
            retried = listed(event.steps) or "all that failed"
            return event.what, _by(event, {"retry": retried, "skip": event.reason}.get(event.what, event.summary))
        case "request_decided":
            changed = " with other arguments" if event.args is not None else ""
            kind = "declined" if event.declined else ""
            return kind, f"{listed(event.steps)}{changed}, by {event.by}"
        case "attempt_scheduled":
            wait = (event.not_before - at).total_seconds() if event.not_before is not None else 0.0
            when = f"in {wait:.1f} s" if wait >= 0.05 else ""
            why = event.feedback or (f"continues {event.continues}" if event.continues else "")
            again = not event.attempt.endswith("/a1") and (event.feedback or when or event.continues is None)
            return "again" if again else "", ": ".join(filter(None, (when, why)))
        case "attempt_returned" if (error := event.result.error) is not None:
            kind = "stopped" if error.type in (INTERRUPTED, _CANCELLED) else "lost"
            return kind if event.lost else "failed", _why(error)
        case "attempt_parked":
            named = ", ".join(label(call.tool, call.args) for call in event.open_calls if call.tool)
            if any(call.kind == "effect" for call in event.open_calls):
                return "effect", named
            own = all(call.answered_by_run for call in event.open_calls)
            return "asks" if own else "", f"{waits_for(event.open_calls)}: {named}"
        case "model_call_returned":
            usage = event.usage
            if usage is None or event.failure is not None:
                return ("", "usage unknown") if event.failure is None else ("failed", _why(event.failure))
            text = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
            text += f", {usage.cached_tokens:,} cached" if usage.cached_tokens else ""
            return "", text + (f", {usage.cache_write_tokens:,} written to cache" if usage.cache_write_tokens else "")
        case "element_written":
            named = text_of(object_of(event.value).get("name")) or text_of(event.value)
            return "", f"{event.index + 1}: {named}".removesuffix(": ")
        case "conversation_compacted":
            shortened = f"tool results through turn {event.through}" if event.keep else ""
            left_out = f"turns 1 to {event.left_out} left out" if event.left_out else ""
            return "", ", ".join(filter(None, (shortened, left_out)))
        case "tool_call_began":
            return "", label(event.tool, event.args) + (event.changed_by and f", as {event.changed_by} changed it")
        case "tool_call_returned" if event.blocked_args is not None:
            return "blocked", _why(event.failure)
        case "tool_call_returned":
            text = (event.summary or "data") if event.ok else _why(event.failure)
            return "" if event.ok else "failed", text if event.cached is None else f"{text} (cached)"
        case "call_answered":
            return "" if event.ok else "failed", ""
        case "worker_defined":
            return "" if event.attempt else "flow", f": {event.description}" if event.description else ""
        case "todos_set":
            done = sum(todo.status == "completed" for todo in event.todos)
            now = "; ".join(todo.content for todo in event.todos if todo.status == "in_progress")
            return "", f"{done:,} of {len(event.todos):,} completed" + (f"; now: {now}" if now else "")
        case "note_emitted" if event.waits_for:
            return "continues" if event.waits_s is None else "waits", event.message.removeprefix("waiting ")
        case "note_emitted":
            return "refused" if event.refused else "", ""
        case "approval_requested":
            return event.approval.kind, label(event.approval.tool, event.approval.args)
        case "approval_answered":
            changed = "" if event.args is None else "with other arguments, "
            kind = "expired" if event.expired else "" if not event.approve else "always" if event.always else "yes"
            if event.approval_id.endswith(EFFECT) and not event.expired:
                kind = "happened" if event.approve else "missed"
            return kind, changed + _by(event, event.reason)
        case "question_asked" if event.question.kind != "person":
            until = event.question.expires_at
            return event.question.kind, f"until {until:%Y-%m-%d %H:%M:%S} UTC" if until is not None else ""
        case "question_answered" | "signal_sent":
            expired = event.type == "question_answered" and event.expired
            return "expired" if expired else "", f" (by {event.by})" if event.by else ""
        case _:
            return "", ""


def _subject(event: ev.AnyEvent) -> str:
    match event.type:
        case "approval_answered":
            return step_of_call(event.approval_id) or event.approval_id
        case "call_answered":
            return step_of_call(event.call_id)
        case "step_requested":
            return "" if event.what == "retry" else event.steps[0]
        case "step_settled":
            return event.step
        case "order_issued" | "results_judged" | "step_issued":
            return event.subject
        case "note_emitted" if event.waits_for:
            return ""  # others wait with the attempt that says so
        case _:
            return step_of(event.subject)


def _why(failure: Failure | None) -> str:
    """Format a failure with its class; "" for None."""
    return f"{failure.message} ({failure.class_.value})" if failure is not None else ""


def _by(event: ev.Request | ev.StepSettled, more: str = "") -> str:
    who = f"by {event.by or 'somebody'}"
    return f"{who}: {more}" if more else who


RUN_ENDED, UNTIL_RESUMED = "the run ended first", "until the run resumes"
"""Why a step that was not settled does not go on."""
_WAITS = {
    "approval": "for approval",
    "effect": "for confirmation of a call",
    "child": "for another worker",
    "asks": "for Leadhand to carry out a call",
}


def waits_for(calls: Sequence[OpenCall]) -> str:
    """Return what open calls wait for, each kind once: ``for approval and for another worker``."""
    return " and ".join(dict.fromkeys(_WAITS[call.kind] for call in calls))


def phase_text(doing: str, phase: Mapping[str, Any]) -> str:
    """Return what the lead is doing, in words."""
    written, begun, again = (phase.get(name) for name in ("written", "begun", "again"))
    text = doing + (f" · {written:,} {'subtask' if written == 1 else 'subtasks'} written" if written else "")
    text += f" · {begun:,} begun" if begun else ""
    return text + (f" · asked again: {again}" if again else "")
