"""Flows that are functions: what the decorator makes of one, and one run of it as the engine drives it."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, overload

from pydantic import BaseModel, ValidationError

from leadhand.core import commands as do
from leadhand.core.approval import Question
from leadhand.core.commands import Command, FlowError, Outcome
from leadhand.core.errors import Failure, FailureClass, UsageError
from leadhand.core.events import Entry
from leadhand.core.ids import step_of
from leadhand.core.state import RunState, StepState
from leadhand.core.value import Json, Value, fitting, one_line, shown
from leadhand.core.worker import Worker as Recorded
from leadhand.flows.desk import Code
from leadhand.flows.flow import Flow, ProposedCall
from leadhand.flows.flow import Result as Returned
from leadhand.flows.refused_options import refusal
from leadhand.flows.run_view import RunView, StepView
from leadhand.verify.judge import Verifier

from .context import FlowContext, Judging, unjudged
from .definition import RESERVED, Function, named_values, options_of, reached_values, subtask_workers
from .details import PLAIN, Details
from .identity import resolved
from .outcomes import outcome_of, outcome_with, steps_asked
from .passes import Pass, Stale
from .pending import Pending
from .results import FlowAnswer, FlowMisuse, Retry, StepFailed
from .worker import Given, Worker, version_of, with_tools

FIX = "fix the flow, then retry the run: nothing that is finished is done again"
GIVEN_UP = Failure.of("the flow no longer asks for it", "left_out", FailureClass.REJECTED, FIX)
GO_ON, STOP = "continue", "stop"


class FunctionFlow(Flow):
    """A flow that is an async function; calling it in another flow makes it a part of that one.

    ``plans`` and the other attributes are those of :class:`~leadhand.flows.flow.Flow`.
    """

    version = 0

    def __init__(
        self,
        function: Function,
        name: str = "",
        offline: Mapping[Worker, Callable[..., Any]] | Mapping[str, Callable[..., Any]] | None = None,
        workers: Callable[[Any], Sequence[Recorded]] | Sequence[Recorded] | None = None,
        *,
        plans: bool = True,
        reads_artifacts: bool = False,
        unfinished: Callable[[RunState], FlowAnswer] | None = None,
        own: Mapping[str, Worker] | None = None,
    ) -> None:
        """``workers`` are those of a built-in flow, or with some options (None: the workers that the function names).
        ``unfinished`` returns the answer of a run that ends before its function returns, ``own`` are the workers of
        the program that it knows by name."""
        self.function = function
        self.name = name or function.__name__.replace("_", "-")  # type: ignore[misc]
        self.description = inspect.getdoc(function) or ""  # type: ignore[misc]
        rules = (offline or {}).items()
        self.offline = {each if isinstance(each, str) else each.name: rule for each, rule in rules}  # type: ignore[misc]
        self.plans, self.reads_artifacts = plans, reads_artifacts  # type: ignore[misc]
        self.unfinished = unfinished
        taken = RESERVED if workers is None else frozenset[str]()
        self.Options = options_of(self.name, function, taken)  # type: ignore[misc, assignment]
        self._own = own
        self._workers = workers
        self.__wrapped__ = function
        self.__module__, self.__qualname__ = function.__module__, function.__qualname__

    def __call__(self, run: FlowContext, /, **options: Any) -> Coroutine[Any, Any, Any]:
        """Return the coroutine of the flow as a part of another flow."""
        return self.function(run, **options)

    def checked_options(self, given: Mapping[str, Any]) -> BaseModel:
        """Return the options of a run. Raises UsageError for unknown or invalid ones."""
        try:
            return self.Options.model_validate(dict(given))
        except ValidationError as error:
            raise refusal(self.name, self.Options, given, error) from error

    def roles(self, options: Any) -> Sequence[Recorded]:
        """Return the workers that the function names as globals or from its closure, with the one of subtasks."""
        if self._workers is not None:
            return self._workers(options) if callable(self._workers) else self._workers
        tools = {inner.name for each in self.named for inner in each.workers}
        return [each.recorded().evolve(declared=each.name in tools) for each in self.named]

    @cached_property
    def named(self) -> Sequence[Worker]:
        """The workers that the function names, with those among their tools."""
        if self._workers is not None:
            return ()
        named = (*with_tools(each for each in named_values(self.function) if isinstance(each, Worker)),)
        further: dict[str, Worker] = {}  # those that it reaches otherwise; the first of each name
        for each in reached_values(self.function, FunctionFlow):
            if isinstance(each, Worker) and not any(each.name == known.name for known in named):
                further.setdefault(each.name, each)
        return tuple({each.name: each for each in (*with_tools(further.values()), *named)}.values())

    @property
    def own(self) -> Mapping[str, Worker]:
        """The workers of the program that runs know by name, by name and by fingerprint."""
        return {each.name: each for each in self.named} if self._own is None else self._own

    def bound(self) -> FunctionRun:
        """Return one run of the flow."""
        return FunctionRun(self)


class FunctionRun(Flow):
    """One run of a flow that is a function: its pass, as the engine asks for what follows from it."""

    def __init__(self, flow: FunctionFlow) -> None:
        self._flow = flow
        self.name, self.plans, self.offline = flow.name, flow.plans, flow.offline  # type: ignore[misc]
        self.Options = flow.Options
        self._pass: Pass | None = None
        self.passes = 0
        """How many passes were begun."""
        self.deps: Any = None
        self.fits: Callable[[Json], list[str]] | None = None
        self.verifier: Verifier | None = None
        self.judging: Judging = unjudged
        self.ending: Close = _as_it_is
        """Ends the flow with further steps, which give its answer a shape and judge it."""
        self.clock: Callable[[], float] = lambda: 0.0

    def checked_options(self, given: Mapping[str, Any]) -> BaseModel:
        return self._flow.checked_options(given)

    def bound(self) -> FunctionRun:
        return self

    # --- the pass ----------------------------------------------------------------------------------------------------

    def advanced(self, state: RunState) -> Pass:
        """Return the pass of the run, advanced to a state of its log; another one if it is stale."""
        now = self._pass
        if now is None or state.seq < now.state.seq:
            now = self._begin(state)
        try:
            now.advance(state)
        except Stale:
            now = self._begin(state)
            now.advance(state)
        return now

    def _begin(self, state: RunState) -> Pass:
        loaded = {} if self._pass is None else self._pass.loaded
        if self._pass is not None:
            self._pass.close()
        self.passes += 1
        options = dict(self.checked_options(state.definition.options))
        of_subtasks = subtask_workers(state.definition)

        async def whole(context: FlowContext) -> Outcome:
            made = await self._flow.function(context, **copy.deepcopy(options))
            try:
                stated = fitting(Outcome, outcome_with(context.of, made))
            except (TypeError, ValueError) as error:
                what = f"the flow {self.name} returned {shown(made)}, which is not an answer: {one_line(error)}"
                raise FlowMisuse(what) from error
            answer = made if isinstance(made, FlowAnswer) else FlowAnswer()
            return await self.ending(context, stated, answer)

        def begin(of: Pass) -> Coroutine[Any, Any, Any]:
            of.loaded = loaded
            context = FlowContext(of, state, of_subtasks)
            context.own = self._flow.own
            context.deps, context.fits, context.verifier = self.deps, self.fits, self.verifier
            context.judging = self.judging
            return whole(context)

        self._pass = Pass(state, begin, self._flow.function.__code__.co_filename, self.clock)
        return self._pass

    async def prepare(self, state: RunState, load: Callable[[Json], Awaitable[Json]]) -> None:
        """Advance the pass on a committed state, loading large data that it is to receive."""
        now = self.advanced(state)
        while now.missing:
            missing, now.missing = now.missing, {}
            for key, step in missing.items():
                assert step.data is not None, "only results with data are loaded"
                now.loaded[key, step.attempts] = await load(step.data.raw)
            now = self.advanced(state)

    def wants(self, state: RunState, key: str) -> bool:
        """Whether the flow has asked for a step, or for what it belongs to, again; after a take-over, others do not
        begin."""
        if self._pass is None:
            return True
        step = state.steps[key]
        while step.step.parent is not None:
            step = state.steps[step_of(step.step.parent)]
        asked = step.order or (step.key if step.step.digest else "")
        return not asked or asked in self._pass.steps

    def changed_worker(self, state: RunState, key: str) -> Recorded | None:
        """Return the worker of a step as the function defines it today; None if it is as the step has it."""
        pending = self._pending(state, key)
        today, known = None if pending is None else pending.recorded, state.worker(state.steps[key].step.worker)
        if today is None or known is None or known.fingerprint == today.fingerprint:
            return None
        first = state.worker(today.name)
        name = today.name if first is None or first.fingerprint == today.fingerprint else version_of(today)
        return today.evolve(name=name)

    @property
    def diverges(self) -> bool:
        """Whether the flow asks for what is new, and not yet again for what it asked for before."""
        return self._pass is not None and bool(self._pass.strays and self._pass.unclaimed)

    def close(self) -> None:
        """End the pass of the run, which nothing drives any more."""
        if self._pass is not None:
            self._pass.close()

    # --- as a flow of the engine -------------------------------------------------------------------------------------

    def next(self, run: RunView[Any]) -> Iterable[Command]:
        state = run.state
        now = self.advanced(state)
        notes = [do.Note(each, f"!slow-{number}") for number, each in enumerate(now.slow)]
        if now.main.done:
            error = now.main.error
            failure = None if error is None or isinstance(error, StepFailed) else self._fault(now, error)
            return [*notes, *self._forgotten(now), do.Finish(failure=failure)]
        wanted = list(now.commands())
        if not wanted or not self.diverges:
            return [*notes, *wanted]
        return [*notes, *self._diverged(state, now, wanted)]

    def _diverged(self, state: RunState, now: Pass, wanted: Sequence[Command]) -> Iterator[Command]:
        """Yield what a run does whose flow asks for other steps than before: nothing new, if one of those has acted."""
        key, line = now.strays[0]
        what = f"the flow asks at line {line} for {key}, which is new, and not yet again for "
        for acted in now.unclaimed:
            if not any(state.steps[each].has_acted for each in steps_asked(state, acted)):
                continue
            id_ = f"again-{acted}"
            asked = state.questions.get(id_)
            if asked is None:
                text = f"{what}{acted}, which has acted, or may have: if the run goes on, this may happen once more."
                yield do.Ask(Question(id=id_, text=text, choices=(GO_ON, STOP), holds=True))
                return
            if asked.reply is None:
                return
            if asked.reply.strip().casefold() != GO_ON:
                message = f"{what}{acted}, which has acted, and {asked.by or 'a person'} stopped the run"
                yield do.Finish(failure=Failure.of(message, "diverged", FailureClass.REJECTED, FIX))
                return
            for each in steps_asked(state, acted):
                if not state.steps[each].closed:
                    yield do.GiveUp(each, GIVEN_UP)
        if not state.redone:  # what follows from a result that is another one now is new
            yield do.Note(f"{what}{next(iter(now.unclaimed))}", f"!new-{key}")
        yield from wanted

    def _forgotten(self, now: Pass) -> Iterator[Command]:
        """Yield notes about steps that were asked for, never awaited, and are not finished."""
        for key, pending in now.steps.items():
            if not pending.done and not pending.awaited and key in now.state.steps:
                yield do.Note(f"{key} was asked for at line {pending.line} and never awaited", f"!lost-{key}")

    def _fault(self, now: Pass, error: BaseException) -> Failure:
        if isinstance(error, FlowError):
            return error.failure
        if isinstance(error, FlowMisuse):
            return Failure.of(str(error), "flow_error", FailureClass.UNAVAILABLE, FIX)
        message = (
            f"the flow {self.name} raised {type(error).__name__} at line {now.raised_at(error)}: {one_line(error)}"
        )
        return Failure.of(message, "flow_error", FailureClass.UNAVAILABLE, FIX)

    def brief(self, run: RunView[Any], step: StepState) -> dict[str, Any]:
        state, given = run.state, step.step
        if given.subtask is not None:
            from leadhand.flows.work_order.briefs import work  # few flows issue orders

            return work(state, given)
        if (shows := self._details(state, given.step_id).shows) is not None:
            return shows(state, step)
        found = resolved({**given.input}, state)
        return found if found or given.kind != "ask" else {"request": run.request}

    def problems(self, run: RunView[Any], step: StepView, result: Returned) -> list[str]:
        pending = self._pending(run.state, step.id)
        worker = self._flow.own.get(step.worker) if pending is None else pending.worker
        if (checks := self._details(run.state, step.id).checks) is not None:
            return list(checks(run.state, run.state.steps[step.id], result))
        if worker is None:
            return []
        value: Any = result.text if result.value is None else result.value
        try:
            if isinstance(worker.output, type) and issubclass(worker.output, BaseModel):
                value = worker.output.model_validate(value)
            if worker.validate is not None:
                given = Given(run.request, resolved({**step.input}, run.state), result.text, result.calls, self.deps)
                worker.validate(value, given)
        except (Retry, ValidationError) as error:
            return [one_line(error) or "it was not accepted"]
        return []

    def code(self, run: RunView[Any], step: StepView) -> Code:
        pending = self._pending(run.state, step.id)
        if pending is None or pending.code is None:
            raise FlowError(
                Failure.of(f"the flow no longer asks for {step.id}", "left_out", FailureClass.UNAVAILABLE, FIX)
            )
        return pending.code

    def accepted(self, run: RunView[Any], step: StepView, result: Returned) -> Json:
        keeps = self._details(run.state, step.id).keeps
        return result.value if keeps is None else keeps(run.state, run.state.steps[step.id], result)

    def schema(self, run: RunView[Any], step: StepState) -> dict[str, Any] | None:
        schema = self._details(run.state, step.key).schema
        return None if schema is None else schema(run.state, step)

    def proposed_calls(self, run: RunView[Any], step: StepState, value: Json) -> Sequence[ProposedCall]:
        proposes = self._details(run.state, step.key).proposes
        return () if proposes is None else proposes(run.state, step, value)

    def draft(self, run: RunView[Any], step: StepState) -> Callable[[Json], bool] | None:
        draft = self._details(run.state, step.key).draft
        return None if draft is None else draft(run.state, step)

    def task(self, run: RunView[Any], entries: Sequence[Entry]) -> Value | None:
        return self._flow.task(run, entries)

    def _details(self, state: RunState, key: str) -> Details:
        if (pending := self._pending(state, key)) is not None:
            return pending.details
        parent = state.steps[key].step.parent
        return PLAIN if parent is None else self._details(state, step_of(parent)).children or PLAIN

    def _pending(self, state: RunState, key: str) -> Pending[Any] | None:
        now = self.advanced(state) if self._pass is None else self._pass
        return now.steps.get(key)

    def outcome(self, run: RunView[Any]) -> Outcome:
        now = self._pass if self._pass is not None else self.advanced(run.state)
        unfinished = self._flow.unfinished
        return outcome_of(now, None if unfinished is None or now.main.done else unfinished(run.state))


Close = Callable[[FlowContext, Outcome, FlowAnswer], Coroutine[Any, Any, Outcome]]


async def _as_it_is(_run: FlowContext, outcome: Outcome, _answer: FlowAnswer) -> Outcome:
    return outcome


@overload
def flow(function: Function, /) -> FunctionFlow: ...


@overload
def flow(
    *,
    name: str = "",
    offline: Mapping[Worker, Callable[..., Any]] | None = None,
    reads_artifacts: bool = False,
) -> Callable[[Function], FunctionFlow]: ...


def flow(function: Function | None = None, /, **given: Any) -> Any:
    """Make a flow of an async function, whose first parameter is the run; those after it are its options.

    ``name`` is that of the function, with hyphens, unless another is given. ``offline`` are rules of the built-in model
    for workers. With ``reads_artifacts``, runs can read the files that earlier runs of the flow wrote under
    ``memory/``. Raises UsageError for a function that cannot be a flow.
    """
    if function is None:

        def made(each: Function) -> FunctionFlow:
            return FunctionFlow(each, **given)

        return made
    if not callable(function):
        raise UsageError(f"{shown(function)} is not a function", "Write @flow above `async def`.")
    return FunctionFlow(function, **given)
