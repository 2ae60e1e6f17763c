"""What a flow can do: the object that its function receives."""

from __future__ import annotations

import copy
import inspect
import random
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from inspect import cleandoc
from typing import Any

from leadhand.core import commands as do
from leadhand.core.artifact import blob_of
from leadhand.core.ids import attempt_id, order_id, subtask_key
from leadhand.core.run import Follows
from leadhand.core.state import RunState
from leadhand.core.value import Json, object_of, shown
from leadhand.core.work_order import ProposedSubtask, Step, Subtask, WorkOrder
from leadhand.core.work_result import Judgement, ResultData, Review
from leadhand.core.worker import ALL_TOOLS, with_more
from leadhand.core.worker import Worker as Recorded
from leadhand.flows.desk import Code, Desk
from leadhand.verify.judge import Verifier

from .details import PLAIN, Details
from .function import FunctionFlow
from .identity import encoded
from .orders import WORK, asked_order
from .outcomes import answer_of
from .passes import Pass
from .pending import Asking, Join, Pending
from .results import FlowMisuse, Result, StepFailed, sha
from .waits import Waits
from .worker import Given, Worker, fingerprinted, version_of

Judging = Callable[["FlowContext", Result | str, Sequence[Result] | None], Coroutine[Any, Any, Judgement]]


