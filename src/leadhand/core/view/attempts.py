"""Apply the steps of attempts and their calls to a view."""

from __future__ import annotations

from typing import Any

from leadhand.core import events as ev
from leadhand.core.ids import split_attempt

from .happenings import AttemptHappened, CallHappened
from .lanes import add_lane, show_call
from .patches import Draft, moment
from .texts import arguments, cut, failure_part, is_interruption, open_calls, waits_for


def issued(draft: Draft, event: ev.StepIssued) -> None:
    key = event.step.step_id
    if not draft.knows(key):
        add_lane(draft, key)
    if draft.state.steps[key].attempt is not None:
        draft.add_attempt(key, "1")
    draft.note(key, "")


def scheduled(draft: Draft, event: ev.AttemptScheduled) -> None:
    key, number = split_attempt(event.attempt)
    if not draft.knows(key):
        return
    draft.stop_last(key)
    attempt = draft.add_attempt(key, number)
    if event.not_before is not None:
        attempt["not_before"] = moment(event.not_before)
    if event.continues is not None:
        attempt["continues"] = event.continues
    if event.feedback:
        attempt["feedback"] = cut(event.feedback)
    draft.note(key, "")


def attempt_changed(draft: Draft, happened: AttemptHappened) -> None:
    """Show a happened of an attempt. Only the latest attempt can be judged or park; a late return changes nothing."""
    key, number = split_attempt(happened.attempt)
    now = draft.attempt_now(key, number)
    if now is None:
        return
    ended = "ended_at" in now
    outcome, failure = happened.outcome, failure_part(happened.failure)
    match outcome:
        case "running":
            if ended:
                return
            draft.attempt(key, number).update({"started_at": draft.at, "host": happened.host})
        case "returned" | "lost":
            if ended and now["outcome"] != "stopped":  # an attempt that a pause stopped can still return
                return
            if outcome == "returned":
                draft.attempt(key, number)["result_seq"] = draft.seq
                outcome = "ok" if happened.failure is None else "failed"
            elif is_interruption(happened.failure):
                outcome = "stopped"
        case "parked" | "ok" | "failed":
            if draft.last(key) != number:
                return
            if outcome == "parked":
                draft.attempt(key, number)["open_calls"] = open_calls(happened.open_calls)
            else:
                draft.lane(key)["settled_seq"] = draft.seq
            # Lost and stopped attempts keep their outcome; an attempt whose result was not accepted has failed.
            if outcome == "failed" and (now["outcome"] == "lost" or (now["outcome"] == "stopped" and failure is None)):
                outcome = now["outcome"]
    draft.outcome(key, number, outcome)
    if failure is not None:
        draft.attempt(key, number)["failure"] = failure
    if happened.outcome not in ("returned", "lost"):
        draft.note(key, waits_for(happened.open_calls))
    if happened.outcome != "returned" or ended:  # a returned attempt is shown as running until it is judged
        draft.touched[key] = None


def call_changed(draft: Draft, happened: CallHappened) -> None:
    """Show a call that started, or the details of a call that returned."""
    key, number = split_attempt(happened.attempt)
    now = draft.attempt_now(key, number)
    if now is None:
        return
    if not happened.returned:
        call: dict[str, Any] = {
            "id": happened.call_id,
            "kind": happened.kind,
            "name": happened.name,
            "began_at": draft.at,
        }
        if happened.effect is not None:
            call["effect"] = happened.effect.value
            args = arguments(happened.args)
            show_call(draft, key, happened.name, happened.args)
            lane = draft.shown["steps"].get(key)
            if lane is None or lane["args"] != args:
                call["args"] = args
        draft.attempt(key, number).setdefault("calls", {})[str(draft.seq)] = call
        return
    calls = reversed(now["calls"].items())
    seq = next((seq for seq, call in calls if call["id"] == happened.call_id and "ended_at" not in call), None)
    if seq is None:
        return
    usage = happened.usage
    values: dict[str, Any] = {
        "ended_at": draft.at,
        "ok": happened.failure is None,
        "returned_seq": draft.seq,
        "failure": failure_part(happened.failure),
        "summary": cut(happened.summary) or None,
        "cached": happened.cached or None,
    }
    if usage is not None:
        values["tokens"] = usage.input_tokens + usage.output_tokens
        values["output_tokens"] = usage.output_tokens
        values["cached_tokens"] = usage.cached_tokens or None
        values["nanousd"] = usage.nanousd
    found = draft.attempt(key, number).setdefault("calls", {}).setdefault(seq, {})
    found.update({name: value for name, value in values.items() if value is not None})
