"""What a flow can await: steps, several of them, and the elements of an answer while it is written.

Each yields itself to the pass that runs the flow, until it is done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from leadhand.core.decide import Command
from leadhand.core.state import RunState, StepState
from leadhand.core.value import Json
from leadhand.core.work_order import Subtask
from leadhand.core.worker import Worker as Recorded
from leadhand.flows.flow import Code, Given

from .results import FlowMisuse, Result, StepFailed

if TYPE_CHECKING:
    from .function import Worker


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


_T = TypeVar("_T")


class Waited(Generic[_T]):
    """Something that tasks of a pass wait for."""

    def __init__(self) -> None:
        self.done = False
        self.watchers: list[Task | Join] = []

    def outcome(self) -> Any:
        """Return what it came to. Raises what it failed with."""

    def __await__(self) -> Generator[Any, None, _T]:
        while not self.done:
            yield self
        return self.outcome()


class Task(Waited[Any]):
    """One coroutine of a pass: the function itself, or a branch of a gather."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], path: str = "") -> None:
        super().__init__()
        self.coroutine, self.path = coroutine, path
        self.branches = 0
        self.value: Any = None
        self.error: BaseException | None = None

    def outcome(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


class Pending(Waited[_T]):
    """A step that was asked for. It is issued at once; awaiting it gives its result.

    ``key`` is its key in ``RunState.settled``, ``command`` issues it, ``read`` returns its result once it is settled.
    """

    def __init__(self, key: str, command: Command | None, read: Callable[[RunState], _T]) -> None:
        super().__init__()
        self.key, self.command, self.read = key, command, read
        self.worker: Worker | None = None
        self.recorded: Recorded | None = None
        """What the log would record of the worker today."""
        self.details = PLAIN
        self.optional = self.awaited = self.closed = False
        self.line = ""
        self.result: _T | None = None

    def outcome(self) -> _T:
        """Return the result. Raises StepFailed for one that is not ok, unless the step is optional."""
        self.awaited = True
        result: Any = self.result
        if isinstance(result, Result) and not result.ok and not self.optional:
            raise StepFailed(result, partial(setattr, self, "optional", True))
        return cast("_T", result)

    def results(self) -> Sequence[Result]:
        """Return the results that it came to: several of an order."""
        result: Any = self.result
        every = cast("list[Any]", result) if isinstance(result, list) else [result]
        return [each for each in every if isinstance(each, Result)]

    def __await__(self) -> Generator[Any, None, _T]:
        if asyncio._get_running_loop() is not None and not self.closed:  # else the garbage collector ends its flow
            raise FlowMisuse("a step is awaited in a task of asyncio: use run.gather")
        self.awaited = True
        return super().__await__()


class Join(Waited[list[Any]]):
    """Waits for steps, and for coroutines of the flow, each of which is a branch."""

    def __init__(self, parts: Sequence[Pending[Any] | Task], *, return_failures: bool) -> None:
        super().__init__()
        self._parts, self._return_failures = parts, return_failures
        open_parts = [part for part in parts if not part.done]
        self.left = len(open_parts)
        self.done = not self.left
        for part in open_parts:
            part.watchers.append(self)

    def outcome(self) -> list[Any]:
        found: list[Any] = []
        failed: list[BaseException] = []
        for part in self._parts:
            try:
                found.append(part.outcome())
            except BaseException as error:
                found.append(error.result if isinstance(error, StepFailed) else None)
                failed.append(error)
        failed.sort(key=lambda error: isinstance(error, StepFailed))  # another error comes first
        if failed and not (self._return_failures and isinstance(failed[0], StepFailed)):
            raise failed[0]
        return found


class Asking(Waited[None]):
    """The answer of a worker while it is written: ``async with run.asking(…) as reply: async for element in reply``.

    It is not an asynchronous generator, since the loop of the thread would close that. ``index`` is that of the element
    that was read last.
    """

    def __init__(self, step: Pending[Result], name: str, reading: list[Asking]) -> None:
        """It adds itself to those of the pass that are ``reading`` an element."""
        super().__init__()
        self.step, self.name, self._reading = step, name, reading
        self.index = -1
        self.value: Any = None
        self.over = False

    async def __aenter__(self) -> Asking:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def __aiter__(self) -> Asking:
        return self

    async def __anext__(self) -> Any:
        self.index += 1
        self.done = False
        self._reading.append(self)
        await self
        if self.over:
            raise StopAsyncIteration
        return self.value

    async def result(self) -> Result:
        """Return the whole result."""
        return await self.step
