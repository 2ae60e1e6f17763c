"""Read the work orders, the evidence and the usage of a run's state: the only code that knows the state's maps."""

from __future__ import annotations

from collections.abc import Iterable

from leadhand.domain.errors import Failure
from leadhand.domain.events import AttemptSettled, Entry, SubtaskBlocked, SubtaskResolved
from leadhand.domain.evidence import given_up, left_undone
from leadhand.domain.ids import assignment_of, event_id
from leadhand.domain.lifecycle import SubtaskStatus
from leadhand.domain.limits import usd
from leadhand.domain.state import OrderState, RunState
from leadhand.domain.work_result import ResultData

from .shapes import (
    ContextEvent,
    EventRefs,
    IssuedOrder,
    OrderedSubtask,
    ResultCheck,
    RunUsage,
    SubtaskProgress,
    WorkState,
)


def work_order(order: OrderState) -> IssuedOrder:
    """A work order as it was issued."""
    issued = order.order
    return IssuedOrder(
        work_order_id=issued.work_order_id,
        goal=issued.goal,
        subtasks=tuple(
            OrderedSubtask(
                name=subtask.name,
                args=subtask.args,
                tool=subtask.tool,
                needs=subtask.needs,
                expected_output=subtask.expected_output,
                checks=tuple(ResultCheck(**dict(check)) for check in subtask.checks),
                worker=subtask.worker,
                repairs_subtask=subtask.repairs_subtask,
            )
            for subtask in issued.subtasks
        ),
        repairs=issued.repairs,
    )


def work_state(state: RunState, order: OrderState) -> WorkState:
    """The state of one work order."""
    subtasks = [state.subtasks[key] for key in order.order.subtask_keys()]
    return WorkState(
        work_order_id=order.order.work_order_id,
        created_at=order.at,
        subtask_state={
            str(each.position): SubtaskProgress(name=each.subtask.name, status=each.status, event_ids=each.event_ids)
            for each in subtasks
        },
        completed=all(each.status is SubtaskStatus.COMPLETED for each in subtasks),
    )


def usage(state: RunState) -> RunUsage:
    """What the model calls of a run used so far."""
    return RunUsage(
        requests=state.spent.requests,
        input_tokens=state.input_tokens,
        output_tokens=state.output_tokens,
        cost_usd=None if state.unpriced else usd(state.spent.nanousd),
    )


def context_events(state: RunState, entries: Iterable[Entry]) -> tuple[ContextEvent, ...]:
    """The evidence: one event for each settled attempt at a subtask, each blocked one, each that a person settled."""
    return tuple(found for entry in entries if (found := _context_event(state, entry)) is not None)


def _context_event(state: RunState, entry: Entry) -> ContextEvent | None:
    event = entry.event
    match event:
        case AttemptSettled() if assignment_of(event.attempt) in state.subtasks:
            key = assignment_of(event.attempt)
            outcome = state.subtasks[key].data if event.ok else event.failure
            return _made(state, entry, key, ok=event.ok, outcome=outcome, attempt=event.attempt)
        case SubtaskBlocked():
            return _made(state, entry, event.subtask, ok=False, outcome=given_up(event.cause))
        case SubtaskResolved():
            outcome = left_undone(event.by, event.reason) if event.data is None else event.data
            return _made(state, entry, event.subtask, ok=event.data is not None, outcome=outcome, by=event.by)
        case _:
            return None


def _made(
    state: RunState,
    entry: Entry,
    key: str,
    *,
    ok: bool,
    outcome: ResultData | Failure | None,
    attempt: str | None = None,
    by: str | None = None,
) -> ContextEvent:
    subtask = state.subtasks[key]
    content = {} if outcome is None else outcome.model_dump(mode="json")
    return ContextEvent(
        event_id=event_id(entry.seq),
        timestamp=entry.at,
        task_name=subtask.subtask.name,
        result="success" if ok else "failure",
        agent=subtask.subtask.agent if by is None else "person",
        content={**subtask.subtask.args, **({"error": content} if isinstance(outcome, Failure) else content)},
        refs=EventRefs(work_order_id=subtask.order, subtask_index=subtask.position),
        attempt=attempt,
        by=by,
    )
