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
from leadhand.core.moment import iso
from leadhand.core.relations import parent_of
from leadhand.core.run import ENDED, RunStatus
from leadhand.core.state import AttemptState, RunState, StepState
from leadhand.core.text import cut, label, line, shortened
from leadhand.core.words import RUN_ENDED, UNTIL_RESUMED, waits_for

from .patches import Part

OF_CALLS = frozenset({"model_call_began", "model_call_returned", "tool_call_began", "tool_call_returned"})
_UNDER_WAY = ("scheduled", "running")
_OPEN = {"call_id", "kind", "tool", "args"}


def step_values(state: RunState, key: str, shown: Part, entry: ev.Entry, at: str) -> Part:
    """Return what is to be shown of a step after an entry that touched it; ``shown`` is empty for a new step."""
    step, event = state.steps[key], entry.event
    of, number = split_attempt(event.subject)
    known: Part = shown.get("attempts", {})
    if event.type in OF_CALLS:  # nothing else changes
        return _call_values(known[number], shown, number, entry, at) if number in known else {}
    attempts, outcome = _attempts(state, step, known, entry, at, number if of == key else "")
    failure, verdict, judged = _failed(step.failure), step.verdict, step.step.judges
    status, note = _status(state, step, outcome, again=bool(failure))
    values: Part = {
        "order": step.order or (judged if judged in state.orders else None),
        "position": step.position,
        "attempts": attempts,
        "status": status,
        "note": note,
        "failure": None,
        "verdict": {"verdict": verdict.verdict.value, "reason": line(verdict.reason)} if verdict else None,
        "superseded_by": step.superseded_by,
        "by": step.by or None,
        **failure,
    }
    asked = state.approvals.get(event.approval_id) if event.type == "approval_answered" else None
    if asked is not None and asked.tool == shown.get("tool"):  # a person may have changed the arguments
        values["label"] = _label(shown["name"], asked.args)
    if event.type == "step_settled" and event.step == key and (of != key or number == next(reversed(known), "")):
        values["settled_seq"] = entry.seq
    if not shown or event.type == "request_decided":
        values |= _given(state, step, shown.get("args", {}))
    return values if shown else {"seq": entry.seq, **values}


def _given(state: RunState, step: StepState, args_shown: Part) -> Part:
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
        "args": {**dict.fromkeys(args_shown), **shortened(args)},
        "needs": list(given.needs),
        "parent": parent,
        "repairs": subtask.repairs_subtask if subtask is not None else None,
        "tries": 1 + (state.definition.limits.max_retries if retries is None else retries),
    }


def _label(name: str, args: Mapping[str, Any]) -> str:
    return label(name, {argument: value for argument, value in args.items() if value != name})  # it may be repeated


def _status(state: RunState, step: StepState, outcome: str, *, again: bool) -> tuple[str, str]:
    """Return the status of a step, and why it waits or was dropped; ``outcome`` is that of its latest attempt."""
    if step.closed or state.status in ENDED:
        return (step.status.value, "") if step.closed else ("dropped", RUN_ENDED)
    match step.attempt:
        case AttemptState(status=AttemptStatus.PARKED) as parked:
            return "waiting", waits_for(parked.open_calls)
        case AttemptState(status=AttemptStatus.RUNNING | AttemptStatus.RETURNED):
            return ("pending", UNTIL_RESUMED) if outcome == "stopped" else ("running", "")
        case _:
            return "retrying" if again else "pending", ""


def _attempts(state: RunState, step: StepState, known: Part, entry: ev.Entry, at: str, number: str) -> tuple[Part, str]:
    """Return what changes in the attempts at a step, and the outcome of the last one; ``number`` is the attempt that
    the entry is about, if any."""
    values: Part = {}
    last, now = next(reversed(known), ""), step.attempt
    if now is not None and str(now.number) not in known:
        if last and "ended_at" not in known[last]:
            values[last] = {"outcome": "stopped"}
        last = str(now.number)
        values[last] = {
            "scheduled_at": at,
            "not_before": iso(now.not_before),
            "outcome": "scheduled",
            "continues": now.continues,
            "feedback": cut(now.feedback) or None,
            "calls": {},
        }
    elif number in known:
        values[number] = _attempt(known[number], entry, at, is_last=number == last)
    outcome: str = values.get(last, {}).get("outcome") or known.get(last, {}).get("outcome", "")
    over = step.closed or state.status in ENDED
    pauses = entry.event.type == "run_status_set" and state.status is RunStatus.PAUSED
    if outcome in _UNDER_WAY and (over or (pauses and outcome == "running")):
        outcome = values.setdefault(last, {})["outcome"] = "stopped"  # the log says so only later, if at all
    for name, each in values.items():
        if each.get("outcome", "running") not in _UNDER_WAY and "ended_at" not in known.get(name, {}):
            each["ended_at"] = at
    return values, outcome


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


def _call_values(attempt: Part, shown: Part, number: str, entry: ev.Entry, at: str) -> Part:
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
    return {**values, "attempts": {number: {"calls": {seq: call}}}} if seq else values


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
