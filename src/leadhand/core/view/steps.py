"""What is shown of one step, with its attempts and their calls.

The state keeps neither past attempts nor the times and the usage of calls: what is shown keeps them, and the entries
about them change it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leadhand.core import events as ev
from leadhand.core.errors import INTERRUPTED, Failure
from leadhand.core.ids import split_attempt
from leadhand.core.lifecycle import AttemptStatus
from leadhand.core.relations import parent_of
from leadhand.core.run import ENDED, RunStatus
from leadhand.core.state import RunState, StepState
from leadhand.core.text import cut, label, line, shortened
from leadhand.core.words import RUN_ENDED, UNTIL_RESUMED, settled_by, waits_for

from .patches import Part, instead, moment

FINAL = ("completed", "failed", "dropped")
_UNDER_WAY = ("scheduled", "running")
OF_CALLS = frozenset({"model_call_began", "model_call_returned", "tool_call_began", "tool_call_returned"})


def step_values(state: RunState, key: str, shown: Part, entry: ev.Entry, at: str) -> Part:
    """Return what is to be shown of a step after an entry that touched it; ``shown`` is empty for a new step."""
    step, event = state.steps[key], entry.event
    of, number = split_attempt(event.subject)
    known: Part = shown.get("attempts", {})
    if event.type in OF_CALLS:  # nothing else changes
        return _call_values(state, known[number], shown, number, entry, at) if number in known else {}
    last = next(reversed(known), "") if step.attempt is None else str(step.attempt.number)
    attempts = _attempts(state, step, known, entry, at, number if of == key else "", last)
    outcome: str = attempts.get(last, {}).get("outcome") or known.get(last, {}).get("outcome", "")
    again = outcome == "scheduled" and known.get(str(int(last) - 1), {}).get("outcome") in ("failed", "lost")
    verdict, judged = step.verdict, step.step.judges
    values: Part = {
        "order": step.order or (judged if judged in state.orders else None),
        "position": step.position,
        "attempts": attempts,
        "status": _status(state, step, outcome, again=again),
        "failure": None,
        "verdict": {"verdict": verdict.verdict.value, "reason": line(verdict.reason)} if verdict else None,
        "superseded_by": step.superseded_by,
        "by": step.by or None,
        **_failed(step.failure),
    }
    asked = state.approvals.get(event.approval_id) if event.type == "approval_answered" else None
    if asked is not None and shown and asked.tool == shown.get("tool"):  # a person may have changed the arguments
        values["label"] = _label(shown["name"], asked.args)
    if not step.closed or event.type == "step_settled":
        values["note"] = _note(state, step, outcome, event)
    if event.type == "step_settled" and event.step == key and (not event.attempt or number == last):
        values["settled_seq"] = entry.seq
    if not shown or event.type == "request_decided":
        values |= _given(state, step, shown.get("args"))
    return values if shown else {"seq": entry.seq, **values}


def _given(state: RunState, step: StepState, args_shown: Part | None) -> Part:
    """Return what is fixed when a step is issued. The input of the lead's own steps is left out."""
    given, subtask, parent = step.step, step.step.subtask, parent_of(step.step)
    name = given.name if subtask is None else subtask.name
    args = subtask.args if subtask is not None else given.input if given.counts or parent is not None else {}
    named = _label(name, args) if subtask is not None or parent is not None else name
    tool = subtask.tool if subtask is not None else None
    retries = next((spec.retries for spec in state.definition.tools if spec.name == tool), None)
    return {
        "name": cut(name),
        "label": named if parent is None else f"{named} (for {state.steps[parent].step.name})",
        "worker": given.worker,
        "counts": given.counts,
        "tool": tool,
        "args": instead(args_shown, shortened(args)),
        "needs": list(given.needs),
        "parent": parent,
        "repairs": subtask.repairs_subtask if subtask is not None else None,
        "tries": 1 + (state.definition.limits.max_retries if retries is None else retries),
    }


def _label(name: str, args: Mapping[str, Any]) -> str:
    return label(name, {argument: value for argument, value in args.items() if value != name})  # it may be repeated


def _status(state: RunState, step: StepState, outcome: str, *, again: bool) -> str:
    """Return the status of a step: from the state if it is settled, else from the ``outcome`` of its latest attempt."""
    if step.closed or state.status in ENDED:
        return step.status.value if step.closed else "dropped"
    match outcome:
        case "parked":
            return "waiting"
        case "running":
            return "running"
        case "scheduled":
            return "retrying" if again else "pending"
        case "ok" | "failed" | "lost" if step.attempt is not None and step.attempt.status is AttemptStatus.RETURNED:
            return "running"  # it is not judged yet
        case "ok" | "failed" | "lost" if step.failure is not None:
            return "retrying"
        case _:
            return "pending"


def _note(state: RunState, step: StepState, outcome: str, event: ev.AnyEvent) -> str:
    """Return why a step waits or was dropped, "" if there is nothing to say."""
    if step.closed:
        return settled_by(event.by) if event.type == "step_settled" and event.by else ""
    if state.status in ENDED or step.attempt is None:
        return RUN_ENDED if state.status in ENDED else ""
    if outcome == "stopped" and step.attempt.status is AttemptStatus.RUNNING:
        return UNTIL_RESUMED
    return waits_for(step.attempt.open_calls) if outcome == "parked" else ""


