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
    results of other calls, only. :class:`~leadhand.report.Agent` says what ``ask``, ``call`` and ``emit`` do; ``lines``
    are what was reported before the step: ``timestamp``, ``agent`` (a worker) and ``message``.
    """

    @property
    def brief(self) -> Mapping[str, Any]: ...

    async def lines(self) -> Sequence[Mapping[str, Any]]: ...

    async def ask(self, prompt: str | Mapping[str, Any], output: Any = None) -> Any: ...

    async def call(self, tool: str, /, **args: Json) -> CallState: ...

    def emit(self, message: str) -> None: ...


Code = Callable[[Desk], Coroutine[Any, Any, Any] | Callable[[], Any]]
"""Carries out a step: returns the coroutine that returns its result, or a function for a thread that does."""
