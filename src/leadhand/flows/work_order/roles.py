"""The roles of the work-order flow: lead (plans, reviews, composes) and worker."""

from __future__ import annotations

from enum import StrEnum
from functools import cache, partial

from leadhand.core.state import RunState
from leadhand.core.work_order import Plan
from leadhand.core.work_result import Review
from leadhand.core.worker import ALL_TOOLS, Worker
from leadhand.flows.flow import instructions_in


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
    return (
        Worker(name=RoleName.PLAN, instructions=instructions("plan"), output=Plan, loop="reply", elements="subtasks"),
        Worker(name=RoleName.WORK, instructions=instructions("work"), tools=(ALL_TOOLS,), counts=True),
        Worker(name=RoleName.REVIEW, instructions=instructions("review"), output=Review, loop="reply"),
        Worker(name=RoleName.COMPOSE, instructions=instructions("compose"), loop="reply"),
    )
