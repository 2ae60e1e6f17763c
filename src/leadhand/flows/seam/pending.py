"""What a flow can await: steps, several of them, and the elements of an answer while it is written.

Each yields itself to the pass that runs the flow, until it is done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from leadhand.core.commands import Command
from leadhand.core.state import RunState
from leadhand.core.value import Json
from leadhand.core.worker import Worker as Recorded

from .details import PLAIN
from .results import FlowMisuse, Result, StepFailed

if TYPE_CHECKING:
    from .worker import Worker

_T = TypeVar("_T")


class Waited:
    """Something that tasks of a pass wait for."""

    done = False

    def __init__(self) -> None:
        self.watchers: list[Task | Join] = []


class Task:
    """One coroutine of a pass: the function itself, or a branch of a gather."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], path: str = "") -> None:
        self.coroutine, self.path = coroutine, path
        self.branches = 0
        self.done = False
        self.watchers: list[Task | Join] = []
        self.value: Any = None
        self.error: BaseException | None = None

    def outcome(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


class Pending(Waited, Generic[_T]):
    """A step that was asked for. It is issued at once; awaiting it gives its result.

    ``key`` is its key in ``RunState.settled``, ``commands`` returns what issues it, ``read`` its result once it is
    settled. The keys of failures that are not gaps are added to ``waived``.
    """

    def __init__(
        self,
        waived: set[str],
        key: str,
        commands: Callable[[RunState], Sequence[Command]],
        read: Callable[[RunState], _T],
    ) -> None:
        super().__init__()
        self._waived = waived
        self.key, self.commands, self.read = key, commands, read
        self.worker: Worker | None = None
        self.recorded: Recorded | None = None
        """What the log would record of the worker today."""
        self.details = PLAIN
        self.input: Mapping[str, Json] = {}
        self.code: Callable[..., Any] | None = None
        self.optional = self.awaited = self.closed = False
        self.line = ""
        self.result: _T | None = None

    @property
    def was_awaited(self) -> bool:
        """Whether the flow waited for it, so that its failure counts."""
        return self.done or self.awaited

    def settle(self, result: _T) -> None:
        self.result, self.done = result, True

    def outcome(self) -> _T:
        """Return the result. Raises StepFailed for one that is not ok, unless the step is optional."""
        self.awaited = True
        result: Any = self.result
        if isinstance(result, Result) and not result.ok and not self.optional:
            raise StepFailed(result, self._waived)
        return cast("_T", result)

    def __await__(self) -> Generator[Any, None, _T]:
        if asyncio._get_running_loop() is not None and not self.closed:  # else the garbage collector ends its flow
            raise FlowMisuse("a step is awaited in a task of asyncio: use run.gather")
        self.awaited = True
        while not self.done:
            yield self
        return self.outcome()


class Join(Waited):
    """Waits for steps, and for coroutines of the flow, each of which is a branch."""

    def __init__(self, parts: Sequence[Pending[Any] | Task], *, return_failures: bool) -> None:
        super().__init__()
        self._parts, self._return_failures = parts, return_failures
        open_parts = [part for part in parts if not part.done]
        self.left = len(open_parts)
        for part in open_parts:
            part.watchers.append(self)

    @property
    def done(self) -> bool:
        return not self.left

    def __await__(self) -> Generator[Any, None, list[Any]]:
        while not self.done:
            yield self
        found: list[Any] = []
        failed: BaseException | None = None
        for part in self._parts:
            try:
                found.append(part.outcome())
            except StepFailed as error:
                found.append(error.result)
                failed = failed or error
            except BaseException as error:
                failed = failed if failed is not None and not isinstance(failed, StepFailed) else error
        if failed is not None and not (self._return_failures and isinstance(failed, StepFailed)):
            raise failed
        return found


class Element(Waited):
    """One element of the answer of a step, awaited while the answer is written."""

    def __init__(self, step: Pending[Result], index: int, name: str) -> None:
        super().__init__()
        self.step, self.index, self.name = step, index, name
        self.value: Any = None
        self.over = False

    def __await__(self) -> Generator[Any, None, Element]:
        while not self.done:
            yield self
        return self


class Asking:
    """The answer of a worker while it is written: ``async with run.asking(…) as reply: async for element in reply``.

    It is not an asynchronous generator, since the loop of the thread would close that.
    """

    def __init__(self, step: Pending[Result], name: str, read: Callable[[Element], None]) -> None:
        self._step, self._name, self._read, self._next = step, name, read, 0

    async def __aenter__(self) -> Asking:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def __aiter__(self) -> Asking:
        return self

    async def __anext__(self) -> Any:
        element = Element(self._step, self._next, self._name)
        self._read(element)
        await element
        if element.over:
            raise StopAsyncIteration
        self._next += 1
        return element.value

    async def result(self) -> Result:
        """Return the whole result."""
        return await self._step
