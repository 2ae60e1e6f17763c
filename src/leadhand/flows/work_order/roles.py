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
    role = state.worker(name)
    own = role.instructions if role is not None else ""
    return "\n\n".join([own, *more]) if more else None


@cache
def roles() -> tuple[Worker, ...]:
    """The built-in roles."""
    plan, review, compose = (
        Worker(name=name, instructions=instructions(name), model_role=name.value, loop="reply")
        for name in (RoleName.PLAN, RoleName.REVIEW, RoleName.COMPOSE)
    )
    return (
        plan.evolve(output=Plan, elements="subtasks", doing="Planning"),
        WORK,
        review.evolve(output=Review, doing="Reviewing"),
        compose.evolve(doing="Writing the answer"),
    )


def role(name: RoleName) -> Worker:
    """Return the built-in role with this name."""
    return next(each for each in roles() if each.name == name)