def _attempts(state: RunState, step: StepState, known: Part, entry: ev.Entry, at: str, number: str, last: str) -> Part:
    """Return what changes in the attempts at a step; ``number`` is the one that the entry is about, if any."""
    values: Part = {}
    if step.attempt is not None and last not in known:
        before, now = next(reversed(known), ""), step.attempt
        if before and "ended_at" not in known[before]:
            values[before] = {"outcome": "stopped"}
        values[last] = {
            "scheduled_at": at,
            "not_before": now.not_before and moment(now.not_before),
            "outcome": "scheduled",
            "continues": now.continues,
            "feedback": cut(now.feedback) or None,
            "calls": {},
        }
    if number in known:
        values[number] = _attempt(known[number], entry, at, is_last=number == last)
        values[number]["reserved_nanousd"] = _reserved(state, entry.event)
    outcome = values.get(last, {}).get("outcome") or known.get(last, {}).get("outcome")
    paused = entry.event.type == "run_status_set" and entry.event.status is RunStatus.PAUSED and outcome == "running"
    if outcome in _UNDER_WAY and (step.closed or state.status in ENDED or paused):
        values.setdefault(last, {})["outcome"] = "stopped"  # the log says so only later, if at all
    for name, each in values.items():
        if each.get("outcome", "running") not in _UNDER_WAY and "ended_at" not in known.get(name, {}):
            each["ended_at"] = at
    return values


def _reserved(state: RunState, event: ev.AnyEvent) -> int | None:
    return sum(amount.nanousd for amount in state.reserved.get(event.subject, {}).values()) or None


def _attempt(shown: Part, entry: ev.Entry, at: str, *, is_last: bool) -> Part:
    """Return what changes in an attempt. Only the last one can be judged or park; a late return is ignored."""
    event, was, ended = entry.event, shown["outcome"], "ended_at" in shown
    match event.type:
        case "attempt_started" if not ended:
            return {"outcome": "running", "started_at": at, "host": event.host}
        case "attempt_returned" if not ended or was == "stopped":  # what a pause stopped can still return
            failed = _failed(event.result.error)
            if event.lost:
                return {"outcome": "lost" if failed else "stopped", **failed}
            return {"outcome": "ok" if event.result.ok else "failed", "result_seq": entry.seq, **failed}
        case "attempt_parked" if is_last:
            calls = [shortened(call.model_dump(include=_OPEN, exclude_defaults=True)) for call in event.open_calls]
            return {"outcome": "parked", "open_calls": calls}
        case "step_settled" if is_last:
            failed = _failed(event.failure)
            kept = was == "lost" or (was == "stopped" and not failed)
            return {"outcome": "ok" if event.ok else was if kept else "failed", **failed}
        case _:
            return {}


_OPEN = {"call_id", "kind", "tool", "args"}


def _call_values(state: RunState, attempt: Part, shown: Part, number: str, entry: ev.Entry, at: str) -> Part:
    """Return what changes in a step with a call that begins, under the number of the entry, or that returns."""
    event, seq, values = entry.event, str(entry.seq), Part()
    call: Part = {}
    match event.type:
        case "model_call_began":
            call = {"id": event.call_id, "kind": "model", "name": event.model, "began_at": at}
        case "tool_call_began":
            args = shortened(event.args)
            call = {"id": event.call_id, "kind": "tool", "name": event.tool, "began_at": at}
            call |= {"effect": event.effect.value, "args": None if args == shown["args"] else args}
            if shown.get("tool") == event.tool:
                values["label"] = _label(shown["name"], event.args)  # its order has the planned arguments
        case "model_call_returned" | "tool_call_returned":
            calls: Part = attempt["calls"]
            began = (each for each in reversed(calls) if "ended_at" not in calls[each])
            seq = next((each for each in began if calls[each]["id"] == event.call_id), "")
            call = {"ended_at": at, "ok": event.failure is None, "returned_seq": entry.seq, **_used(event)}
            call |= _failed(event.failure)
        case _:
            pass
    changed = {"reserved_nanousd": _reserved(state, event), "calls": {seq: call} if seq else {}}
    return {**values, "attempts": {number: changed}}


def _used(event: ev.ModelCallReturned | ev.ToolCallReturned) -> Part:
    if event.type == "tool_call_returned":
        return {"summary": cut(event.summary or "") or None, "cached": event.cached is not None or None}
    if (usage := event.usage) is None:
        return {}
    tokens = {"tokens": usage.input_tokens + usage.output_tokens, "output_tokens": usage.output_tokens}
    return {**tokens, "cached_tokens": usage.cached_tokens or None, "nanousd": usage.nanousd}


def _failed(failure: Failure | None) -> Part:
    """Return a failure; nothing without one, or if a pause caused it."""
    if failure is None or failure.type == INTERRUPTED:
        return {}
    part: Part = {"message": line(failure.message), "type": failure.type, "class": failure.class_.value}
    return {"failure": {**part, "next_action": line(failure.next_action) or None}}


def counts_of(part: Part, event: ev.AnyEvent) -> list[tuple[tuple[str, ...], int]]:
    """Return what a step adds to those numbers of a view that an event can change, with their paths."""
    if event.type in ("tool_call_began", "tool_call_returned"):
        return []
    attempts = part.get("attempts", {}).values()
    reserved = sum(attempt.get("reserved_nanousd", 0) for attempt in attempts)
    found: list[tuple[tuple[str, ...], int]] = [(("spend", "reserved_nanousd"), reserved)]
    if event.type in OF_CALLS:
        return found
    running = sum(attempt["outcome"] == "running" for attempt in attempts)
    found.append((("counts", "attempts_running"), running))
    if part.get("counts"):
        status, is_final = part["status"], part["status"] in FINAL
        found.append((("counts", status), 1))
        if is_final and "order" in part:
            found.append((("orders", part["order"], status), 1))
        if "superseded_by" not in part:
            found.append((("counts", "current", "total"), 1))
            if is_final:
                found.append((("counts", "current", status), 1))
            if is_final and status != "completed" and part.get("failure", {}).get("type") != "needs_failed":
                found.append((("counts", "current", "retriable"), 1))  # what it blocked is repeated with it
    return found
