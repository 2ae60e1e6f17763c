"""A pass: one run of a flow's function from its top.

A pass is kept while a process drives the run. Results are handed over in the order of the log, one at a time, and the
function runs until it is blocked after each, so that a pass over a log asks for the same steps in the same order as the
pass that wrote it. If something that was settled is another one now, a new pass begins.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import sys
import traceback
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from inspect import iscoroutine
from itertools import islice, takewhile
from operator import itemgetter
from types import FrameType
from typing import Any, TypeVar, cast

from leadhand.core.decide import Command, IssueStep
from leadhand.core.decide.attempts import may_begin
from leadhand.core.outcome import FlowAnswer
from leadhand.core.state import RunState, StepState
from leadhand.core.value import Json, list_of, object_of
from leadhand.core.work_order import Subtask, WorkOrder, subtask_step

from .pending import Asking, Pending, Task, Waited
from .results import FlowMisuse, Result

HOW = "a flow awaits only what `run` gives; do the rest in a tool or with run.do"
_PACKAGE = __name__.rpartition(".")[0].replace(".", "/")
OURS = __file__.rpartition("/flows/")[0]
"""The directory of Leadhand's own code."""
Identity = tuple[str, str, str]
"""The kind and the name of a step, and the digest of its input."""
_T = TypeVar("_T")


class Stale(Exception):
    """What was settled is another one now, or what the pass has read of an answer."""


