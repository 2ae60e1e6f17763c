"""The run document: a run as scripts, the console and people read it; a projection of the log and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from .events import AttemptSettled, Entry, SubtaskBlocked, SubtaskResolved
from .evidence import needs_failed, skipped
from .ids import assignment_of, event_id
from .lifecycle import AssignmentStatus
from .limits import usd
from .run import ENDED
from .state import OrderState, RunState


def iso(moment: datetime | None) -> str | None:
    """A moment as ISO 8601 in UTC with a Z, to the millisecond."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def event_line(entry: Entry) -> dict[str, Any]:
    """An entry of the log as one object: ``seq``, ``at``, ``epoch``, ``type`` and what else the event says."""
    body: dict[str, Any] = entry.event.model_dump(mode="json", by_alias=True)
    return {"seq": entry.seq, "at": iso(entry.at), "epoch": entry.epoch, "type": body.pop("type"), **body}


def run_document(state: RunState, entries: Iterable[Entry], *, owner: str | None) -> dict[str, Any]:
    """The document of ``docs/reference/run-document.md``: what was asked, ordered, found and answered, at ``last_seq``.

    ``owner`` is the host that drives the run now, None when none does.
    """
    finished = state.finished
    states = [work_state(state, order) for order in state.orders.values()]
    definition = state.definition
    return {
        "run_id": state.run_id,
        "flow": definition.flow,
        "request": definition.request,
        "status": state.status.value,
        "owner": None if state.status in ENDED else owner,
        "answer": finished.answer if finished is not None else None,
        "sources": [source.model_dump() for source in finished.sources] if finished is not None else [],
        "gaps": [gap.model_dump(mode="json") for gap in finished.gaps] if finished is not None else [],
        "earlier_answers": [
            {"number": answer.number, "status": answer.status.value, "answer": answer.answer}
            for answer in state.answers
        ],
        "failure": finished.failure.model_dump(mode="json") if finished is not None and finished.failure else None,
        "work_orders": [work_order(order) for order in state.orders.values()],
        "work_states": states,
        "work_state": states[-1] if states else None,
        "context_store": {"events": context_events(state, entries)},
        "todos": [todo.model_dump(mode="json") for todo in state.todos],
        "artifacts": [
            {"path": path, "version": number, "digest": each.digest, "bytes": each.size, "media_type": each.media_type}
            for path, versions in state.artifacts.items()
            for number, each in enumerate(versions, start=1)
        ],
        "approvals": [approval.model_dump(mode="json") for approval in state.approvals.values()],
        "usage": {
            "requests": state.spent.requests,
            "input_tokens": state.input_tokens,
            "output_tokens": state.output_tokens,
            "cost_usd": None if state.unpriced else usd(state.spent.nanousd),
        },
        "limits": limits_document(state),
        "model": definition.models.default,
        "models": definition.models.roles,
        "forked_from": definition.forked_from.model_dump() if definition.forked_from else None,
        "offline": definition.offline,
        "detached": definition.detached,
        "created_at": iso(state.created_at),
        "finished_at": iso(state.finished_at),
        "last_seq": state.seq,
    }


def limits_document(state: RunState) -> dict[str, Any]:
    """The limits of a run, money in dollars."""
    limits = state.definition.limits.model_dump(mode="json")
    nano = limits.pop("budget_nanousd")
    return {"budget_usd": None if nano is None else usd(nano), **limits}


def work_order(order: OrderState) -> dict[str, Any]:
    """A work order in the seed's shape; what is not set is left out."""
    document = order.order.model_dump(mode="json", exclude_defaults=True)
    for subtask in document["subtasks"]:
        subtask.setdefault("args", {})
        subtask.setdefault("tool", None)
    return document


def work_state(state: RunState, order: OrderState) -> dict[str, Any]:
    """The authoritative state of one order, in the seed's shape."""
    subtasks = [state.assignments[key] for key in order.order.subtask_keys()]
    return {
        "work_order_id": order.order.work_order_id,
        "created_at": iso(order.at),
        "subtask_state": {
            str(subtask.position): {
                "name": subtask.subtask.name,
                "status": subtask.status.value,
                "event_ids": list(subtask.event_ids),
            }
            for subtask in subtasks
        },
        "completed": all(subtask.status is AssignmentStatus.COMPLETED for subtask in subtasks),
    }


def context_events(state: RunState, entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """One event for each settled attempt at a subtask, in the seed's shape: the evidence."""
    found: list[dict[str, Any]] = []
    for entry in entries:
        event = entry.event
        match event:
            case AttemptSettled() if event.counts:
                found.append(_context_event(state, entry, event))
            case SubtaskBlocked():
                found.append(_blocked_event(state, entry, event))
            case SubtaskResolved():
                found.append(_resolved_event(state, entry, event))
            case _:
                pass
    return found


def _context_event(state: RunState, entry: Entry, event: AttemptSettled) -> dict[str, Any]:
    content: dict[str, Any] = {}
    data = state.assignments[assignment_of(event.attempt)].data
    if event.ok and data is not None:
        content = data.model_dump(mode="json")
    elif event.failure is not None:
        content = {"error": event.failure.model_dump(mode="json")}
    return {
        **_frame(state, entry, assignment_of(event.attempt), ok=event.ok, content=content),
        "attempt": event.attempt,
    }


def _blocked_event(state: RunState, entry: Entry, event: SubtaskBlocked) -> dict[str, Any]:
    content = {"error": needs_failed(event.cause).model_dump(mode="json")}
    return _frame(state, entry, event.subtask, ok=False, content=content)


def _resolved_event(state: RunState, entry: Entry, event: SubtaskResolved) -> dict[str, Any]:
    """The evidence of a person: a result of theirs, or the word that a subtask is left undone."""
    if event.data is None:
        content: dict[str, Any] = {"error": skipped(event.by, event.reason).model_dump(mode="json")}
    else:
        content = event.data.model_dump(mode="json")
    frame = _frame(state, entry, event.subtask, ok=event.data is not None, content=content)
    return {**frame, "agent": "person", "by": event.by}


def _frame(state: RunState, entry: Entry, key: str, *, ok: bool, content: dict[str, Any]) -> dict[str, Any]:
    assignment = state.assignments[key]
    given, subtask = assignment.assignment, assignment.assignment.subtask
    refs = {"work_order_id": assignment.order, "subtask_index": assignment.position}
    return {
        "event_id": event_id(entry.seq),
        "timestamp": iso(entry.at),
        "task_name": given.name,
        "result": "success" if ok else "failure",
        "agent": subtask.agent if subtask is not None else given.role,
        "content": {**(subtask.args if subtask is not None else given.input), **content},
        "refs": refs if assignment.order else {"assignment": key},
    }