class FlowContext(Waits):
    """A run as its flow sees it. What it returns can be awaited; nothing else can."""

    def __init__(self, of: Pass, state: RunState) -> None:
        super().__init__(of)
        self._inside = ""
        """The step of a flow inside of another one."""
        self._random = random.Random(state.run_id)
        self._named: dict[str, Worker] = {}
        self._defined: dict[str, Recorded] = {}
        self.request: str = state.definition.request
        self.earlier: Follows | None = state.definition.follows
        """The run that this one follows up; what it answered was not checked in this run."""
        self.today: date = state.created_at.date()
        """The day on which the run was started, in UTC."""
        self.deps: Any = None
        self.own: Mapping[str, Worker] = {}
        """The workers of the program that the run knows by name, by name and by fingerprint."""
        self.fits: Callable[[Json], list[str]] | None = None
        """Why a value does not fit the typed answer that was asked for, one sentence each (None: nobody asked)."""
        self.verifier: Verifier | None = None
        """Who judges in place of a model."""
        self.judging: Judging | None = None
        self.judged: dict[str, Any] = {}
        """What was judged in this pass, by digest."""

    @property
    def of(self) -> Pass:
        """The pass that this context belongs to."""
        return self._pass

    def now(self) -> datetime:
        """Return the time of the latest result that the flow has received; it is the same in each pass."""
        return self._pass.now

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
        return self.step(
            self._recorded(worker),
            key=key or worker.name,
            input={**(input or {}), **fields},
            worker=worker,
            tools=tools,
            model=model,
            optional=optional,
            final=final,
        )

    def begin(self, what: Worker | str, /, *, input: Mapping[str, Any] | None = None, **fields: Any) -> None:
        """Begin early what the first equal ``ask`` of a worker, or ``call`` of a tool, claims. What nobody claims is
        left out."""
        given = {**(input or {}), **fields}
        if isinstance(what, str):
            self._called(what, given, early=True)
        else:
            self.step(self._recorded(what), key=what.name, input=given, worker=what, early=True)

    def asking(self, worker: Worker, *, elements: str, input: Mapping[str, Any] | None = None, **fields: Any) -> Asking:
        """Ask a worker, and read the list ``elements`` of its structured answer while it is written."""
        recorded = self._recorded(worker, elements)
        step = self.step(recorded, key=worker.name, input={**(input or {}), **fields}, worker=worker)
        return self.reading(step, elements)

    def reading(self, step: Pending[Result], elements: str) -> Asking:
        """Read the list ``elements`` of the structured answer of a step while it is written."""
        return Asking(step, elements, self._pass.reading)

    def call(self, tool: str, /, *, key: str | None = None, optional: bool = False, **args: Any) -> Pending[Result]:
        """Call a tool without a model: logged, limited and approved like any call."""
        return self._called(tool, args, key, optional=optional)

    def _called(
        self, tool: str, args: Mapping[str, Any], key: str | None = None, *, optional: bool = False, early: bool = False
    ) -> Pending[Result]:
        worker = fingerprinted(Recorded(name=f"call.{tool}", loop="code", tools=(tool,), counts=True))
        return self.step(worker, kind="call", key=key or tool, input=args, optional=optional, early=early)

    def do(
        self,
        function: Callable[..., Any],
        /,
        *,
        key: str | None = None,
        optional: bool = False,
        **given: Any,
    ) -> Pending[Result]:
        """Run a function of the project as a step; its result has to be JSON.

        A coroutine function may await anything, and must not block; another one runs on a thread.
        """
        if not callable(function):
            raise TypeError(f"run.do takes a function, not {shown(function)}")
        awaits = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
        name = getattr(function, "__name__", type(function).__name__)
        code = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', name)}"
        worker = fingerprinted(
            Recorded(name=f"do.{name.strip('<>_') or 'function'}", loop="code", code=code, counts=True)
        )

        def done(desk: Desk) -> Any:
            return function(**desk.brief) if awaits else partial(function, **desk.brief)

        return self.step(worker, kind="do", key=key or name, input=given, optional=optional, code=done)

    def gather(
        self, parts: Iterable[Pending[Any] | Coroutine[Any, Any, Any]], *, return_failures: bool = False
    ) -> Join:
        """Wait for steps and for coroutines of the flow, which run side by side; await it for a list, in order.

        When all have ended, the first failure is raised. With ``return_failures``, failed steps are results that are
        not ``ok`` instead.
        """
        every = [each if isinstance(each, Pending) else self._pass.spawn(each) for each in parts]
        return Join(every, return_failures=return_failures)

    def order(
        self, goal: str, subtasks: Sequence[Mapping[str, Any] | ProposedSubtask], *, repairs: str | None = None
    ) -> Pending[list[Result]]:
        """Issue a work order; await it for the results of its subtasks, in order, failed ones with ``ok=False``.

        ``repairs`` is the id of the order that it repairs, and ``repairs_subtask`` of a subtask the key of the one that
        this one replaces. Raises ValueError for an order that cannot be carried out; nothing of it runs.
        """
        order = asked_order(self.state, goal, subtasks, repairs, self._pass.orders)
        self._pass.orders[order.work_order_id] = order

        def read(now: RunState) -> list[Result]:
            return [self._result(now, each) for each in order.subtask_keys()]

        issue = do.IssueOrder(order=order, workers=(WORK,))
        return self._pass.add(Pending(order.work_order_id, [issue], read))

    def ordered(self, order: Pending[list[Result]]) -> tuple[WorkOrder, list[Pending[Result]]]:
        """Return an order that was issued, with its subtasks to wait for one by one."""

        def part(key: str) -> Pending[Result]:
            return self._pass.add(Pending(key, (), lambda now: self._result(now, key)))

        found = self._pass.orders[order.key]
        return found, [part(key) for key in found.subtask_keys()]

    def begin_subtask(self, position: int, subtask: Subtask) -> None:
        """Begin a subtask of the first order, which has it at this position, before the order is issued, if it may."""
        self._pass.begins[subtask_key(order_id(1), position)] = subtask

    def reviewed(self, order: str, review: Review) -> Pending[None]:
        """Record the review of an order."""
        return self._pass.add(Pending(f"~{order}", [do.Judge(work_order_id=order, review=review)], lambda _: None))

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
        name, given = key or flow.name, {"request": request, "options": options}
        worker = Recorded(name=f"flow.{flow.name}", loop="code", tools=(ALL_TOOLS,)).evolve(**(limits or {}))
        step = self.step(fingerprinted(worker), kind="flow", key=name, input=given)
        context = copy.copy(self)
        context.request, context._inside, context._named = request, step.key, {}
        data = failure = None
        try:
            made = answer_of(await flow(context, **options))
            failure = made.failure
            data = ResultData(summary=made.text, value=made.value) if failure is None else None
        except StepFailed as failed:
            failure = failed.failure
        self._pass.conclude(step, [do.Conclude(step.key, failure, data)])
        return await step

    async def judge(self, result: Result | str, *, uses: Sequence[Result] | None = None) -> Judgement:
        """Have the claims of a text judged beside what ``uses`` (None: all steps so far) found out.

        The same text is not judged again when the flow returns it. Without a judge, no claim has a verdict.
        """
        return Judgement() if self.judging is None else await self.judging(self, result, uses)

    def note(self, text: str) -> None:
        """Write a line into the log of the run, once, whatever the passes."""
        key = self._numbered(f"!{sha(text)[:8]}")
        self._pass.add(Pending(key, [do.Note(text, key)], lambda _: None))

    def worker(self, name: str) -> Recorded:
        """Return a worker as the run has recorded it. Raises KeyError for a name that the run does not know."""
        found = self.state.worker(name)
        if found is None:
            raise KeyError(name)
        return found

    # --- how a step is made ------------------------------------------------------------------------------------------

    def _recorded(self, worker: Worker, elements: str = "") -> Recorded:
        if not isinstance(worker, Worker):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"run.ask takes a Worker, not {worker!r}")
        known = self._named.setdefault(worker.name, worker)
        if (known.base or known) != (worker.base or worker):
            raise FlowMisuse(f"two different workers are called {worker.name!r}: give them different names")
        return worker.recorded(elements=elements) if elements else worker.recorded()

    def step(
        self,
        recorded: Recorded,
        *,
        key: str,
        input: Mapping[str, Any],
        kind: str = "ask",
        worker: Worker | None = None,
        tools: Sequence[str] | None = None,
        model: str | None = None,
        optional: bool = False,
        final: bool = False,
        early: bool = False,
        details: Details = PLAIN,
        code: Code | None = None,
    ) -> Pending[Result]:
        """Ask a worker as the log records it, with the details of the step; built-in flows do so.

        ``worker`` is the one of the program. ``code`` carries the step out if the worker's loop says so.
        """
        if isinstance(tools, str):
            raise TypeError("`tools` is one text: give a list of names")
        worker = worker or self.own.get(recorded.fingerprint) or self.own.get(recorded.name)
        if self._inside:
            key, input = f"{self._inside}/{key}", input or {"request": self.request}
        written = {str(field): encoded(value, str(field)) for field, value in input.items()}
        digested: dict[str, Json] = {field: each.digested for field, each in written.items()} or {"": self.request}
        if tools is not None or model is not None:
            digested = {"input": digested, "tools": None if tools is None else sorted(tools), "model": model}
        of, now = (kind, key, sha(digested)), self._pass
        known = (now.early.get(of) or now.asked(of)) if early else now.early.pop(of, None)
        if known is not None:
            known.optional = known.optional if early else optional
            return known
        output = None if worker is None else worker.output
        id_, place = now.identity(of, output, early=early)
        commands: tuple[do.Command, ...] = ()
        if id_ not in now.state.steps:
            worker_key, definition = self._version(recorded)
            logged: dict[str, Json] = {field: each.logged for field, each in written.items()}
            step = Step(
                step_id=id_,
                worker=worker_key,
                title=details.title or key.rpartition("/")[2],
                input=logged,
                needs=tuple(dict.fromkeys(needed for each in written.values() for needed in each.steps)),
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
                doing=details.doing,
                instructions=self._instructions(worker, logged) or details.instructions,
                judges=details.judges,
                parent=attempt_id(self._inside, 1) if self._inside else None,
            )
            commands = (do.IssueStep(step, definition),)
        pending = Pending(id_, commands, lambda now: self._result(now, id_, output))
        pending.worker, pending.recorded, pending.optional = worker, recorded, optional
        pending.details, pending.code = details, code
        if early:
            now.early[of] = pending
        return now.add(pending)

    def _instructions(self, worker: Worker | None, given: dict[str, Json]) -> str | None:
        """Return the instructions that a worker has for one step alone, with those that the run gives it."""
        if worker is None or isinstance(worker.instructions, str):
            return None
        text = worker.instructions(Given(self.request, given or {"request": self.request}, deps=self.deps))
        return with_more(cleandoc(text), worker.name, self.state.definition.instructions)

    def _version(self, recorded: Recorded) -> tuple[str, Recorded | None]:
        """Return the name under which the run knows a worker, and its definition if the run does not know it yet."""
        for name in (recorded.name, version_of(recorded)):
            known = self.state.worker(name) or self._defined.get(name)
            if known is None:  # the first step of the worker defines it
                self._defined[name] = found = recorded.evolve(name=name)
                return name, found
            if known.fingerprint == recorded.fingerprint:
                return name, None
        raise FlowMisuse(f"two versions of the worker {recorded.name} have one fingerprint")

    def _result(self, state: RunState, key: str, output: Any = None) -> Result:
        """Return the result of a step; its large data has to be loaded before."""
        step = state.steps[key]
        raw = step.data.raw if step.data is not None else None
        if not _refers(raw):
            return Result(step, output)
        loaded = self._pass.loaded.get((key, step.attempts))
        if loaded is None:
            self._pass.missing[key] = step
        return Result(step, output, loaded)


def _refers(raw: Json) -> bool:
    """Whether data of tools refers to large values that are not in the state."""
    return blob_of(raw) is not None or any(blob_of(each) is not None for each in object_of(raw).values())