class Pass:
    """Runs the coroutine that ``begin`` makes of this pass. ``file`` is that of the function, to name its lines."""

    def __init__(
        self,
        state: RunState,
        begin: Callable[[Pass], Coroutine[Any, Any, Any]],
        file: str,
        loaded: Mapping[tuple[str, int], Json],
        clock: Callable[[], float],
    ) -> None:
        """``loaded`` is large data of results, by step and number of attempts; ``clock`` tells how long the function
        blocks the loop, in seconds."""
        self.state, self.file, self.loaded, self.clock = state, file, loaded, clock
        self.now = state.created_at
        self.closed = False
        self.steps: dict[str, Pending[Any]] = {}
        """What was asked for, by key."""
        self.new: list[Pending[Any]] = []
        """What is not in the log yet."""
        self.early: dict[Identity, Pending[Any]] = {}
        """What began early and was not asked for yet."""
        self.unclaimed: dict[str, None] = {}
        """Steps and orders of the log that were not asked for yet."""
        self.strays: list[tuple[str, str]] = []
        """Steps that are new although steps of the log have not been asked for, with their lines."""
        self.slow: list[str] = []
        """Lines at which the function blocked the loop, with the seconds."""
        self.concluded: dict[str, Command] = {}
        """What settles the flows inside of this one that have ended."""
        self.orders: dict[str, WorkOrder] = {}
        """The work orders that were asked for."""
        self.begins: dict[str, Subtask] = {}
        """The subtasks of the first order that can begin before it, by key."""
        self.answer: FlowAnswer | None = None
        """What the function has returned, until its end has judged it."""
        self.kept: Any = None
        """What a built-in flow keeps of the pass for doors."""
        self.unfinished: Callable[[RunState], FlowAnswer] | None = None
        """Returns the answer of a built-in flow if the run ends before its function returns."""
        self._equals: dict[Identity, dict[str, str]] = {}
        self.numbered: Counter[str] = Counter()
        """How often each key of a question, an approval or a note was used."""
        self._last: Counter[str] = Counter()
        """The number of the latest step of each name."""
        self._numbers: Counter[tuple[Identity, str]] = Counter()
        self.reading: list[Asking] = []
        """Who waits for an element of an answer that is being written."""
        self._read: dict[tuple[str, str], dict[int, Any]] = {}
        """The elements of answers that were read, by step and name."""
        self._checked: dict[tuple[str, str], tuple[int, bool]] = {}
        """The attempt that wrote them, and whether its step was settled: an attempt does not change what it wrote."""
        self._ready: list[tuple[int, str]] = []
        self._open: dict[str, Pending[Any]] = {}
        self._cursor, self._redone, self._learned = state.seq, state.redone, 0
        self._learn(state)
        self.unclaimed |= dict.fromkeys(state.orders)
        self.current = self.main = Task(begin(self))
        self._tasks, self._runnable = [self.main], deque([self.main])

    # --- what the context asks for -----------------------------------------------------------------------------------

    def identity(self, of: Identity, output: Any = None, *, early: bool = False) -> tuple[str, str]:
        """Return the key and the place of the step of the log that an ask means; a new key without one.

        Of those that this pass has not asked for, and whose values still fit the ``output`` of their worker, it is the
        one that was first asked for at this place, else the first.
        """
        equals, path = self._equals.setdefault(of, {}), self.current.path
        self._numbers[of, path] += not early
        place = f"{path}#{'early' if early else self._numbers[of, path]}"
        free = sorted((key for key in equals if key not in self.steps), key=lambda key: equals[key] != place)
        key = next((each for each in free if self._fits(each, output)), "")
        if not key:
            key = self._new_key(of[1])
            equals[key] = place
        return key, place

    def _fits(self, key: str, output: Any) -> bool:
        step = self.state.steps.get(key)
        try:
            return step is None or not step.ok or Result(step, output).ok
        except ValueError:
            return False

    def _new_key(self, name: str) -> str:
        base = "".join(each if each.isalnum() or each in "._-/" else "-" for each in name).strip("./") or "step"
        base = f"_{base}" if base.startswith("wo-") else base
        while True:
            self._last[base] += 1
            key = base if self._last[base] == 1 else f"{base}-{self._last[base]}"
            if key not in self.state.steps and key not in self.steps:
                return key

    def asked(self, of: Identity) -> Pending[Any] | None:
        """Return a step that this pass has asked for already, if there is one."""
        return next((self.steps[key] for key in self._equals.get(of, ()) if key in self.steps), None)

    def add(self, pending: Pending[_T]) -> Pending[_T]:
        """Add what was asked for, and return it. It is looked up in the log, or issued."""
        key = pending.key
        pending.line, pending.closed = self.line(), self.closed
        self.steps[key] = self._open[key] = pending
        self.unclaimed.pop(key, None)
        if key in self.state.settled:
            self._settled(key)
        elif pending.command is not None and not self.knows(key):
            self.new.append(pending)
            if self.unclaimed:
                self.strays.append((key, pending.line))
        return pending

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> Task:
        """Begin a branch of a gather."""
        if not iscoroutine(coroutine):
            raise TypeError(f"run.gather takes steps and coroutines of the flow, not {type(coroutine).__name__}")
        self.current.branches += 1
        branch = Task(coroutine, f"{self.current.path}/{self.current.branches}")
        self._tasks.append(branch)
        self._runnable.append(branch)
        return branch

    # --- driving -----------------------------------------------------------------------------------------------------

    def advance(self, state: RunState) -> None:
        """Run the function as far as the log goes. Raises Stale if what was settled is another one now."""
        if state.redone != self._redone:
            raise Stale
        self.state = state
        self._learn(state)
        for key, _ in takewhile(lambda item: item[1] > self._cursor, reversed(state.settled.items())):
            if key in self._open:
                self._settled(key)
        self._cursor = state.seq
        while True:
            while self._runnable:
                self._send(self._runnable.popleft())
            if self.main.done or not (self._deliver() or self._deliver_elements()):
                return

    def _learn(self, state: RunState) -> None:
        """Learn of steps of the log that this pass has not asked for: while another process drives the run, they are
        in the log first."""
        newest = [*islice(reversed(state.steps.items()), len(state.steps) - self._learned)]
        self._learned = len(state.steps)
        for key, each in newest[::-1]:
            if each.step.digest and key not in self.steps:
                identity = each.step.kind, each.step.key, each.step.digest
                self._equals.setdefault(identity, {})[key] = each.step.place
                self.unclaimed[key] = None

    def commands(self) -> Iterator[Command]:
        """Yield what issues the steps that are new."""
        state = self.state
        self.new = [each for each in self.new if not self.knows(each.key)]
        yield from (each.command for each in self.new if each.command is not None)
        if self.begins and not self.orders:
            yield from self._early()
        for key, command in [*self.concluded.items()]:
            if key in state.settled:
                del self.concluded[key]
            elif key in state.steps:  # it is issued first
                yield command

    def _early(self) -> Iterator[Command]:
        """Yield what issues the subtasks that may begin before their order, as many as may run at once."""
        state, most = self.state, self.state.definition.limits.batch_size
        fresh = ((key, each) for key, each in self.begins.items() if key not in state.steps and may_begin(state, each))
        for key, each in islice(fresh, None if most is None else max(0, most - len(state.busy))):
            yield IssueStep(subtask_step(key, each))

    def knows(self, key: str) -> bool:
        """Whether the log has a step, an order, a question or a note."""
        state, asked = self.state, key[1:] if key[0] == "?" else ""
        known = key in state.steps or key in state.orders or key in state.settled
        return known or asked in state.approvals or asked in state.questions

    def close(self) -> None:
        """End the pass: its coroutines are closed."""
        self.closed = True
        for pending in self.steps.values():
            pending.closed = True
        for task in self._tasks:
            # An await in a `finally` raises, since nothing can answer it any more.
            with contextlib.suppress(Exception, GeneratorExit, SystemExit):
                self._outside_the_loop(task.coroutine.close)

    def _settled(self, key: str) -> None:
        del self._open[key]
        heapq.heappush(self._ready, (self.state.settled[key], key))

    def _deliver(self) -> bool:
        """Hand over the result that comes first in the log, of those that were asked for and not handed over."""
        if not self._ready:
            return False
        _, key = heapq.heappop(self._ready)
        pending = self.steps[key]
        try:
            result = pending.read(self.state)
        except ValueError as error:  # a result that does not fit the output is asked for again by another pass
            raise Stale(key) from error
        pending.result, pending.done = result, True
        if (asked := self.state.questions.get(key[1:])) is not None and asked.answered_at is not None:
            self.now = max(self.now, asked.answered_at)
        for each in pending.results():
            self.now = max([self.now, *(settled.at for settled in each.state.settlements[-1:])])
        self._wake(pending)
        return True

    def _deliver_elements(self) -> bool:
        for (key, name), read in self._read.items():
            step = self.state.steps[key]
            if self._checked[key, name] == (of := (step.attempts, step.closed)):
                continue
            written = dict(_written(step, name))
            if any(written.get(n, each) != each or (step.ok and n not in written) for n, each in read.items()):
                raise Stale(key)
            if step.closed:
                self._checked[key, name] = of
        waiting, self.reading[:] = [*self.reading], []
        for reader in waiting:
            step = self.state.steps.get(reader.step.key)
            written = () if step is None else _written(step, reader.name)
            at = bisect_left(written, reader.index, key=itemgetter(0))
            if step is not None and at < len(written):  # unsound ones are left out while an answer is written
                reader.index, reader.value = written[at]
                self._read.setdefault((step.key, reader.name), {})[reader.index] = reader.value
                self._checked[step.key, reader.name] = step.attempts, step.closed
            elif step is not None and step.closed:
                reader.over = True
            else:
                self.reading.append(reader)
                continue
            reader.done = True
            self._wake(reader)
        return len(self.reading) < len(waiting)

    def _wake(self, done: Waited[Any]) -> None:
        watchers, done.watchers = done.watchers, []
        for watcher in watchers:
            if isinstance(watcher, Task):
                self._runnable.append(watcher)
                continue
            watcher.left -= 1
            if not watcher.left:
                watcher.done = True
                self._wake(watcher)

    def _send(self, task: Task) -> None:
        """Run a task until it waits for something of the run, or ends."""
        self.current = task
        waits: Any = None
        began = self.clock()
        try:
            waits = self._outside_the_loop(lambda: task.coroutine.send(None))
        except StopIteration as stop:
            task.done, task.value = True, stop.value
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            task.done, task.error = True, error
            if "no running event loop" in str(error) or type(error).__name__ == "AsyncLibraryNotFoundError":
                task.error = FlowMisuse(f"the flow uses asyncio{self.raised_at(error)}: {HOW}")
        if (took := self.clock() - began) > LONG_S and not self.file.startswith(OURS):
            self.slow += filter(None, [blocked(waits_at(task.coroutine, self.file), took, HOW)])
        if isinstance(waits, Waited):
            cast("Waited[Any]", waits).watchers.append(task)
            return
        if not task.done:
            what = "asyncio.sleep(0)" if waits is None else f"a {type(waits).__module__}.{type(waits).__name__}"
            task.done = True
            task.error = FlowMisuse(f"the flow awaits {what} at line {waits_at(task.coroutine, self.file)}: {HOW}")
            if isinstance(waits, asyncio.Future):
                future = cast("asyncio.Future[Any]", waits)
                future.cancel()
                future.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            task.coroutine.close()
        if isinstance(task.error, FlowMisuse) and task is not self.main:  # no gather hides it
            self.main.done, self.main.error = True, task.error
        self._wake(task)

    def _outside_the_loop(self, call: Callable[[], Any]) -> Any:
        """Call code of a flow without the loop of the thread, so that what needs a loop fails at its own line, and
        without its hooks, since a generator of the flow is not the loop's to close."""
        loop, hooks = asyncio._get_running_loop(), sys.get_asyncgen_hooks()
        asyncio._set_running_loop(None)
        sys.set_asyncgen_hooks(None, None)
        try:
            return call()
        finally:
            asyncio._set_running_loop(loop)
            sys.set_asyncgen_hooks(*hooks)

    # --- lines -------------------------------------------------------------------------------------------------------

    def line(self) -> str:
        """Return the line of the flow that is running: ``12 of my_flow.py``."""
        frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        while frame is not None and _PACKAGE in frame.f_code.co_filename:
            frame = frame.f_back
        return "" if frame is None else place(frame.f_code.co_filename, frame.f_lineno)

    def raised_at(self, error: BaseException) -> str:
        """Return the innermost line of the file of the flow at which an error was raised: `` at line 12 of flow.py``;
        "" without one."""
        lines = [each for each in traceback.extract_tb(error.__traceback__) if each.filename == self.file]
        return f" at line {place(self.file, lines[-1].lineno or 0)}" if lines else ""


