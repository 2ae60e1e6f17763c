"""The workers of the work-order flow: the lead (plans, reviews, composes) and the one that carries out subtasks."""

from __future__ import annotations

from enum import StrEnum
from functools import cache, partial

from leadhand.core.state import RunState
from leadhand.core.work_result import Review
from leadhand.core.worker import Worker
from leadhand.flows.flow import instructions_in
from leadhand.flows.seam.orders import WORK
from leadhand.flows.work_order.plans import Plan


class RoleName(StrEnum):
    PLAN = "plan"
    WORK = "work"
    REVIEW = "review"
    COMPOSE = "compose"


instructions = partial(instructions_in, "leadhand.flows.work_order")
"""Return the built-in instructions with this name."""


def with_role(state: RunState, name: RoleName, *more: str) -> str | None:
    """Return the instructions of a role as the run records them, and ``more`` after them; None without any."""
    worker = state.worker(name)
    return "\n\n".join([worker.instructions if worker is not None else "", *more]) if more else None


@cache
def role(name: RoleName) -> Worker:
    """Return the built-in role with this name."""
    if name is RoleName.WORK:
        return WORK
    worker = Worker(name=name, instructions=instructions(name), model_role=name.value, loop="reply")
    if name is RoleName.PLAN:
        return worker.evolve(output=Plan, elements="subtasks", doing="Planning")
    if name is RoleName.REVIEW:
        return worker.evolve(output=Review, doing="Reviewing")
    return worker.evolve(doing="Writing the answer")


def roles() -> tuple[Worker, ...]:
    """Return the built-in roles."""
    return tuple(map(role, RoleName))
