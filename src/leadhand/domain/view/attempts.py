"""What events about attempts and their calls change in a view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leadhand.domain import events as ev

from . import reading
from .patches import Draft, moment
from .texts import arguments, cut, failure_part, open_calls, waits_for


def issued(draft: Draft, event: ev.AssignmentIssued) -> None:
    key = event.assignment.assignment_id
    if not draft.knows(key):
        add_lane(draft, key, reading.facts_of(draft.state, event.assignment))
    draft.add_attempt(key, "1")
    draft.note(key, "")
    draft.touched[key] = None


def add_lane(draft: Draft, key: str, facts: reading.Facts) -> None:
    """Add an assignment to the view."""
    lane = draft.lane(key)
    lane.update(
        {
            "name": cut(facts.name),
            "label": facts.label,
            "role": facts.role,
            "position": facts.position,
            "counts": facts.counts,
            "args": arguments(facts.args),
            "needs": list(facts.needs),
            "note": "",
            "tries": reading.tries(draft.state, facts),
            "seq": draft.seq,
            "attempts": {},
        }
    )
    for name, value in (
        ("order", facts.order), ("tool", facts.tool), ("parent", facts.parent), ("repairs", facts.repairs)
    ):  # fmt: skip
        if value:
            lane[name] = value
    draft.touched[key] = None


def scheduled(draft: Draft, event: ev.AttemptScheduled) -> None:
    key, number = _split(event.attempt)
    if not draft.knows(key):
        return
    before = draft.last(key)
    if before is not None and _is_open(draft, key, before):
        draft.outcome(key, before, "stopped")
    attempt = draft.add_attempt(key, number)
    if event.not_before is not None:
        attempt["not_before"] = moment(event.not_before)
    if event.continues is not None:
        attempt["continues"] = event.continues
    if event.feedback:
        attempt["feedback"] = cut(event.feedback)
    draft.note(key, "")
    draft.touched[key] = None


def started(draft: Draft, event: ev.AttemptStarted) -> None:
    key, number = _split(event.attempt)
    if not _is_open(draft, key, number):
        return
    draft.outcome(key, number, "running")
    draft.attempt(key, number).update({"started_at": draft.at, "host": event.host})
    draft.note(key, "")
    draft.touched[key] = None


def returned(draft: Draft, event: ev.AttemptReturned) -> None:
    key, number = _split(event.attempt)
    if _is_late(draft, key, number):
        return
    if "ended_at" in (draft.attempt_now(key, number) or {}):
        draft.touched[key] = None  # it runs until it is judged, as every attempt that returns
    draft.outcome(key, number, "ok" if event.result.ok else "failed")
    attempt = draft.attempt(key, number)
    attempt["result_seq"] = draft.seq
    if event.result.error is not None:
        attempt["failure"] = failure_part(event.result.error)


def lost(draft: Draft, event: ev.AttemptLost) -> None:
    key, number = _split(event.attempt)
    if _is_late(draft, key, number):
        return
    interrupted = event.failure.type == reading.INTERRUPTED
    draft.outcome(key, number, "stopped" if interrupted else "lost")
    if not interrupted:
        draft.attempt(key, number)["failure"] = failure_part(event.failure)
    draft.touched[key] = None


def settled(draft: Draft, event: ev.AttemptSettled) -> None:
    key, number = _split(event.attempt)
    now = draft.attempt_now(key, number)
    if now is None or draft.last(key) != number:
        return
    failure = event.failure
    if failure is not None and failure.type == reading.INTERRUPTED:
        failure = None
    # Lost and stopped stay what they are; a result that was found unsound did fail.
    kept = now["outcome"] == "lost" or (now["outcome"] == "stopped" and failure is None)
    draft.outcome(key, number, "ok" if event.ok else now["outcome"] if kept else "failed")
    if failure is not None:
        draft.attempt(key, number)["failure"] = failure_part(failure)
    draft.lane(key)["settled_seq"] = draft.seq
    draft.note(key, "")
    draft.touched[key] = None


def parked(draft: Draft, event: ev.AttemptParked | ev.AttemptHeld) -> None:
    key, number = _split(event.attempt)
    if draft.attempt_now(key, number) is None or draft.last(key) != number:
        return
    draft.outcome(key, number, "parked")
    draft.attempt(key, number)["open_calls"] = open_calls(event.open_calls)
    draft.note(key, waits_for(event.open_calls))
    draft.touched[key] = None


# --- calls -----------------------------------------------------------------------------------------------------------


def model_began(draft: Draft, event: ev.ModelCallBegan) -> None:
    _begin(draft, event.attempt, {"id": event.call_id, "kind": "model", "name": event.model})


def model_returned(draft: Draft, event: ev.ModelCallReturned) -> None:
    call = _open_call(draft, event.attempt, event.call_id)
    if call is None:
        return
    if event.usage is not None:
        call["tokens"] = event.usage.input_tokens + event.usage.output_tokens
    if event.failure is not None:
        call["failure"] = failure_part(event.failure)
    call.update({"ended_at": draft.at, "ok": event.failure is None, "returned_seq": draft.seq})


def tool_began(draft: Draft, event: ev.ToolCallBegan) -> None:
    call: dict[str, Any] = {"id": event.call_id, "kind": "tool", "name": event.tool, "effect": event.effect.value}
    args = arguments(event.args)
    lane = draft.shown["assignments"].get(_split(event.attempt)[0])
    if lane is None or lane["args"] != args:
        call["args"] = args
    _begin(draft, event.attempt, call)


def tool_returned(draft: Draft, event: ev.ToolCallReturned) -> None:
    call = _open_call(draft, event.attempt, event.call_id)
    if call is None:
        return
    if event.summary:
        call["summary"] = cut(event.summary)
    if event.failure is not None:
        call["failure"] = failure_part(event.failure)
    call.update({"ended_at": draft.at, "ok": event.ok, "returned_seq": draft.seq})


def _begin(draft: Draft, attempt: str, call: dict[str, Any]) -> None:
    key, number = _split(attempt)
    if draft.attempt_now(key, number) is not None:
        call["began_at"] = draft.at
        draft.attempt(key, number).setdefault("calls", {})[str(draft.seq)] = call


def _open_call(draft: Draft, attempt: str, call_id: str) -> dict[str, Any] | None:
    """The changes to the latest call of this id that has not returned, if the view has one."""
    key, number = _split(attempt)
    now = draft.attempt_now(key, number)
    for seq, call in reversed(now["calls"].items()) if now is not None else ():
        if call["id"] == call_id and "ended_at" not in call:
            return draft.attempt(key, number).setdefault("calls", {}).setdefault(seq, {})
    return None


# --- parts -----------------------------------------------------------------------------------------------------------


def _split(attempt: str) -> tuple[str, str]:
    key, _, number = attempt.rpartition("/a")
    return key, number


def _is_open(draft: Draft, key: str, number: str) -> bool:
    now = draft.attempt_now(key, number)
    return now is not None and "ended_at" not in now


def _is_late(draft: Draft, key: str, number: str) -> bool:
    """Whether an attempt is over, or not known, so that its return changes nothing. One that a pause stopped may yet
    return."""
    now = draft.attempt_now(key, number)
    return now is None or ("ended_at" in now and now["outcome"] != "stopped")


ATTEMPTS: dict[type, Callable[[Draft, Any], None]] = {
    ev.AssignmentIssued: issued,
    ev.AttemptScheduled: scheduled,
    ev.AttemptStarted: started,
    ev.AttemptReturned: returned,
    ev.AttemptLost: lost,
    ev.AttemptSettled: settled,
    ev.AttemptParked: parked,
    ev.AttemptHeld: parked,
    ev.ModelCallBegan: model_began,
    ev.ModelCallReturned: model_returned,
    ev.ToolCallBegan: tool_began,
    ev.ToolCallReturned: tool_returned,
}
