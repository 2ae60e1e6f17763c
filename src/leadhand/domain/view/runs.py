"""What events about the run as a whole, its orders and its approvals change in a view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from leadhand.domain import events as ev
from leadhand.domain.approval import ApprovalStatus
from leadhand.domain.ids import assignment_of
from leadhand.domain.work_result import VerdictKind

from . import reading
from .attempts import add_lane
from .patches import Draft, differing, moment
from .texts import LONGEST_REQUEST, arguments, cut, line

_OPEN = frozenset({"pending", "running", "waiting", "retrying"})


# --- the run ---------------------------------------------------------------------------------------------------------


def started(draft: Draft, event: ev.RunStarted) -> None:
    definition = event.definition
    limits = definition.limits
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
    ceilings = {
        "budget_nanousd": limits.budget_nanousd,
        "max_tokens": limits.max_tokens,
        "max_requests": limits.max_requests,
    }
    draft.set("spend", ceilings)


def claimed(draft: Draft, event: ev.RunClaimed) -> None:
    draft.set("run", {"owner": event.owner})


def paused(draft: Draft, event: ev.RunPaused) -> None:
    """What is under way is stopped, though the log says so only once the run resumes."""
    _rest(draft, event.reason)
    for key in reading.under_way(draft.state):
        number = draft.last(key)
        now = draft.attempt_now(key, number) if number is not None else None
        if number is not None and now is not None and now["outcome"] == "running":
            draft.outcome(key, number, "stopped")
            draft.note(key, "until the run resumes")
            draft.touched[key] = None


def waiting(draft: Draft, event: ev.RunWaiting) -> None:
    _rest(draft, event.reason)


def resumed(draft: Draft, _event: ev.RunResumed) -> None:
    _rest(draft, "")


def reopened(draft: Draft, _event: ev.RunReopened) -> None:
    _rest(draft, "")
    draft.set("run", {"finished_at": None, "cancelled_by": None})
    _reopen_lanes(draft)
    _questions(draft, draft.shown["approvals"])


def finished(draft: Draft, event: ev.RunFinished) -> None:
    _rest(draft, line(event.failure.message) if event.failure is not None else "")
    answer = {"status": event.status, "seq": draft.seq, "at": draft.at}
    draft.part("run").update({"finished_at": draft.at, "answers": {str(event.number): answer}})
    for key, lane in draft.shown["assignments"].items():
        if lane["status"] in _OPEN:
            _withdraw(draft, key, "the run ended first")
    _questions(draft, draft.shown["approvals"])


def _rest(draft: Draft, reason: str) -> None:
    draft.set("run", {"status": draft.state.status, "reason": cut(reason)})


def cancel_requested(draft: Draft, _event: ev.CancelRequested) -> None:
    draft.set("run", {"cancelled_by": draft.state.cancel_by})


def unsupported(draft: Draft, _event: ev.GapsNoted) -> None:
    parts = [{"what": cut(what), "reason": cut(reason)} for what, reason in reading.unsupported(draft.state)]
    draft.set("run", {"unsupported": parts})


# --- orders ----------------------------------------------------------------------------------------------------------


def order_issued(draft: Draft, event: ev.WorkOrderIssued) -> None:
    order = event.order
    lanes = reading.order_facts(draft.state, order.work_order_id)
    part: dict[str, Any] = {"goal": cut(order.goal), "seq": draft.seq, "at": draft.at}
    part.update({"total": len(lanes), "completed": 0, "failed": 0, "dropped": 0})
    if order.repairs:
        part["repairs"] = order.repairs
    if event.by:
        part["by"] = event.by
    draft.part("orders")[order.work_order_id] = part
    for key, facts in lanes:
        add_lane(draft, key, facts)
        if facts.repairs is not None and draft.knows(facts.repairs):
            draft.touched[facts.repairs] = None


def judged(draft: Draft, event: ev.ResultsJudged) -> None:
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


def subtask_blocked(draft: Draft, event: ev.SubtaskBlocked) -> None:
    if draft.knows(event.subtask):
        draft.lane(event.subtask)["settled_seq"] = draft.seq
        draft.touched[event.subtask] = None


def retry_granted(draft: Draft, event: ev.RetryGranted) -> None:
    """A part of an order is repaired by another order; anything else starts again under its own id."""
    for key in _reopen_lanes(draft) if event.subtasks else ():
        shown, args = draft.shown["assignments"][key], arguments(reading.args_of(draft.state, key))
        if shown["args"] != args:
            draft.lane(key)["args"] = {**dict.fromkeys(shown["args"]), **args}


def _reopen_lanes(draft: Draft) -> list[str]:
    """Show what is open again though it was shown as settled."""
    found = [
        key
        for key, lane in draft.shown["assignments"].items()
        if lane["status"] not in _OPEN and reading.standing(draft.state, key).status == "open"
    ]
    for key in found:
        draft.note(key, "")
        draft.touched[key] = None
    return found


def todos_set(draft: Draft, _event: ev.TodosSet) -> None:
    after: dict[str, Any] = {}
    for position, todo in enumerate(reading.todos(draft.state)):
        shown = {"content": cut(todo.content), "status": todo.status, "position": position}
        after[todo.id] = {**shown, "priority": todo.priority}  # None removes what an earlier list said
    gone = dict.fromkeys(draft.shown["todos"].keys() - after.keys())
    draft.part("todos").update({**gone, **after})


def artifact_written(draft: Draft, event: ev.ArtifactWritten) -> None:
    number, latest = reading.artifact(draft.state, event.path)
    draft.part("artifacts")[event.path] = {
        "version": number,
        "bytes": latest.size,
        "digest": latest.digest,
        "media_type": latest.media_type,
        "by": latest.by,
        "at": moment(latest.at),
        "seq": draft.seq,
    }


def subtask_resolved(draft: Draft, event: ev.SubtaskResolved) -> None:
    keys = [key for key in (event.subtask, *reading.below(draft.state, event.subtask)) if draft.knows(key)]
    for key in keys:
        if key == event.subtask or draft.shown["assignments"][key]["status"] in _OPEN:
            _withdraw(draft, key, f"settled by {event.by}")
    if event.subtask in keys:
        draft.lane(event.subtask)["settled_seq"] = draft.seq
    if event.data is not None:
        _reopen_lanes(draft)
    _questions(draft, draft.shown["approvals"])


def _withdraw(draft: Draft, key: str, why: str) -> None:
    """End an assignment that nothing waits for any more."""
    number = draft.last(key)
    if number is not None and "ended_at" not in (draft.attempt_now(key, number) or {}):
        draft.outcome(key, number, "stopped")
    draft.note(key, why)
    draft.touched[key] = None


# --- approvals -------------------------------------------------------------------------------------------------------


def approval_requested(draft: Draft, event: ev.ApprovalRequested) -> None:
    asked = event.approval
    part: dict[str, Any] = {
        "kind": asked.kind,
        "assignment": assignment_of(asked.attempt),
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


def approval_answered(draft: Draft, event: ev.ApprovalAnswered) -> None:
    _questions(draft, draft.shown["approvals"] if event.always else (event.approval_id,))


def approval_closed(draft: Draft, event: ev.ApprovalExpired | ev.EffectAnswered) -> None:
    _questions(draft, (event.approval_id,))


_SHOWN = {ApprovalStatus.CONSUMED: "approved"}


def _questions(draft: Draft, approvals: Iterable[str]) -> None:
    """Show approvals as the state has them; a run that is over asks nothing."""
    opened = 0
    over = reading.is_over(draft.state)
    for approval_id in approvals:
        asked = reading.approval(draft.state, approval_id)
        if asked is None:
            continue
        shown: Any = draft.shown["approvals"].get(approval_id)
        before: Mapping[str, Any] = shown or {}
        status = _SHOWN.get(asked.status, asked.status.value)
        if status == "pending" and over:
            status = "withdrawn"
        values = {"status": status, "by": asked.by or None, "reason": cut(asked.reason) or None}
        different = differing(before, values)
        if different:
            draft.part("approvals").setdefault(approval_id, {}).update(different)
        opened += (status == "pending") - (before.get("status") == "pending")
    if opened:
        draft.part("counts")["approvals"] = draft.shown["counts"]["approvals"] + opened


RUNS: dict[type, Callable[[Draft, Any], None]] = {
    ev.RunStarted: started,
    ev.RunClaimed: claimed,
    ev.RunPaused: paused,
    ev.RunWaiting: waiting,
    ev.RunResumed: resumed,
    ev.RunReopened: reopened,
    ev.RunFinished: finished,
    ev.CancelRequested: cancel_requested,
    ev.GapsNoted: unsupported,
    ev.WorkOrderIssued: order_issued,
    ev.ResultsJudged: judged,
    ev.SubtaskBlocked: subtask_blocked,
    ev.RetryGranted: retry_granted,
    ev.TodosSet: todos_set,
    ev.ArtifactWritten: artifact_written,
    ev.SubtaskResolved: subtask_resolved,
    ev.ApprovalRequested: approval_requested,
    ev.ApprovalAnswered: approval_answered,
    ev.ApprovalExpired: approval_closed,
    ev.EffectAnswered: approval_closed,
}
