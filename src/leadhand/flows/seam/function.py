"""Flows that are functions: what the decorator makes of one, and one run of it as the engine drives it."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any, overload

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from leadhand.core import commands as do
from leadhand.core.approval import Question
from leadhand.core.commands import Command, FlowError, Outcome
from leadhand.core.errors import Failure, FailureClass, UsageError
from leadhand.core.events import Entry
from leadhand.core.outcome import gap_of
from leadhand.core.state import RunState, StepState
from leadhand.core.value import Json, Value, compact_json, one_line, shown
from leadhand.core.worker import Worker as Recorded
from leadhand.flows.desk import Code
from leadhand.flows.flow import Flow, ProposedCall
from leadhand.flows.flow import Result as Returned
from leadhand.flows.offline.rule import OfflineRequest
from leadhand.flows.refused_options import refusal
from leadhand.flows.run_view import RunView, StepView

from .context import FlowContext
from .details import PLAIN, Details
from .identity import resolved
from .orders import WORK, child, work
from .passes import Pass, Stale
from .pending import Pending
from .results import FlowAnswer, FlowMisuse, Result, Retry, StepFailed
from .worker import Given, Worker

Function = Callable[..., Coroutine[Any, Any, Any]]
FIX = "fix the flow, then retry the run: nothing that is finished is done again"
RESERVED = frozenset({"request", "flow", "options", "limits", "deps", "worker"})
"""Names of what every door takes besides the options of a flow."""
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
        offline: Mapping[Worker, Callable[..., Any]] | None = None,
        workers: Sequence[Recorded] | None = None,
        writer: str = "",
    ) -> None:
        """``workers`` are those of a built-in flow (None: the workers that the function names), with its ``writer``."""
        self.function = function
        self.name = name or function.__name__.replace("_", "-")  # type: ignore[misc]
        self.description = inspect.getdoc(function) or ""  # type: ignore[misc]
        self.offline = {worker.name: rule for worker, rule in (offline or {}).items()}  # type: ignore[misc]
        self.plans = True  # type: ignore[misc]
        self.Options = _options(self.name, function)  # type: ignore[misc, assignment]
        self.writer = writer  # type: ignore[misc]
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
            return self._workers
        named = _named(self.function)
        workers = {each.name: each for each in named if isinstance(each, Worker) and isinstance(each.instructions, str)}
        return [each.recorded() for each in workers.values()]

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

        def begin(of: Pass) -> Coroutine[Any, Any, Any]:
            of.loaded = loaded
            context = FlowContext(of, state)
            context.deps = self.deps
            return self._flow.function(context, **copy.deepcopy(options))

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
        """Whether the flow has asked for a step again; after a take-over, others do not begin."""
        step = state.steps[key].step
        return not step.digest or self._pass is None or key in self._pass.steps

    # --- as a flow of the engine -------------------------------------------------------------------------------------

    def next(self, run: RunView[Any]) -> Iterable[Command]:
        state = run.state
        now = self.advanced(state)
        told = [do.Note(each, f"!slow-{number}") for number, each in enumerate(now.slow)]
        if now.main.done:
            error, made = now.main.error, now.main.value
            failure = None if error is None or isinstance(error, StepFailed) else self._fault(now, error)
            failure = made.failure if isinstance(made, FlowAnswer) else failure
            return [*told, *self._forgotten(now), do.Finish(failure=failure)]
        wanted = list(now.commands())
        if not wanted or not now.strays:
            return [*told, *wanted]
        return [*told, *self._diverged(state, now, wanted)]

    def _diverged(self, state: RunState, now: Pass, wanted: Sequence[Command]) -> Iterator[Command]:
        """Yield what a run does whose flow asks for other steps than before: nothing new, if one of those has acted."""
        key, line = now.strays[0]
        before = next(iter(now.unclaimed), key)
        what = f"the flow asks at line {line} for {key}, which is new, and not yet again for {before}"
        acted = next((each for each in now.unclaimed if state.steps[each].has_acted), None)
        if acted is None:
            if not state.redone:  # else a person had something done again, and what follows from it is new
                yield do.Note(what, f"!new-{key}")
            yield from wanted
            return
        id_ = f"other-{key}"
        asked = state.questions.get(id_)
        if asked is None:
            text = f"{what}. {acted} has acted, or may have: if the flow goes on, this may happen a second time."
            yield do.Ask(Question(id=id_, text=text, choices=(GO_ON, STOP)))
        elif asked.reply == GO_ON:
            yield from wanted
        elif asked.reply is not None:
            message = f"{what}; {acted} has acted, and {asked.by or 'a person'} stopped the run"
            yield do.Finish(failure=Failure.of(message, "diverged", FailureClass.REJECTED, FIX))

    def _forgotten(self, now: Pass) -> Iterator[Command]:
        """Yield notes about steps that were asked for, never awaited, and are not finished."""
        for key, pending in now.steps.items():
            if not pending.done and not pending.awaited and key in now.state.steps:
                yield do.Note(f"{key} was asked for at line {pending.line} and never awaited", f"!lost-{key}")

    def _fault(self, now: Pass, error: BaseException) -> Failure:
        if isinstance(error, FlowMisuse):
            return Failure.of(str(error), "flow_error", FailureClass.UNAVAILABLE, FIX)
        message = (
            f"the flow {self.name} raised {type(error).__name__} at line {now.raised_at(error)}: {one_line(error)}"
        )
        return Failure.of(message, "flow_error", FailureClass.UNAVAILABLE, FIX)

    def brief(self, run: RunView[Any], step: StepState) -> dict[str, Any]:
        state, given = run.state, step.step
        if given.subtask is not None or given.worker == WORK.name:
            return child(state, step) if given.subtask is None else work(state, step)
        shows = None if (pending := self._pending(state, given.step_id)) is None else pending.details.shows
        if shows is not None:
            return shows(state, step)
        found = resolved({**given.input}, state)
        return found if found or given.kind != "ask" else {"request": run.request}

    def problems(self, run: RunView[Any], step: StepView, result: Returned) -> list[str]:
        pending = self._pending(run.state, step.id)
        worker = None if pending is None else pending.worker
        if pending is not None and pending.details.checks is not None:
            return list(pending.details.checks(run.state, run.state.steps[step.id], result))
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
        pending = self._pending(state, key)
        return PLAIN if pending is None else pending.details

    def _pending(self, state: RunState, key: str) -> Pending[Any] | None:
        now = self.advanced(state) if self._pass is None else self._pass
        return now.steps.get(key)

    def outcome(self, run: RunView[Any]) -> Outcome:
        state = run.state
        now = self._pass if self._pass is not None else self.advanced(state)
        error = now.main.error if now.main.done else None
        made = now.main.value if now.main.done and error is None else None
        found = _outcome(made)
        orders = {key: each.order.subtask_keys() for key, each in state.orders.items()}
        mine = {key for key in orders if key in now.steps or not now.main.done}
        asked = [*now.steps, *(each for key in orders if key in mine for each in orders[key])]
        others = [each for key in orders if key not in mine for each in orders[key]]
        begun = [*state.early]  # before an order that does not have them, or that nobody issued
        early = {*now.unclaimed_early(), *(begun if orders or found.answer else ())}
        asked += begun
        asked = [key for key in dict.fromkeys(asked) if key in state.steps]
        left_out = [key for key in dict.fromkeys((*now.unclaimed, *others, *early)) if key in state.steps]
        waived = {key for key in asked if key in now.steps and (now.steps[key].optional or not _counts(now, key))}
        done = (state.steps[key] for key in asked if key not in early)
        used = [each.key for each in done if each.ok and (each.counts or each.step.final)]
        gaps = [gap_of(state, state.steps[error.result.key])] if isinstance(error, StepFailed) else []
        if isinstance(made, FlowAnswer) and made.uses is not None:
            used = [each.key for each in made.uses]
        return found._replace(
            uses=used,
            gaps=[*gaps, *found.gaps],
            waived=[*(waived | now.waived)],
            left_out=left_out,
            returned=now.main.done and error is None,
        )


def _named(function: Function) -> list[object]:
    """Return the values that a function names as globals or from its closure, also in functions inside of it."""
    names: dict[str, None] = {}
    codes: list[CodeType] = [function.__code__]
    for code in codes:  # it grows
        names |= dict.fromkeys(code.co_names)
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
    around = inspect.getclosurevars(function).nonlocals
    return [*(function.__globals__[name] for name in names if name in function.__globals__), *around.values()]


def _counts(now: Pass, key: str) -> bool:
    """Whether the failure of a step is a gap: not if the flow returned without waiting for it."""
    pending = now.steps[key]
    return pending.done or pending.awaited or not now.main.done


def _outcome(made: object) -> Outcome:
    """Return the outcome for what a flow returned: text, a result, an instance of a pydantic model, or a FlowAnswer."""
    match made:
        case None:
            return Outcome()
        case FlowAnswer():
            return Outcome(answer=made.text, value=made.value, gaps=list(made.gaps))
        case Result():
            value = made.state.value
            return Outcome(answer=made.text if value is None else compact_json(value), value=value)
        case BaseModel():
            value = made.model_dump(mode="json")
            return Outcome(answer=compact_json(value), value=value)
        case str():
            return Outcome(answer=made)
        case _:
            return Outcome(answer=compact_json(made), value=made)


def _options(name: str, function: Function) -> type[BaseModel]:
    """Return the options of a flow: the parameters of its function after the first."""
    if not inspect.iscoroutinefunction(function):
        raise UsageError(f"the flow {name} is not a coroutine function", "Define it with `async def`.")
    parameters = [*inspect.signature(function, eval_str=True).parameters.values()]
    if not parameters:
        raise UsageError(f"the flow {name} takes no argument", "Its first parameter is the run: `async def flow(run)`.")
    fields: dict[str, Any] = {}
    for each in parameters[1:]:
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD, each.POSITIONAL_ONLY):
            raise UsageError(f"the flow {name} takes {each}", "Name each option as a parameter of its own.")
        if each.name in RESERVED:
            raise UsageError(f"the flow {name} has an option {each.name!r}, a name that is taken", "Rename it.")
        kind = Any if each.annotation is each.empty else each.annotation
        fields[each.name] = (kind, ... if each.default is each.empty else each.default)
    return create_model(f"Options of {name}", __config__=ConfigDict(extra="forbid", frozen=True), **fields)


@overload
def flow(function: Function, /) -> FunctionFlow: ...


@overload
def flow(
    *, name: str = "", offline: Mapping[Worker, Callable[[OfflineRequest], Any]] | None = None
) -> Callable[[Function], FunctionFlow]: ...


def flow(function: Function | None = None, /, **given: Any) -> Any:
    """Make a flow of an async function, whose first parameter is the run; those after it are its options.

    ``name`` is that of the function, with hyphens, unless another is given. ``offline`` are rules of the built-in model
    for workers. Raises UsageError for a function that cannot be a flow.
    """
    if function is None:

        def made(each: Function) -> FunctionFlow:
            return FunctionFlow(each, **given)

        return made
    if not callable(function):
        raise UsageError(f"{shown(function)} is not a function", "Write @flow above `async def`.")
    return FunctionFlow(function, **given)
