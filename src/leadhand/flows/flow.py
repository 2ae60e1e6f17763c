"""What a flow is: a pure policy over the state of a run, and the briefs of its assignments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from leadhand.domain.assignment import Assignment
from leadhand.domain.commands import Command
from leadhand.domain.conversation import OutputSpec
from leadhand.domain.state import RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What an assignment's worker is told: which ``prompt`` (a Markdown file of that name), and ``facts`` as JSON.

    ``output`` is the structured answer wanted (None: plain text), ``tools`` the names of the tools that may be called.
    ``final`` calls may use the allowance that was held back for composing; ``draft`` streams the text as it is written.
    """

    prompt: str
    facts: dict[str, Any]
    output: OutputSpec | None = None
    tools: tuple[str, ...] = ()
    final: bool = False
    draft: bool = False


class Flow(Protocol):
    """A policy. Users may write their own: a name, a version, and two pure functions of the state."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int: ...

    def next(self, state: RunState) -> Sequence[Command]:
        """What shall happen next; nothing while the run only has to wait.

        Called after every batch of events, so it must not cost more than what it returns, whatever the run's size.
        """
        ...

    def brief(self, state: RunState, assignment: Assignment) -> Brief:
        """What the worker of ``assignment`` is told, made from the log alone."""
        ...
