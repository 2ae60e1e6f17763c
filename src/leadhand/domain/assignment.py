"""Assignments, the only unit of work: a subtask, a piece of the lead's thinking, or what a tool asked for."""

from __future__ import annotations

from typing import Any, Literal

from .limits import Ceiling
from .value import Value
from .work_order import Subtask


class Assignment(Value):
    """One piece of work, handed to one worker.

    ``assignment_id`` is the key of a subtask (``wo-001.0``), or a name that its flow chose. ``input`` is what it works
    on, ``needs`` are the ids of assignments whose results it uses. ``parent`` is the attempt that asked for it (None:
    the flow). ``tools`` narrows what its role allows (None: all of that). ``ceiling`` bounds what it may spend beside
    its role's own limits; ``model`` and ``instructions`` replace the role's. ``subtask`` is the piece of a work order
    that it carries out, with the tool that must be called. A result that ``counts`` belongs to the answer. One that
    ``answers`` writes the answer: its text is shown as it is written, and it may use the allowance kept for that.
    """

    assignment_id: str
    role: str
    title: str = ""
    input: dict[str, Any] = {}
    needs: tuple[str, ...] = ()
    parent: str | None = None
    tools: tuple[str, ...] | None = None
    ceiling: Ceiling | None = None
    model: str | None = None
    instructions: str | None = None
    subtask: Subtask | None = None
    counts: bool = False
    answers: bool = False

    @property
    def name(self) -> str:
        """The name that people read."""
        return self.title or self.assignment_id


class OpenCall(Value):
    """A call of a parked attempt that waits: for a person's approval, another assignment, or the fate of an effect.

    ``asks``: the tool returned, and what it asks of the controller has yet to be decided.
    """

    call_id: str
    kind: Literal["approval", "child", "effect", "asks"]
    tool: str = ""
    args: dict[str, Any] = {}
