"""The plan of a lead."""

from __future__ import annotations

from pydantic import Field

from leadhand.core.value import Value
from leadhand.core.work_order import ProposedSubtask, Unsupported


class Plan(Value):
    """A lead's answer when asked to plan. It becomes an order once it is valid.

    Instead of subtasks, it can be the ``answer`` to a request that needs no tool, or a ``question`` to the person.
    """

    goal: str = Field(default="", description="the request in one line")
    subtasks: tuple[ProposedSubtask, ...] = ()
    cannot: tuple[Unsupported, ...] = Field(default=(), description="parts of the request that no tool covers")
    more: bool = Field(default=False, description="the request needs more subtasks, which follow on the next page")
    answer: str = Field(default="", description="the answer itself, if the request needs no tool")
    question: str = Field(default="", description="what has to be known before the request can be planned")
