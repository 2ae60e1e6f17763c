"""Assignments, and the attempts at them: what is handed to one worker."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from .value import Value


class Role(StrEnum):
    """What kind of work an assignment is. Flows may use further roles: a role is a name, not a type."""

    PLAN = "plan"
    WORK = "work"
    REVIEW = "review"
    COMPOSE = "compose"


class Assignment(Value):
    """A subtask, or a piece of the lead's own thinking, handed to one worker.

    ``assignment_id`` is the subtask's key, or a derived name such as ``plan``, ``review-wo-001.0``. ``covers`` are the
    keys of the subtasks it is about. ``parent`` is the attempt that asked for it (a child assignment; None: the flow).
    ``tools`` narrows what may be called (None: every tool of the run). ``options`` are small facts its brief needs.
    """

    assignment_id: str
    role: str
    covers: tuple[str, ...] = ()
    parent: str | None = None
    tools: tuple[str, ...] | None = None
    options: dict[str, Any] = {}


class OpenCall(Value):
    """A call of a parked attempt that waits for a person, a child assignment, the fate of an effect or an allowance."""

    call_id: str
    kind: Literal["approval", "child", "effect", "allowance"]
    tool: str = ""
    args: dict[str, Any] = {}
