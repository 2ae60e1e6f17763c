"""Subtasks that begin while their plan is being written: before there is an order to which they belong.

An order that contains all of them in their places adopts them. Any other order has the next id: its subtasks take over
the results of those that make the same call, and the rest is superseded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leadhand.core import events as ev
from leadhand.core.ids import order_id, order_number, split_key
from leadhand.core.lifecycle import UNSUCCESSFUL, StepStatus
from leadhand.core.state import RunState, Settlement, StepState
from leadhand.core.work_order import Subtask, WorkOrder

from .attempts import needs_settled, reused_settled


def begun(state: RunState) -> Iterator[StepState]:
    """Return the subtasks that began before their order, and that no order has adopted or replaced."""
    for each in state.steps.values():
        if each.step.subtask is not None and not each.order and each.superseded_by is None:
            yield each


def adopts(state: RunState, subtasks: Sequence[Subtask]) -> bool:
    """Whether an order of these subtasks contains every subtask that began before it, in its place."""
    places = ((split_key(each.key)[1], each.subtask) for each in begun(state))
    return all(index < len(subtasks) and subtasks[index] == subtask for index, subtask in places)


def next_order_id(state: RunState, subtasks: Sequence[Subtask] | None = None) -> str:
    """Return the id of the next order; ``subtasks`` (None: unknown) decide whether it adopts what has begun."""
    latest = state.order
    if latest is not None:
        return order_id(order_number(latest.order.work_order_id) + 1)
    return order_id(1 if subtasks is None or adopts(state, subtasks) else 2)


def takers(state: RunState, order: WorkOrder) -> dict[str, str]:
    """Return which subtask of an order takes over the result of which one that has begun, by the key of the latter.

    They make the same call for the same output. What has failed is not taken over.
    """
    subtasks = zip(order.subtask_keys(), order.subtasks, strict=True)
    left = {key: subtask for key, subtask in subtasks if not subtask.needs}
    found: dict[str, str] = {}
    for each in begun(state):
        call = None if each.status in UNSUCCESSFUL else _call(each.subtask)
        key = next((key for key, subtask in left.items() if _call(subtask) == call), None)
        if key is not None:
            found[each.key] = key
            del left[key]
    return found


def _call(subtask: Subtask) -> tuple[object, ...]:
    return subtask.tool, subtask.worker, subtask.args, subtask.expected_output, subtask.checks


def replace_begun(state: RunState, order: WorkOrder) -> None:
    """Supersede what has begun, by an order that does not adopt it."""
    found = takers(state, order)
    for each in list(begun(state)):
        key = found.get(each.key)
        state.steps[each.key] = each._replace(superseded_by=key or order.work_order_id)
        if key is None:
            continue
        state.steps[key] = state.steps[key]._replace(reuses=each.key)
        if each.ok:
            reused_settled(state, key, ok=True)
        else:
            state.dependents[each.key] = (*state.dependents.get(each.key, ()), key)


def reused(state: RunState, entry: ev.Entry, event: ev.SubtaskReused) -> None:
    """Settle a subtask with the result that it takes over."""
    found, key = state.steps[event.begun], event.subtask
    state.reusable.pop(key, None)
    state.steps[key] = state.steps[key]._replace(
        status=StepStatus.COMPLETED,
        settlements=(*state.steps[key].settlements, Settlement(entry.seq, entry.at)),
        data=found.data,
        made=found.made,
        verdict=found.verdict,
        by=found.by,
    )
    needs_settled(state, key, ok=True)
