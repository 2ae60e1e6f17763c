"""The workers of the work-order flow: the lead (plans, reviews, composes) and the one that carries out subtasks."""

from __future__ import annotations

from enum import StrEnum
from functools import cache, partial

from leadhand.core.state import RunState
from leadhand.core.work_result import Review
from leadhand.core.worker import Worker
from leadhand.flows.flow import instructions_in
from leadhand.flows.seam.orders import WORK

from .plans import Plan


class RoleName(StrEnum):
    PLAN = "plan"
    WORK = "work"
    REVIEW = "review"
    COMPOSE = "compose"


instructions = partial(instructions_in, "leadhand.flows.work_order")
"""Return the built-in instructions with this name."""


def with_role(state: RunState, *parts: str) -> str | None:
    """Return instructions, or those of roles by name as the run records them, as one text; None for a single one."""
    texts = [each if (worker := state.worker(each)) is None else worker.instructions for each in parts]
    return "\n\n".join(texts) if texts[1:] else None


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
