"""The roles of the work-order flow: lead (plans, reviews, composes) and worker."""

from __future__ import annotations

from enum import StrEnum
from functools import cache, partial

from leadhand.core.run import ALL_TOOLS, Role
from leadhand.core.state import RunState
from leadhand.core.work_order import Plan
from leadhand.core.work_result import Review
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
    role = state.role(name)
    return f"{role.instructions}\n\n{more}" if role is not None else more


@cache
def roles() -> tuple[Role, ...]:
    """The built-in roles."""
    return (
        Role(
            name=RoleName.PLAN,
            doing="Planning",
            instructions=instructions("plan"),
            output=Plan,
            loop="reply",
            elements="subtasks",
        ),
        Role(name=RoleName.WORK, instructions=instructions("work"), tools=(ALL_TOOLS,), counts=True),
        Role(name=RoleName.REVIEW, doing="Reviewing", instructions=instructions("review"), output=Review, loop="reply"),
        Role(name=RoleName.COMPOSE, doing="Writing the answer", instructions=instructions("compose"), loop="reply"),
    )
