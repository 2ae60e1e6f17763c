"""Work orders as a flow asks for them: known again by their content, and checked before they are issued."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leadhand.core.state import RunState
from leadhand.core.value import object_of, text_of
from leadhand.core.work_order import ProposedSubtask, WorkOrder
from leadhand.flows.work_order.order_checks import order_problems
from leadhand.flows.work_order.plans import issue

from .identity import encoded, is_same


def asked_order(
    state: RunState,
    goal: str,
    subtasks: Sequence[Mapping[str, Any] | ProposedSubtask],
    repairs: str | None,
    asked: Mapping[str, WorkOrder],
    fresh: str,
) -> WorkOrder:
    """Return the order of the log that an ask means, or a new one with the id ``fresh``.

    ``asked`` are the orders that the pass has asked for. Raises ValueError for an order that cannot be carried out.
    """
    written = [object_of(encoded(each, "subtasks").logged) for each in subtasks]
    replaced = [text_of(each.get("repairs_subtask")) for each in written]
    proposed = [
        ProposedSubtask.model_validate({name: value for name, value in each.items() if name != "repairs_subtask"})
        for each in written
    ]

    def issued(key: str) -> WorkOrder:
        order = issue(proposed, key, goal, repairs, workers=state.definition.declared)
        if not any(replaced):
            return order
        both = zip(order.subtasks, replaced, strict=True)
        return order.evolve(subtasks=tuple(each.evolve(repairs_subtask=of or None) for each, of in both))

    logged = ((key, each.order.model_dump(mode="json")) for key, each in state.orders.items() if key not in asked)
    known = (key for key, written in logged if is_same(written, issued(key).model_dump(mode="json")))
    order = issued(next(known, fresh))
    earlier = {key for each in asked.values() for key in each.subtask_keys()}
    problems = order_problems(order, state.tools, earlier, state.definition.declared)
    if len(asked) >= (most := state.definition.limits.max_steps):
        problems.append(f"the run is limited to {most} orders")
    if problems:
        raise ValueError("; ".join(problems))
    return order
