"""What a flow can do: the object that its function receives."""

from __future__ import annotations

import copy
import inspect
import random
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from leadhand.core import decide as do
from leadhand.core.errors import FlowError
from leadhand.core.ids import attempt_id
from leadhand.core.outcome import FlowAnswer
from leadhand.core.run import Follows
from leadhand.core.state import RunState
from leadhand.core.value import Json, shown
from leadhand.core.work_order import Step, Subtask
from leadhand.core.work_result import Judgement, ResultData, Review
from leadhand.core.worker import ALL_TOOLS, with_more
from leadhand.core.worker import Worker as Recorded
from leadhand.flows.flow import Desk, Fits, Given

from .function import FunctionFlow, Worker, fingerprinted, name_in
from .orders import WORK, asked_order
from .outcomes import answer_of
from .passes import Pass
from .pending import PLAIN, Asking, Details, Join, Pending, Waited
from .results import FlowMisuse, Result, StepFailed, digested, encoded, sha
from .waits import Waits

if TYPE_CHECKING:
    from leadhand.verify.judge import Verifier

_T = TypeVar("_T")


class Ending(Protocol):
    """The module with the steps that end a run."""

    async def close(self, run: FlowContext, answer: FlowAnswer, /) -> FlowAnswer: ...

    async def judge(self, run: FlowContext, text: Result | str, uses: Sequence[Result] | None, /) -> Judgement: ...


class Provided(NamedTuple):
    """What a process gives a run of a flow: ``ending`` gives its answer a shape, and judges it; a typed answer has to
    pass ``fits``, besides the schema; ``verifier`` judges in place of a model; ``deps`` are those of the program;
    ``clock`` tells how long the function blocks the loop, in seconds."""

    ending: Ending | None = None
    fits: Fits | None = None
    verifier: Verifier | None = None
    deps: Any = None
    clock: Callable[[], float] = lambda: 0.0


NOTHING = Provided()


