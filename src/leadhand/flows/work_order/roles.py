"""The roles of the work-order flow: lead (plans, reviews, composes) and worker."""

from __future__ import annotations

from enum import StrEnum
from functools import cache, partial

from leadhand.core.state import RunState
from leadhand.core.work_result import Review
from leadhand.core.worker import ALL_TOOLS, Worker
from leadhand.flows.flow import instructions_in
from leadhand.flows.work_order.plans import Plan


class RoleName(StrEnum):
    PLAN = "plan"
    WORK = "work"
    REVIEW = "review"
    COMPOSE = "compose"


instructions = partial(instructions_in, "leadhand.flows.work_order")
"""Return the built-in instructions with this name."""


def with_role(state: RunState, name: RoleName, more: str) -> str:
    """Return the instructions of a role as the run records them, and ``more`` after them."""
    role = state.worker(name)
    return f"{role.instructions}\n\n{more}" if role is not None else more


@cache
def roles() -> tuple[Worker, ...]:
    """The built-in roles."""
    plan, work, review, compose = (
        Worker(name=name, instructions=instructions(name), model_role=name.value, loop="reply") for name in RoleName
    )
    return (
        plan.evolve(output=Plan, elements="subtasks", doing="Planning"),
        work.evolve(tools=(ALL_TOOLS,), loop="turns", counts=True),
        review.evolve(output=Review, doing="Reviewing"),
        compose.evolve(doing="Writing the answer"),
    )