def _written(step: StepState, name: str) -> Sequence[tuple[int, Any]]:
    """Return the elements of an answer with their indexes: as they were written, and once it is accepted, all."""
    if step.closed:
        return [*enumerate(list_of(object_of(step.value).get(name)))] if step.ok else ()
    return step.attempt.written if step.attempt is not None else ()


# --- lines of coroutines ---------------------------------------------------------------------------------------------


LONG_S = 1.0
"""Seconds of a coroutine between two awaits that are reported, since it blocks all runs of the process."""
_FRAMES = ("cr_frame", "gi_frame", "ag_frame")
_INNER = ("cr_await", "gi_yieldfrom", "ag_await")


def blocked(line: str, seconds: float, how: str) -> str:
    """Return what is reported of a coroutine that took these seconds between two awaits; "" if they are few, or if it
    is at no ``line`` of a user, who could do something about it."""
    return f"line {line} blocked the loop for {seconds:.1f} s: {how}" if seconds > LONG_S and line != "?" else ""


def waits_at(coroutine: Any, file: str = "", ours: str = "") -> str:
    """Return the innermost line of a file at which a coroutine waits; "?" if it waits in another file.

    Without a ``file``, it is that of the outermost frame that is not in the directory ``ours``.
    """
    line, inner = "?", coroutine
    while inner is not None:
        frame = next((found for name in _FRAMES if (found := getattr(inner, name, None)) is not None), None)
        if frame is not None:
            name = frame.f_code.co_filename
            file = file or ("" if name.startswith(ours) else name)
            if name == file:
                line = place(file, frame.f_lineno)
        inner = next((found for name in _INNER if (found := getattr(inner, name, None)) is not None), None)
    return line


def place(file: str, line: int) -> str:
    """Return how a line is named: ``12 of my_flow.py``."""
    return f"{line} of {file.rpartition('/')[2]}"
