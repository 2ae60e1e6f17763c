"""What the code of a flow works with: a worker with ``loop="code"`` is carried out by a function of its flow."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol

from leadhand.core.tool import CallState
from leadhand.core.value import Json


class Desk(Protocol):
    """The input of one step that code carries out, and the calls that it may make.

    Code is run again from its start when a run is resumed, and after a wait for approval. Calls that were finished
    before are then answered from the log, if the code makes the same ones. So let calls depend on ``brief``, and on the
    results of other calls, only.
    """

    @property
    def brief(self) -> Mapping[str, Any]:
        """The input of the step."""
        ...

    async def lines(self) -> Sequence[Mapping[str, Any]]:
        """Return what was reported before this step: ``timestamp``, ``agent`` (a role) and ``message``."""
        ...

    async def ask(self, prompt: str | Mapping[str, Any], output: Any = None) -> Any:
        """Ask the model of the worker, with its instructions, and return the text of the answer.

        With ``output``, a pydantic model or a JSON schema, return an instance of the model, or JSON that matches the
        schema. A model that answers otherwise is asked again. Raises :class:`~leadhand.ports.ModelError`.
        """
        ...

    async def call(self, tool: str, /, **args: Json) -> CallState:
        """Call a tool that the worker may use. Raises :class:`~leadhand.core.errors.ToolError` if the call fails."""
        ...

    def emit(self, message: str) -> None:
        """Report what the code is doing, as a line in the log of the run."""
        ...


Code = Callable[[Desk], Coroutine[Any, Any, Any] | Callable[[], Any]]
"""Carries out a step: returns the coroutine that returns its result, or a function for a thread that does."""