class FlowContext(Waits):
    """A run as its flow sees it. What it returns can be awaited; nothing else can."""

    def __init__(self, of: Pass, own: Mapping[str, Worker], provided: Provided) -> None:
        """``own`` are the workers of the program, by name and by fingerprint."""
        super().__init__(of)
        run = of.state.definition
        self._inside = ""
        """The step of a flow inside of another one."""
        self._random = random.Random(of.state.run_id)
        self._named: dict[str, Worker] = {}
        self._defined: dict[str, Recorded] = {}
        self._own, self._ending = own, provided.ending
        self.request: str = run.request
        self.earlier: Follows | None = run.follows
        """The run that this one follows up; what it answered was not checked in this run."""
        self.messages = run.messages
        """What was said before the request, the oldest first: each has a ``role`` and its ``content``."""
        self.today: date = of.state.created_at.date()
        """The day on which the run was started, in UTC."""
        self.deps, self.fits, self.verifier = provided.deps, provided.fits, provided.verifier
        self.judged: dict[str, Any] = {}
        """What was judged in this pass, by digest."""

    def now(self) -> datetime:
        """Return the time of the latest result that the flow has received; it is the same in each pass."""
        return self.of.now

    def random(self) -> float:
        """Return a random number from 0 to 1; it is the same in each pass."""
        return self._random.random()

    # --- work --------------------------------------------------------------------------------------------------------

    def ask(
        self,
        worker: Worker,
        *,
        key: str | None = None,
        tools: Sequence[str] | None = None,
        model: str | None = None,
        optional: bool = False,
        final: bool = False,
        input: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> Pending[Result]:
        """Ask a worker for something, and return the step, which is issued at once; await it for its result.

        ``input`` and ``fields`` are what the worker gets (without any: the request). ``key`` is another name for the
        step, ``tools`` and ``model`` are used instead of the worker's. An ``optional`` step may fail. The text of a
        ``final`` one is the answer; it is streamed, and may use what was held back for the answer.
        """
        given = {**(input or {}), **fields}
        return self.step(worker, key=key, input=given, tools=tools, model=model, optional=optional, final=final)

    def begin(self, what: Worker | str, /, *, input: Mapping[str, Any] | None = None, **fields: Any) -> None:
        """Begin early what the first equal ``ask`` of a worker, or ``call`` of a tool, claims. What nobody claims is
        left out."""
        given = {**(input or {}), **fields}
        if isinstance(what, str):
            self.step(_caller(what), kind="call", key=what, input=given, early=True)
        else:
            self.step(what, input=given, early=True)

    def asking(self, worker: Worker, *, elements: str, input: Mapping[str, Any] | None = None, **fields: Any) -> Asking:
        """Ask a worker, and read the list ``elements`` of its structured answer while it is written."""
        step = self.step(worker, input={**(input or {}), **fields}, elements=elements)
        return Asking(step, elements, self.of.reading)

    def call(self, tool: str, /, *, key: str | None = None, optional: bool = False, **args: Any) -> Pending[Result]:
        """Call a tool without a model: logged, limited and approved like any call."""
        return self.step(_caller(tool), kind="call", key=key or tool, input=args, optional=optional)

    def do(
        self, function: Callable[..., Any], /, *, key: str | None = None, optional: bool = False, **given: Any
    ) -> Pending[Result]:
        """Run a function of the project as a step; its result has to be JSON.

        A coroutine function may await anything, and must not block; another one runs on a thread.
        """
        if not callable(function):
            raise TypeError(f"run.do takes a function, not {shown(function)}")
        awaits = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
        name = getattr(function, "__name__", type(function).__name__)
        code = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', name)}"
        worker = Recorded(name=f"do.{name.strip('<>_') or 'function'}", loop="code", code=code, counts=True)

        def done(desk: Desk) -> Any:
            return function(**desk.brief) if awaits else partial(function, **desk.brief)

        about = Details(code=done)
        return self.step(
            fingerprinted(worker), kind="do", key=key or name, input=given, optional=optional, details=about
        )

    def gather(
        self, parts: Iterable[Pending[_T] | Coroutine[Any, Any, _T]], *, return_failures: bool = False
    ) -> Waited[list[_T]]:
        """Wait for steps and for coroutines of the flow, which run side by side; await it for a list, in order.

        When all have ended, the first failure is raised. With ``return_failures``, failed steps are results that are
        not ``ok`` instead.
        """
        every = [each if isinstance(each, Pending) else self.of.spawn(each) for each in parts]
        return Join(every, return_failures=return_failures)

    def order(
        self, goal: str, subtasks: Sequence[Mapping[str, Any] | Subtask], *, repairs: str | None = None
    ) -> Pending[list[Result]]:
        """Issue a work order; await it for the results of its subtasks, in order, failed ones with ``ok=False``.

        ``repairs`` is the id of the order that it repairs, and ``repairs_subtask`` of a subtask the key of the one that
        this one replaces. Raises ValueError for an order that cannot be carried out; nothing of it runs.
        """
        order = asked_order(self.state, goal, subtasks, repairs, self.of.orders)
        self.of.orders[order.work_order_id] = order
        issue = do.IssueOrder(order=order, workers=(WORK,))
        return self.of.add(
            Pending(order.work_order_id, issue, lambda now: [self._result(now, each) for each in order.subtask_keys])
        )

    def reviewed(self, order: str, review: Review) -> Pending[None]:
        """Record the review of an order."""
        return self.of.add(Pending(f"~{order}", do.Judge(work_order_id=order, review=review), lambda _: None))

    async def flow(
        self,
        flow: FunctionFlow,
        request: str,
        *,
        key: str | None = None,
        limits: Mapping[str, int | float] | None = None,
        **options: Any,
    ) -> Result:
        """Run another flow inside of this one, with a request and with limits of its own, and return its result.

        ``limits`` hold for its steps together: ``max_requests``, ``max_tokens``, ``budget`` (US dollars). To make
        another flow a part of this one, with the same request, await it: ``await other(run, …)``.
        """
        if not isinstance(flow, FunctionFlow):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"run.flow takes a flow, not {shown(flow)}")
        given = {"request": request, "options": options}
        worker = Recorded(name=f"flow.{flow.name}", loop="code", tools=(ALL_TOOLS,)).evolve(**(limits or {}))
        step = self.step(fingerprinted(worker), kind="flow", key=key or flow.name, input=given)
        context = copy.copy(self)
        context.request, context._inside, context._named = request, step.key, {}
        try:
            made = answer_of(await flow(context, **options))
            ended = do.Conclude(step.key, data=ResultData(summary=made.text, value=made.value))
        except (StepFailed, FlowError) as failed:
            ended = do.Conclude(step.key, failed.failure)
        self.of.concluded[step.key] = ended
        return await step

    async def judge(self, result: Result | str, *, uses: Sequence[Result] | None = None) -> Judgement:
        """Have the claims of a text judged beside what ``uses`` (None: all steps so far) found out.

        The same text is not judged again when the flow returns it. Without a judge, no claim has a verdict.
        """
        return Judgement() if self._ending is None else await self._ending.judge(self, result, uses)

    def note(self, text: str) -> None:
        """Write a line into the log of the run, once, whatever the passes."""
        key = self._numbered(f"!{sha(text)[:8]}")
        self.of.add(Pending(key, do.Note(text, key), lambda _: None))

    def worker(self, name: str) -> Recorded:
        """Return a worker as the run has recorded it. Raises KeyError for a name that the run does not know."""
        found = self.state.worker(name)
        if found is None:
            raise KeyError(name)
        return found

    # --- how a step is made ------------------------------------------------------------------------------------------

    def step(
        self,
        asked: Worker | Recorded,
        *,
        input: Mapping[str, Any],
        key: str | None = None,
        kind: str = "ask",
        tools: Sequence[str] | None = None,
        model: str | None = None,
        elements: str = "",
        optional: bool = False,
        final: bool = False,
        early: bool = False,
        details: Details = PLAIN,
    ) -> Pending[Result]:
        """Ask a worker of the program, or one as the log records it, with the ``details`` of the step."""
        if isinstance(tools, str):
            raise TypeError("`tools` is one text: give a list of names")
        worker, recorded = self._recorded(asked, elements)
        key = key or recorded.name
        if self._inside:
            key, input = f"{self._inside}/{key}", input or {"request": self.request}
        logged, results = encoded(input)
        means = digested(logged, results) or {"": self.request}
        if tools is not None or model is not None:
            means = {"input": means, "tools": None if tools is None else sorted(tools), "model": model}
        of, now = (kind, key, sha(means)), self.of
        known = (now.early.get(of) or now.asked(of)) if early else now.early.pop(of, None)
        if known is not None:
            known.optional = known.optional if early else optional
            return known
        output = None if worker is None else worker.output
        id_, place = now.identity(of, output, early=early)
        command: do.Command | None = None
        if id_ not in now.state.steps:
            name, definition = self._version(recorded)
            step = Step(
                step_id=id_,
                worker=name,
                title=details.title or key.rpartition("/")[2],
                input=logged,
                needs=tuple(each.key for each in results.values() if each.ok),
                tools=None if tools is None else tuple(tools),
                model=model,
                counts=recorded.counts,
                final=final,
                kind=kind,
                key=key,
                digest=of[2],
                place=place,
                line=now.line(),
                optional=optional,
                instructions=self._instructions(worker, logged) or details.instructions,
                judges=details.judges,
                parent=attempt_id(self._inside, 1) if self._inside else None,
            )
            command = do.IssueStep(step, definition)
        pending = Pending(id_, command, partial(self._result, key=id_, output=output))
        pending.worker, pending.recorded, pending.details, pending.optional = worker, recorded, details, optional
        if early:
            now.early[of] = pending
        return now.add(pending)

    def _recorded(self, asked: Worker | Recorded, elements: str) -> tuple[Worker | None, Recorded]:
        """Return a worker of the program, if it is one, and as the log records it."""
        if isinstance(asked, Recorded):
            known = self._own.get(asked.fingerprint) or self._own.get(asked.name)
            return known, asked
        if not isinstance(asked, Worker):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"run.ask takes a Worker, not {asked!r}")
        known = self._named.setdefault(asked.name, asked)
        if (known.base or known) != (asked.base or asked):
            raise FlowMisuse(f"two different workers are called {asked.name!r}: give them different names")
        return asked, asked.recorded(elements=elements) if elements else asked.recorded()

    def _instructions(self, worker: Worker | None, given: Mapping[str, Json]) -> str | None:
        """Return the instructions that a worker has for one step alone, with those that the run gives it."""
        if worker is None or isinstance(worker.instructions, str):
            return None
        given = given or {"request": self.request}
        text = worker.instructions(Given(input=given, request=self.request, deps=self.deps))
        return with_more(cleandoc(text), worker.name, self.state.definition.instructions)

    def _version(self, recorded: Recorded) -> tuple[str, Recorded | None]:
        """Return the name under which the run knows a worker, and its definition if the run does not know it yet."""

        def known(name: str) -> Recorded | None:
            return self.state.worker(name) or self._defined.get(name)

        name = name_in(known, recorded)
        if known(name) is not None:
            return name, None
        self._defined[name] = recorded.evolve(name=name)  # its first step defines it
        return name, self._defined[name]

    def _result(self, state: RunState, key: str, output: Any = None) -> Result:
        step = state.steps[key]
        return Result(step, output, self.of.loaded.get((key, step.attempts)))


def _caller(tool: str) -> Recorded:
    """Return who calls a tool without a model."""
    return fingerprinted(Recorded(name=f"call.{tool}", loop="code", tools=(tool,), counts=True))
