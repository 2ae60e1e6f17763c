"""What a flow says of a step besides its input: how it is shown, and what code does with its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from leadhand.core.state import RunState, StepState
from leadhand.core.value import Json
from leadhand.core.work_order import Subtask
from leadhand.flows.flow import Code, Given

Checks = Callable[[RunState, StepState, Given], Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class Details:
    """None of this is part of the identity of a step, which its input alone decides.

    ``title`` is for people, ``instructions`` replace the worker's, ``judges`` names what a review is
    about. ``shows`` returns what the worker is given instead of the input, ``schema`` the JSON schema that its answer
    is asked for with, ``checks`` why an answer is not accepted, ``keeps`` the value to record of one (the value and
    what the worker was given are passed), ``proposes`` the subtasks of which the arguments are validated, and ``draft``
    whether the text of ``answer`` is shown while it is written. ``code`` carries the step out if the worker's loop says
    so. ``children`` are the details of the steps that its calls ask for.
    """

    title: str = ""
    instructions: str | None = None
    judges: str = ""
    shows: Callable[[RunState, StepState], dict[str, Any]] | None = None
    schema: dict[str, Any] | None = None
    checks: Checks | None = None
    keeps: Callable[[RunState, StepState, Given], Json] = lambda _state, _step, said: said.value
    proposes: Callable[[Json], Sequence[Subtask]] = lambda _said: ()
    draft: Callable[[Json], bool] | None = None
    code: Code | None = None
    children: Details | None = None


PLAIN = Details()
