"""The workers of the work-order flow: the lead (plans, reviews, composes) and the one that carries out subtasks."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import TypeVar

from pydantic import Field, ValidationError

from leadhand.core.state import RunState
from leadhand.core.value import Json, Value, list_of, object_of, objects_of
from leadhand.core.work_order import Subtask, Unsupported
from leadhand.core.work_result import Review
from leadhand.core.worker import Worker
from leadhand.flows.flow import instructions_in
from leadhand.flows.seam.orders import WORK

_V = TypeVar("_V", bound=Value)


class RoleName(StrEnum):
    PLAN = "plan"
    WORK = "work"
    REVIEW = "review"
    COMPOSE = "compose"


class Plan(Value):
    """A lead's answer when asked to plan. It becomes an order once it is valid.

    Instead of subtasks, it can be the ``answer`` to a request that needs no tool, or a ``question`` to the person.
    """

    goal: str = Field(default="", description="the request in one line")
    subtasks: tuple[Subtask, ...] = ()
    cannot: tuple[Unsupported, ...] = Field(default=(), description="parts of the request that no tool covers")
    more: bool = Field(default=False, description="the request needs more subtasks, which follow on the next page")
    answer: str = Field(default="", description="the answer itself, if the request needs no tool")
    question: str = Field(default="", description="what has to be known before the request can be planned")


instructions = partial(instructions_in, "leadhand.flows.work_order")
"""Return the built-in instructions with this name."""


def with_role(state: RunState, *parts: str) -> str | None:
    """Return instructions, or those of roles by name as the run records them, as one text; None for a single one."""
    texts = [each if (worker := state.worker(each)) is None else worker.instructions for each in parts]
    return "\n\n".join(texts) if texts[1:] else None


def _lead(name: RoleName) -> Worker:
    return Worker(name=name, instructions=instructions(name), model_role=name.value, loop="reply")


PLANNER = _lead(RoleName.PLAN).evolve(output=Plan)
REVIEWER = _lead(RoleName.REVIEW).evolve(output=Review)
COMPOSER = _lead(RoleName.COMPOSE)
ROLES = (PLANNER, WORK, REVIEWER, COMPOSER)


# --- what a lead replies ---------------------------------------------------------------------------------------------


def parse(shape: type[_V], value: Json) -> tuple[_V | None, list[str]]:
    """Return ``value`` as ``shape``, or its problems, one sentence each."""
    try:
        return shape.model_validate(value), []
    except ValidationError as error:
        faults = [(".".join(map(str, each["loc"])) or "the answer", each["msg"]) for each in error.errors()]
        return None, [f"{where}: {what}" for where, what in faults[:8]]


def proposed(value: Json) -> list[Subtask]:
    """Return the subtasks that a plan, one element of a plan, or a review proposes."""
    said = object_of(value)
    replaced = [each["replacement"] for each in objects_of(said.get("verdicts")) if each.get("replacement")]
    every = (*list_of(said.get("subtasks")), *replaced, *list_of(said.get("missing")))
    return [Subtask.model_validate(each) for each in every]
