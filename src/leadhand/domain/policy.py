"""What the domain asks of a flow: pure functions of the state. What a flow says is checked against the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from .commands import Command
from .errors import Failure
from .run import Gap
from .state import AssignmentState, RunState
from .value import Json


class Outcome(NamedTuple):
    """The outcome of a run, as its flow states it.

    ``answer`` is the text ("": the domain writes the results down as a plain list). ``uses`` are the ids of the
    assignments it rests on: only completed ones that no review rejected are counted, and the sources of the answer are
    theirs. ``gaps`` are what the answer lacks, beside failed assignments that count, which are gaps by themselves
    unless they are ``waived``.
    """

    answer: str = ""
    uses: Sequence[str] = ()
    gaps: Sequence[Gap] = ()
    waived: Sequence[str] = ()


class FlowError(Exception):
    """A method of a flow raised, or returned what it should not; ``failure`` says which, and what to do."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class ProposedCall(NamedTuple):
    """A tool call that a result proposes, to be checked against the tool's schema; ``where`` is how to name it.

    Not ``complete``: what is missing will be supplied by results that it needs.
    """

    where: str
    tool: str
    args: Mapping[str, Json]
    complete: bool = True


class Policy(Protocol):
    """A flow, as the domain and the engine use it."""

    @property
    def name(self) -> str: ...

    def next(self, state: RunState) -> Sequence[Command]:
        """Return what happens next; nothing while the run has to wait."""
        ...

    def brief(self, state: RunState, assignment: AssignmentState) -> dict[str, Any]:
        """Return what the worker of an assignment is given, as one JSON object."""
        ...

    def problems(self, state: RunState, assignment: AssignmentState, value: Json, text: str) -> list[str]:
        """Return why a result does not count, one sentence each. Raises FlowError when the flow fails at it."""
        ...

    def proposed_calls(self, state: RunState, assignment: AssignmentState, value: Json) -> Sequence[ProposedCall]:
        """Return the tool calls that a result proposes."""
        ...

    def outcome(self, state: RunState) -> Outcome:
        """Return the outcome of the run if it ends now."""
        ...
