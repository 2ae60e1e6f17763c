"""Apply events of the run as a whole, its orders and its approvals to a view."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from leadhand.core import events as ev
from leadhand.core.approval import ApprovalStatus
from leadhand.core.ids import step_of
from leadhand.core.relations import descendants
from leadhand.core.run import ENDED, RunStatus
from leadhand.core.work_result import VerdictKind

from .attempts import issued, scheduled
from .lanes import add_lane, args_of, show_call
from .patches import Draft, differing, moment
from .texts import LONGEST_REQUEST, arguments, cut, line

_OPEN = frozenset({"pending", "running", "waiting", "retrying"})


def event_changed(draft: Draft, event: ev.AnyEvent) -> None:
    """Apply the changes of an event that are not in its steps."""
    state = draft.state
    if draft.shown["run"]["waits"]:
        _stop_waiting(draft, event)
    match event.type:
        case "step_issued":
            issued(draft, event)
        case "attempt_scheduled":
            scheduled(draft, event)
        case "run_started":
            _started(draft)
        case "run_claimed":
            draft.set("run", {"owner": event.owner})
        case "run_status" if event.slept_s:
            pass
        case "run_status" if event.by:
            _rest(draft, "")
            draft.set("run", {"finished_at": None, "cancelled_by": None})
            _reopen_lanes(draft)
            _questions(draft, draft.shown["approvals"])
        case "run_status" if event.status is RunStatus.PAUSED:
            _paused(draft, event.reason)
        case "run_status":
            _rest(draft, event.reason)
        case "run_finished":
            _finished(draft, event)
        case "run_requested" if event.what == "cancel":
            draft.set("run", {"cancelled_by": state.cancel_by})
        case "gaps_noted":
            parts = [{"what": cut(part.what), "reason": cut(part.reason)} for part in state.unsupported]
            draft.set("run", {"unsupported": parts})
        case "order_issued":
            _order_issued(draft, event)
        case "results_judged":
            _judged(draft, event)
        case "step_settled" if event.by:
            _resolved(draft, event)
        case "step_settled" if not event.attempt and draft.knows(event.step):
            draft.lane(event.step)["settled_seq"] = draft.seq
            draft.touched[event.step] = None
        case "request_decided" if not event.declined:
            _retried(draft, event)
        case "todos_set":
            _todos_set(draft)
        case "note_emitted" if event.waits_for:
            _waits(draft, event)
        case "artifact_written":
            versions = state.artifacts[event.path]
            latest = versions[-1]
            draft.part("artifacts")[event.path] = {
                "version": len(versions),
                "bytes": latest.size,
                "digest": latest.digest,
                "media_type": latest.media_type,
                "by": latest.by,
                "at": moment(latest.at),
                "seq": draft.seq,
            }
        case "approval_requested":
            _asked(draft, event)
        case "approval_answered":
            _questions(draft, draft.shown["approvals"] if event.always else (event.approval_id,))
        case _:
            pass


# --- the run ---------------------------------------------------------------------------------------------------------


def _started(draft: Draft) -> None:
    definition = draft.state.definition
    draft.set(
        "run",
        {
            "request": cut(definition.request, LONGEST_REQUEST),
            "flow": definition.flow,
            "model": definition.models.default,
            "status": draft.state.status,
            "created_at": moment(draft.state.created_at),
        },
    )
    draft.set("spend", definition.limits.model_dump(include={"budget_nanousd", "max_tokens", "max_requests"}))


def _paused(draft: Draft, reason: str) -> None:
    """Show running attempts as stopped; the log records that only when the run resumes."""
    _rest(draft, reason)
    for key in (*draft.state.live, *draft.state.unsettled):
        number = draft.last(key)
        now = draft.attempt_now(key, number) if number is not None else None
        if now is not None and now["outcome"] == "running":
            _withdraw(draft, key, "until the run resumes")


def _finished(draft: Draft, event: ev.RunFinished) -> None:
    _rest(draft, line(event.failure.message) if event.failure is not None else "")
    answer = {"status": event.status, "seq": draft.seq, "at": draft.at}
    draft.part("run").update({"finished_at": draft.at, "answers": {str(event.number): answer}})
    for key, lane in draft.shown["steps"].items():
        if lane["status"] in _OPEN:
            _withdraw(draft, key, "the run ended first")
    _questions(draft, draft.shown["approvals"])


def _rest(draft: Draft, reason: str) -> None:
    draft.set("run", {"status": draft.state.status, "reason": cut(reason)})


def _waits(draft: Draft, event: ev.NoteEmitted) -> None:
    part: dict[str, str] | None = None
    if event.waits_s is not None:
        until = moment(draft.entry.at + timedelta(seconds=event.waits_s))
        part = {"text": line(event.message), "attempt": event.attempt, "since": draft.at, "until": until}
    draft.part("run").setdefault("waits", {})[event.waits_for] = part


_STOPS = frozenset({"attempt_returned", "attempt_parked", "step_settled"})


def _stop_waiting(draft: Draft, event: ev.AnyEvent) -> None:
    """Show nothing as awaited by an attempt that ended, or by a run that rests or has another process."""
    everything = draft.state.status is not RunStatus.RUNNING or event.type == "run_claimed"
    if everything or event.type in _STOPS:
        waits = draft.shown["run"]["waits"].items()
        over = {name: None for name, wait in waits if everything or wait["attempt"] == event.subject}
        if over:
            draft.part("run").setdefault("waits", {}).update(over)


# --- orders ----------------------------------------------------------------------------------------------------------


def _order_issued(draft: Draft, event: ev.OrderIssued) -> None:
    order = event.order
    keys = order.subtask_keys()
    part: dict[str, Any] = {"goal": cut(order.goal), "seq": draft.seq, "at": draft.at}
    part.update({"total": len(keys), "completed": 0, "failed": 0, "dropped": 0})
    for key in keys:
        if draft.knows(key) and (status := draft.shown["steps"][key]["status"]) in part:
            part[status] += 1
    if order.repairs:
        part["repairs"] = order.repairs
    if event.by:
        part["by"] = event.by
    draft.part("orders")[order.work_order_id] = part
    for position, (key, subtask) in enumerate(zip(keys, order.subtasks, strict=True)):
        if draft.knows(key):
            draft.lane(key).update({"order": order.work_order_id, "position": position})
            continue
        add_lane(draft, key)
        if subtask.repairs_subtask is not None and draft.knows(subtask.repairs_subtask):
            draft.touched[subtask.repairs_subtask] = None
    if len(draft.state.orders) == 1:  # it replaces what began before it and is not part of it
        draft.touched.update(dict.fromkeys(draft.shown["steps"]))


def _judged(draft: Draft, event: ev.ResultsJudged) -> None:
    review = event.review
    verdicts = [verdict.verdict for verdict in review.verdicts]
    if event.work_order_id:
        draft.part("orders")[event.work_order_id] = {
            "review": {
                "seq": draft.seq,
                "at": draft.at,
                "complete": review.complete,
                "accepted": verdicts.count(VerdictKind.ACCEPT),
                "retry": verdicts.count(VerdictKind.RETRY) + verdicts.count(VerdictKind.REPLAN),
                "dropped": verdicts.count(VerdictKind.DROP),
                "missing": [
                    {"name": cut(part.name), **({"tool": part.tool} if part.tool else {})} for part in review.missing
                ],
            }
        }
    for verdict in review.verdicts:
        if draft.knows(verdict.subtask):
            draft.touched[verdict.subtask] = None


def _retried(draft: Draft, event: ev.RequestDecided) -> None:
    """A subtask is repaired by another order; any other step restarts under its own id."""
    for key in _reopen_lanes(draft) if event.steps else ():
        shown = draft.shown["steps"][key]
        args = arguments(args_of(draft.state.steps[key].step))
        if shown["args"] != args:
            draft.lane(key)["args"] = {**dict.fromkeys(shown["args"]), **args}


def _reopen_lanes(draft: Draft) -> list[str]:
    """Show steps that are open again and were shown as settled."""
    found = [
        key
        for key, lane in draft.shown["steps"].items()
        if lane["status"] not in _OPEN and not draft.state.steps[key].closed
    ]
    for key in found:
        draft.note(key, "")
    return found


def _resolved(draft: Draft, event: ev.StepSettled) -> None:
    keys = [key for key in (event.step, *descendants(draft.state, event.step)) if draft.knows(key)]
    for key in keys:
        if key == event.step or draft.shown["steps"][key]["status"] in _OPEN:
            _withdraw(draft, key, f"settled by {event.by}")
    if event.step in keys:
        draft.lane(event.step)["settled_seq"] = draft.seq
    if event.data is not None:
        _reopen_lanes(draft)
    _questions(draft, draft.shown["approvals"])


def _withdraw(draft: Draft, key: str, why: str) -> None:
    draft.stop_last(key)
    draft.note(key, why)


def _todos_set(draft: Draft) -> None:
    after: dict[str, Any] = {}
    for position, todo in enumerate(draft.state.todos):
        shown = {"content": cut(todo.content), "status": todo.status, "position": position}
        after[todo.id] = {**shown, "priority": todo.priority}  # None removes the value of an earlier list
    gone = dict.fromkeys(draft.shown["todos"].keys() - after.keys())
    draft.part("todos").update({**gone, **after})


# --- approvals -------------------------------------------------------------------------------------------------------


def _asked(draft: Draft, event: ev.ApprovalRequested) -> None:
    asked = event.approval
    part: dict[str, Any] = {
        "kind": asked.kind,
        "step": step_of(asked.attempt),
        "attempt": asked.attempt,
        "tool": asked.tool,
        "args": arguments(asked.args),
        "effect": asked.effect.value,
        "asked_for": asked.asked_for,
        "seq": draft.seq,
    }
    if asked.asked_at is not None:
        part["asked_at"] = moment(asked.asked_at)
    if asked.expires_at is not None:
        part["expires_at"] = moment(asked.expires_at)
    draft.part("approvals")[asked.approval_id] = part
    _questions(draft, (asked.approval_id,))


_SHOWN = {ApprovalStatus.CONSUMED: "approved"}


def _questions(draft: Draft, approvals: Iterable[str]) -> None:
    """Update the approvals from the state; a finished run has no open approvals."""
    opened = 0
    over = draft.state.status in ENDED
    for approval_id in approvals:
        asked = draft.state.approvals.get(approval_id)
        if asked is None:
            continue
        shown: Any = draft.shown["approvals"].get(approval_id)
        before: Mapping[str, Any] = shown or {}
        status = _SHOWN.get(asked.status, asked.status.value)
        if status == "pending" and over:
            status = "withdrawn"
        values = {"status": status, "by": asked.by or None, "reason": cut(asked.reason) or None}
        different = differing(before, values)
        args = arguments(asked.args)
        if args != before.get("args", args):  # a person changed them
            different["args"] = {**dict.fromkeys(before["args"]), **args}
            show_call(draft, step_of(asked.attempt), asked.tool, asked.args)
        if different:
            draft.part("approvals").setdefault(approval_id, {}).update(different)
        opened += (status == "pending") - (before.get("status") == "pending")
    if opened:
        draft.part("counts")["approvals"] = draft.shown["counts"]["approvals"] + opened
