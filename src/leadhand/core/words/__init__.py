"""Words for people: a title, a line of text, a tone and a level of detail for every event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from leadhand.core import events as ev
from leadhand.core.approval import EFFECT
from leadhand.core.ids import split_attempt, step_of, step_of_call
from leadhand.core.text import label, line, listed
from leadhand.core.work_order import OpenCall

Tone = Literal["info", "good", "attention", "problem"]
"""The tone of an event. ``attention``: something waits, is retried, or was decided by a person."""
Level = Literal["phase", "step", "detail"]
"""Where an event is shown: ``phase`` events concern the run as a whole, ``step`` events concern one step and have a
line in plain output, ``detail`` events are shown in the log only."""


@dataclass(frozen=True, slots=True)
class Words:
    """An event in words. ``text`` is one line, "" if the title is enough; ``subject`` is the id of a step or an
    order, or "" for the run. ``topics`` are any of work, tools, models and people."""

    title: str
    text: str = ""
    subject: str = ""
    tone: Tone = "info"
    level: Level = "detail"
    topics: tuple[str, ...] = ()


_BY, _UNTIL = "by {who}: {reason}", "until {question.expires_at:%Y-%m-%d %H:%M:%S} UTC"
_NOT_BEFORE = "not before {not_before:%H:%M:%S} UTC"
_TOKENS = "{model}: {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
_TABLE: dict[str, tuple[str, str, str]] = {
    "run_started": ("Run started", "{definition.request}", "phase"),
    "run_claimed": ("Run taken over", "by {owner}", "phase"),
    "run_status_set slept_s": ("Process was stopped", "for {slept_s:,.0f} s, which do not count", "attention phase"),
    "run_status_set by": ("Run reopened", "by {by}", "attention phase people"),
    "run_status_set status=paused": ("Run paused", "{reason}", "attention phase"),
    "run_status_set status=waiting": ("Waiting for a person", "{reason}", "attention phase people"),
    "run_status_set": ("Run resumed", "", "phase"),
    "run_finished status=succeeded": ("Run succeeded", "", "good phase"),
    "run_finished status=partial": ("Run finished with gaps", "{failure}", "attention phase"),
    "run_finished status=cancelled": ("Run cancelled", "{failure}", "attention phase"),
    "run_finished": ("Run failed", "{failure}", "problem phase"),
    "run_requested what=cancel": ("Cancellation requested", _BY, "attention phase people"),
    "run_requested": ("{what} requested", _BY, "attention people"),
    "run_changed": ("Limits changed", "by {who}", "phase people"),
    "order_issued order.repairs": ("Repair order issued", "{more} (repairs {order.repairs})", "attention phase work"),
    "order_issued": ("Work order issued", "{more}", "phase work"),
    "results_judged": ("Results reviewed", "{more}", "phase work"),
    "step_issued step.subtask": ("Begun early", "before the plan is complete", "work"),
    "step_issued": ("Step issued", "{step.worker}", "work"),
    "step_settled by data": ("Result supplied", "by {who}: {data.summary}", "good phase work people"),
    "step_settled by": ("Skipped", "{failure.message}", "attention phase work people"),
    "step_settled failure.type=interrupted": ("Will be retried", "{failure}", "work"),
    "step_settled failure.type=cancelled": ("Cancelled", "{failure.message}", "phase work"),
    "step_settled failure final attempt": ("Failed", "{failure}", "problem phase work"),
    "step_settled failure final": ("Blocked", "{failure.message}", "problem phase work"),
    "step_settled failure": ("Will be retried", "{failure}", "problem work"),
    "step_settled": ("Completed", "", "good step work"),
    "step_requested": ("{what} requested", "by {who}: {steps}", "attention people"),
    "request_decided declined": ("Request declined", "{what}: {declined}", "problem phase people"),
    "request_decided": ("Retry accepted", "{steps} by {who}", "attention phase work people"),
    "attempt_scheduled feedback": ("Attempt {number} scheduled", "{feedback}", "attention step work"),
    "attempt_scheduled not_before": ("Attempt {number} scheduled", _NOT_BEFORE, "attention step work"),
    "attempt_scheduled continues": ("Attempt {number} scheduled", "continues {continues}", "work"),
    "attempt_scheduled number=1": ("Attempt {number} scheduled", "", "work"),
    "attempt_scheduled": ("Attempt {number} scheduled", "", "attention step work"),
    "attempt_started number=1": ("Started", "on {host}", "step work"),
    "attempt_started": ("Attempt {number} started", "on {host}", "step work"),
    "attempt_returned lost failure.type=interrupted": ("Stopped", "{failure.message}", "work"),
    "attempt_returned lost failure.type=cancelled": ("Stopped", "{failure.message}", "work"),
    "attempt_returned lost": ("Attempt lost", "{failure}", "problem work"),
    "attempt_returned failure": ("Failure returned", "{failure}", "problem work"),
    "attempt_returned": ("Result returned", "{data.summary}", "work"),
    "attempt_parked kind=effect": ("Waiting for confirmation", "did it happen? {more}", "problem phase work people"),
    "attempt_parked kind=own": ("Waiting", "{more}", "attention work"),
    "attempt_parked": ("Waiting", "{more}", "attention phase work"),
    "model_call_began": ("Model called", "{model}", "models"),
    "model_call_returned failure": ("Model call failed", "{failure}", "problem models"),
    "model_call_returned usage": ("Model answered", _TOKENS, "models"),
    "model_call_returned": ("Model answered", "{model}", "models"),
    "element_written": ("Part written", "number {index}, counted from 0", "models"),
    "conversation_compacted": ("Conversation shortened", "", "models"),
    "tool_call_began changed_by": ("Tool called", "{more}, as {changed_by} changed it", "tools"),
    "tool_call_began": ("Tool called", "{more}", "tools"),
    "tool_call_returned blocked_args": ("Tool call blocked", "{failure}", "problem tools"),
    "tool_call_returned ok cached": ("Tool answered", "{tool}: {summary} (cached)", "tools"),
    "tool_call_returned ok": ("Tool answered", "{tool}: {summary}", "tools"),
    "tool_call_returned": ("Tool failed", "{tool}: {failure}", "problem tools"),
    "call_answered ok": ("Call answered", "{content}", "work"),
    "call_answered": ("Call failed", "{content}", "problem work"),
    "worker_defined attempt": ("Worker defined", "{worker.name}: {description}", "step work"),
    "worker_defined": ("Worker recorded", "{worker.name}", "work"),
    "artifact_written": ("File written", "{path} ({size:,} bytes)", "step work"),
    "todos_set": ("Todos updated", "{more}", "step work"),
    "note_emitted waits_s": ("{message}", "", "attention phase work"),
    "note_emitted waits_for": ("Continues", "{message}", "good phase work"),
    "note_emitted refused": ("Asked again", "{message}", "attention step models"),
    "note_emitted": ("Note", "{message}", "step work"),
    "approval_requested approval.kind=plan": ("Plan approval requested", "{approval.asked_for}", "attention people"),
    "approval_requested approval.kind=effect": ("Confirmation requested", "{more}", "attention tools people"),
    "approval_requested": ("Approval requested", "{more}", "attention tools people"),
    "approval_answered expired": ("Approval expired", "it counts as denied", "problem phase people"),
    "approval_answered kind=effect approve": ("Call confirmed", _BY, "attention people"),
    "approval_answered kind=effect": ("Call was not made", _BY, "attention people"),
    "approval_answered approve": ("Approved", _BY, "attention people"),
    "approval_answered": ("Denied", _BY, "attention people"),
    "question_asked question.kind=timer": ("Sleeping", _UNTIL, "phase work"),
    "question_asked question.kind=signal": ("Waiting for a signal", "{question.text}", "phase work"),
    "question_asked": ("Question for you", "{question.text}", "attention phase people"),
    "question_answered expired": ("Time is up", "{text}", "phase work"),
    "question_answered": ("Question answered", "{text} (by {who})", "good phase people"),
    "signal_sent": ("Signal received", "{name} (by {who})", "good phase people"),
}
"""The title and the text of events as formats, and then the tone (if not info), the level (if not detail) and the
topics. The first row with the type of an event counts whose conditions hold: fields that are set, or that have a value.
Formats and conditions know the fields of the event, ``who`` asked for it, the ``number`` of its attempt, and the
``kind`` and ``more`` that :func:`_about` returns."""
_VERDICTS = {"accept": "accepted", "retry": "to retry", "replan": "to plan again", "drop": "dropped"}

_Rows = list[tuple[list[tuple[list[str], str]], Words]]


def _rows() -> dict[str, _Rows]:
    """Return the rows of the table by type, with their conditions: the path of each field, and its value ("": any)."""
    rows: dict[str, _Rows] = {}
    for key, (title, text, look) in _TABLE.items():
        type_, *conditions = key.split()
        said = look.split()
        tone: Tone = next((each for each in get_args(Tone) if each in said), "info")
        level: Level = next((each for each in get_args(Level) if each in said), "detail")
        topics = tuple(word for word in said if word not in (tone, level))
        parts = [condition.partition("=") for condition in conditions]
        wanted = [(path.split("."), value) for path, _, value in parts]
        rows.setdefault(type_, []).append((wanted, Words(title, text, "", tone, level, topics)))
    return rows


WORDS = _rows()


class _Said(dict[str, Any]):
    """What formats and conditions know of an entry; a field of the event is added when it is needed first."""

    def __init__(self, entry: ev.Entry) -> None:
        super().__init__()
        self._event = entry.event
        self["kind"], self["more"] = _about(entry.event)

    def __missing__(self, name: str) -> Any:
        if name == "number":
            return split_attempt(self._event.subject)[1]
        if name == "who":
            return self["by"] or "somebody"
        value = getattr(self._event, name)
        return listed(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else "" if value is None else value

    def has(self, path: list[str], wanted: str) -> bool:
        """Whether a field is set, or has the value that is wanted."""
        found = self[path[0]]
        for name in path[1:]:
            found = getattr(found, name, "")
        return found == wanted if wanted else found not in ("", None, False)


def words(entry: ev.Entry) -> Words:
    """Return the words for an entry. They depend on nothing else, so they are the same everywhere."""
    said = _Said(entry)
    rows = (row for wanted, row in WORDS[entry.event.type] if all(said.has(*each) for each in wanted))
    row = next(rows)
    title, text = row.title.format_map(said), line(row.text.format_map(said)).rstrip(":")
    subject = entry.event.subject
    called = step_of_call(subject) if isinstance(entry.event, ev.ApprovalAnswered | ev.CallAnswered) else ""
    subject = called or step_of(subject) or subject
    return Words(title[0].upper() + title[1:], text, subject, row.tone, row.level, row.topics)


def _about(event: ev.AnyEvent) -> tuple[str, str]:
    """Return the kind of an event, if that is not a field, and what its words have besides its fields."""
    match event:
        case ev.OrderIssued():
            number = len(event.order.subtasks)
            return "", f"{number:,} {'subtask' if number == 1 else 'subtasks'}: {event.order.goal}"
        case ev.ResultsJudged():
            made = Counter(_VERDICTS[each.verdict.value] for each in event.review.verdicts)
            made["missing"] = len(event.review.missing)
            return "", ", ".join(f"{made[each]:,} {each}" for each in sorted(+made))
        case ev.AttemptParked():
            kinds = {call.kind for call in event.open_calls}
            named = ", ".join(label(call.tool, call.args) for call in event.open_calls if call.tool)
            if "effect" in kinds:
                return "effect", named
            return "own" if kinds == {"asks"} else "", f"{waits_for(event.open_calls)}: {named}"
        case ev.ToolCallBegan():
            return "", label(event.tool, event.args)
        case ev.TodosSet():
            done = sum(todo.status == "completed" for todo in event.todos)
            now = "; ".join(todo.content for todo in event.todos if todo.status == "in_progress")
            return "", f"{done:,} of {len(event.todos):,} completed" + (f"; now: {now}" if now else "")
        case ev.ApprovalRequested():
            return "", label(event.approval.tool, event.approval.args)
        case ev.ApprovalAnswered():
            return "effect" if event.approval_id.endswith(EFFECT) else "", ""
        case _:
            return "", ""


RUN_ENDED, UNTIL_RESUMED = "the run ended first", "until the run resumes"
"""Why a step that was not settled does not go on."""
_WAITS = {
    "approval": "for approval",
    "effect": "for confirmation of a call",
    "question": "for the answer to a question",
    "asks": "for what a call asked for",
}


def waits_for(calls: Sequence[OpenCall]) -> str:
    """Return what open calls wait for, each kind once: ``for approval and for another worker``."""
    return " and ".join(dict.fromkeys(_WAITS[call.kind] for call in calls))
