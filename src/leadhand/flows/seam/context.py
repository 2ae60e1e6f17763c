"""What a flow can do: the object that its function receives."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from inspect import cleandoc
from itertools import islice
from typing import Any, Protocol

from leadhand.core import commands as do
from leadhand.core.blob import blob_of
from leadhand.core.ids import attempt_id, order_id, subtask_key
from leadhand.core.judgement import Judgement
from leadhand.core.run import Follows
from leadhand.core.state import RunState
from leadhand.core.value import Json, object_of, shown
from leadhand.core.work_order import ProposedSubtask, Subtask, Unsupported, WorkOrder
from leadhand.core.work_result import ResultData, Review
from leadhand.core.worker import ALL_TOOLS, EVERY_WORKER
from leadhand.core.worker import Worker as Recorded
from leadhand.flows.desk import Code, Desk
from leadhand.verify.judge import Verifier

from .details import PLAIN, Details
from .identity import encoded, sha
from .orders import WORK, asked_order
from .passes import Pass
from .pending import Asking, Join, Pending
from .results import FlowAnswer, FlowMisuse, Result, StepFailed, said_by
from .waits import Waits
from .worker import Given, Worker, fingerprinted, version_of


class Flows(Protocol):
    """A flow that another one can run."""

    @property
    def name(self) -> str: ...

    def __call__(self, run: FlowContext, /, **options: Any) -> Coroutine[Any, Any, Any]: ...


Judging = Callable[["FlowContext", Result | str, Sequence[Result] | None], Coroutine[Any, Any, Judgement]]


async def unjudged(_run: FlowContext, _text: Result | str, _uses: Sequence[Result] | None) -> Judgement:
    """Judge nothing, for a run that has no judge."""
    return Judgement()


class FlowContext(Waits):
    """A run as its flow sees it. What it returns can be awaited; nothing else can."""

    def __init__(self, of: Pass, state: RunState, request: str | None = None, inside: str = "") -> None:
        """``inside`` is the step of a flow inside of another one, which has a ``request`` of its own."""
        super().__init__(of)
        self._inside = inside
        self._random = random.Random(state.run_id)
        self._named: dict[str, Worker] = {}
        self._defined: dict[str, Recorded] = {}
        self.request: str = state.definition.request if request is None else request
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
        self.judging: Judging = unjudged
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
        return self._asked_of(worker, key, tools, model, {**(input or {}), **fields}, optional=optional, final=final)

    def begin(self, what: Worker | str, /, *, input: Mapping[str, Any] | None = None, **fields: Any) -> None:
        """Begin early what the first equal ``ask`` of a worker, or ``call`` of a tool, claims. What nobody claims is
        left out."""
        given = {**(input or {}), **fields}
        if isinstance(what, str):
            self._called(what, None, given, early=True)
        else:
            self._asked_of(what, None, None, None, given, early=True)

    def asking(self, worker: Worker, *, elements: str, input: Mapping[str, Any] | None = None, **fields: Any) -> Asking:
        """Ask a worker, and read the list ``elements`` of its structured answer while it is written."""
        given = {**(input or {}), **fields}
        step = self._asked_of(worker, None, None, None, given, elements=elements)
        return self.reading(step, elements)

    def reading(self, step: Pending[Result], elements: str) -> Asking:
        """Read the list ``elements`` of the structured answer of a step while it is written."""
        return Asking(step, elements, self._pass.read)

    def call(self, tool: str, /, *, key: str | None = None, optional: bool = False, **args: Any) -> Pending[Result]:
        """Call a tool without a model: logged, limited and approved like any call."""
        return self._called(tool, key, args, optional=optional)

    def _called(
        self, tool: str, key: str | None, args: Mapping[str, Any], *, optional: bool = False, early: bool = False
    ) -> Pending[Result]:
        worker = fingerprinted(Recorded(name=f"call.{tool}", loop="code", tools=(tool,), counts=True))
        return self._step("call", key or tool, worker, args, optional=optional, early=early)

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
        step = self._step("do", key or name, worker, given, optional=optional)

        def done(desk: Desk) -> Any:
            return function(**desk.brief) if awaits else partial(function, **desk.brief)

        step.code = done
        return step

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
        key = order.work_order_id
        self._pass.orders[key] = order

        def commands(_: RunState) -> Sequence[do.Command]:
            return [do.IssueOrder(order=order, workers=(WORK,))]

        def read(now: RunState) -> list[Result]:
            return [self._result(now, each, None) for each in order.subtask_keys()]

        return self._added(Pending(self._pass.waived, key, commands, read), is_known=key in self.state.orders)

    def ordered(self, order: Pending[list[Result]]) -> tuple[WorkOrder, list[Pending[Result]]]:
        """Return an order that was issued, with its subtasks to wait for one by one."""
        found = self._pass.orders[order.key]
        return found, [self._subtask(key) for key in found.subtask_keys()]

    def _subtask(self, key: str) -> Pending[Result]:
        part = Pending[Result](self._pass.waived, key, lambda _: (), lambda now: self._result(now, key, None))
        return self._added(part, is_known=True)

    def begin_subtask(self, position: int, subtask: Subtask) -> None:
        """Begin a subtask of the first order before the order is issued, which has it at this position."""
        most = self.state.definition.limits.batch_size

        def commands(now: RunState) -> Sequence[do.Command]:
            wanted = (each for each in self._pass.begins if subtask_key(order_id(1), each.position) not in now.steps)
            return [] if self._pass.orders else [*islice(wanted, most)]

        if self._pass.orders:
            return
        if not self._pass.begins:
            self._pass.new.append(Pending[None](self._pass.waived, "!begin", commands, lambda _: None))
        self._pass.begins.append(do.Begin(position=position, subtask=subtask))

    def cannot(self, parts: Sequence[Unsupported]) -> None:
        """Record parts of the request that no tool supports."""

        def commands(now: RunState) -> Sequence[do.Command]:
            fresh = tuple(dict.fromkeys(each for each in parts if each not in now.unsupported))
            return [do.NoteGaps(parts=fresh)] if fresh else ()

        self._pass.new.append(Pending[None](self._pass.waived, "!cannot", commands, lambda _: None))

    def reviewed(self, order: str, review: Review) -> Pending[None]:
        """Record the review of an order."""
        key, judges = f"~{order}", do.Judge(work_order_id=order, review=review)
        pending = Pending[None](self._pass.waived, key, lambda _: [judges], lambda _: None)
        return self._added(pending, is_known=key in self.state.settled)

    async def flow(
        self,
        flow: Flows,
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
        step = self._step("flow", name, fingerprinted(worker), given)
        context = FlowContext(self._pass, self.state, request, step.key)
        context.__dict__ |= {
            each: getattr(self, each) for each in ("deps", "own", "fits", "verifier", "judging", "judged")
        }
        data = failure = None
        try:
            made = await flow(context, **options)
            text, value = said_by(made)
            failure = made.failure if isinstance(made, FlowAnswer) else None
            data = ResultData(summary=text, value=value) if failure is None else None
        except StepFailed as failed:
            failure = failed.failure
        self._pass.conclude(step, [do.Conclude(step.key, data, failure)])
        return await step

    async def judge(self, result: Result | str, *, uses: Sequence[Result] | None = None) -> Judgement:
        """Have the claims of a text judged beside what ``uses`` (None: all steps so far) found out.

        The same text is not judged again when the flow returns it. Without a judge, no claim has a verdict.
        """
        return await self.judging(self, result, uses)

    def note(self, text: str) -> None:
        """Write a line into the log of the run, once, whatever the passes."""
        key = self._numbered(f"!{sha(text)[:8]}")
        if key not in self.state.settled:
            pending = Pending[None](self._pass.waived, key, lambda _: [do.Note(text, key)], lambda _: None)
            self._pass.add(pending, is_known=False)

    def step(
        self,
        worker: Recorded,
        *,
        key: str,
        input: Mapping[str, Any],
        details: Details = PLAIN,
        tools: Sequence[str] | None = None,
        optional: bool = False,
        final: bool = False,
        code: Code | None = None,
    ) -> Pending[Result]:
        """Ask a worker of a built-in flow, with the details of the step; ``code`` carries it out if the worker's loop
        says so."""
        pending = self._step("ask", key, worker, input, tools=tools, optional=optional, final=final, details=details)
        pending.code = code
        return pending

    def worker(self, name: str) -> Recorded:
        """Return a worker as the run has recorded it. Raises KeyError for a name that the run does not know."""
        found = self.state.worker(name)
        if found is None:
            raise KeyError(name)
        return found

    # --- how a step is made ------------------------------------------------------------------------------------------

    def _asked_of(
        self,
        worker: Worker,
        key: str | None,
        tools: Sequence[str] | None,
        model: str | None,
        given: Mapping[str, Any],
        *,
        optional: bool = False,
        final: bool = False,
        early: bool = False,
        elements: str = "",
    ) -> Pending[Result]:
        if not isinstance(worker, Worker):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"run.ask takes a Worker, not {worker!r}")
        known = self._named.setdefault(worker.name, worker)
        if (known.base or known) != (worker.base or worker):
            raise FlowMisuse(f"two different workers are called {worker.name!r}: give them different names")
        return self._step(
            "ask",
            key or worker.name,
            worker.recorded(elements=elements) if elements else worker.recorded(),
            given,
            worker=worker,
            tools=tools,
            model=model,
            optional=optional,
            final=final,
            early=early,
        )

    def _step(
        self,
        kind: str,
        name: str,
        recorded: Recorded,
        given: Mapping[str, Any],
        *,
        worker: Worker | None = None,
        tools: Sequence[str] | None = None,
        model: str | None = None,
        optional: bool = False,
        final: bool = False,
        early: bool = False,
        details: Details = PLAIN,
    ) -> Pending[Result]:
        if isinstance(tools, str):
            raise TypeError("`tools` is one text: give a list of names")
        worker = worker or self.own.get(recorded.fingerprint) or self.own.get(recorded.name)
        if self._inside:
            name, given = f"{self._inside}/{name}", given or {"request": self.request}
        written = {str(field): encoded(value, str(field)) for field, value in given.items()}
        digested: dict[str, Json] = {field: each.digested for field, each in written.items()} or {"": self.request}
        if tools is not None or model is not None:
            digested = {"input": digested, "tools": None if tools is None else sorted(tools), "model": model}
        of = kind, name, sha(digested)
        of_pass = self._pass
        if not early and (begun := of_pass.claimed(of)) is not None:
            begun.optional = optional
            return begun

        def make() -> Pending[Result]:
            output = None if worker is None else worker.output
            while True:
                key, place = of_pass.identity(of, early=early)
                known = of_pass.state.steps.get(key)
                try:
                    if known is not None and known.ok:
                        Result(known, output)
                    break
                except ValueError:  # its value does not fit the output any more
                    of_pass.unfit.add(key)
            worker_key, definition = (known.step.worker, None) if known is not None else self._version(recorded)
            logged: dict[str, Json] = {field: each.logged for field, each in written.items()}
            needs = dict.fromkeys(needed for each in written.values() for needed in each.steps)
            command = do.IssueStep(
                id=key,
                worker=worker_key,
                title=details.title or name.rpartition("/")[2],
                input=logged,
                needs=tuple(needs),
                tools=None if tools is None else tuple(tools),
                model=model,
                final=final,
                kind=kind,
                key=name,
                digest=of[2],
                place=place,
                line=of_pass.line(),
                optional=optional,
                doing=details.doing,
                instructions=self._instructions(worker, logged) or details.instructions,
                judges=details.judges,
                parent=attempt_id(self._inside, 1) if self._inside else None,
                definition=definition,
            )

            def read(now: RunState) -> Result:
                return self._result(now, key, output)

            pending = Pending[Result](of_pass.waived, key, lambda _: [command], read)
            pending.worker, pending.optional, pending.details, pending.input = worker, optional, details, logged
            pending.recorded = recorded
            return self._added(pending, is_known=known is not None)

        return of_pass.begun(of, make) if early else make()

    def _instructions(self, worker: Worker | None, given: dict[str, Json]) -> str | None:
        """Return the instructions that a worker has for one step alone, with those that the run gives it."""
        if worker is None or isinstance(worker.instructions, str):
            return None
        text = worker.instructions(Given(self.request, given or {"request": self.request}, deps=self.deps))
        more = self.state.definition.instructions
        return "\n\n".join(filter(None, (cleandoc(text), more.get(EVERY_WORKER), more.get(worker.name))))

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

    def _result(self, state: RunState, key: str, output: Any) -> Result:
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
