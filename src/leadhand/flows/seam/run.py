"""One run of a flow that is a function, as the engine drives it."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from functools import wraps
from types import MappingProxyType
from typing import Any, Concatenate, ParamSpec, TypeVar

from pydantic import BaseModel, ValidationError

from leadhand.core import commands as do
from leadhand.core.approval import Question
from leadhand.core.commands import Command, FlowError, Outcome
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.events import Entry
from leadhand.core.ids import step_of
from leadhand.core.outcome import failure_gap
from leadhand.core.run import RunDefinition
from leadhand.core.state import RunState, StepState
from leadhand.core.tool import CallState
from leadhand.core.value import DEEPEST, Json, fitting, one_line, plain_json, shown
from leadhand.core.worker import Worker as Recorded
from leadhand.flows.desk import Code
from leadhand.flows.flow import Fits, ProposedCall, fault_of
from leadhand.flows.flow import Result as Returned
from leadhand.verify.judge import Verifier

from .context import FlowContext, Judging
from .details import PLAIN, Details
from .function import FunctionFlow
from .identity import resolved
from .orders import WORK, child, work
from .outcomes import answer_of, outcome_of, outcome_with, steps_asked
from .passes import Pass, Stale
from .pending import Pending
from .results import FlowAnswer, FlowMisuse, Retry, StepFailed
from .worker import Given, version_of

FIX = "fix the flow, then retry the run: nothing that is finished is done again"
GIVEN_UP = Failure.of("the flow no longer asks for it", "left_out", FailureClass.REJECTED, FIX)
_P = ParamSpec("_P")
_T = TypeVar("_T")
GO_ON, STOP = "continue", "stop"


def _of_flow(method: Callable[Concatenate[FunctionRun, _P], _T]) -> Callable[Concatenate[FunctionRun, _P], _T]:
    """Make a method raise FlowError for whatever the code of the flow raises."""

    @wraps(method)
    def guarded(self: FunctionRun, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return method(self, *args, **kwargs)
        except FlowError:
            raise
        except (Exception, SystemExit) as error:
            raise FlowError(self.failed(error)) from error

    return guarded


class FunctionRun:
    """One run of a flow: its pass, and what the engine asks about its steps."""

    def __init__(self, flow: FunctionFlow, definition: RunDefinition) -> None:
        self._flow = flow
        self.name = flow.name
        self._options = flow.checked_options(definition.options)
        self._pass: Pass | None = None
        self.passes = 0
        """How many passes were begun."""
        self.deps: Any = None
        self.fits: Fits | None = None
        self.verifier: Verifier | None = None
        self.judging: Judging | None = None
        self.ending: Callable[[FlowContext, Outcome, FlowAnswer], Coroutine[Any, Any, Outcome]] | None = None
        """Ends the flow with further steps, which give its answer a shape and judge it."""
        self.clock: Callable[[], float] = lambda: 0.0

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
        options = dict(self._options)

        async def whole(context: FlowContext) -> Outcome:
            made = await self._flow.function(context, **copy.deepcopy(options))
            try:
                stated = fitting(Outcome, outcome_with(context.of, made))
            except (TypeError, ValueError) as error:
                what = f"the flow {self.name} returned {shown(made)}, which is not an answer: {one_line(error)}"
                raise FlowMisuse(what) from error
            answer = answer_of(made)
            if answer.failure is not None:
                context.of.failure = answer.failure
                return stated
            return stated if self.ending is None else await self.ending(context, stated, answer)

        def begin(of: Pass) -> Coroutine[Any, Any, Any]:
            of.loaded = loaded
            context = FlowContext(of, state)
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

    def next(self, state: RunState) -> Sequence[Command]:
        """Return the next commands; nothing while the run has to wait."""
        try:
            return self._next(state)
        except (Exception, SystemExit) as error:  # what a flow is made of is user code: it ends its own run
            return [do.Finish(failure=self.failed(error))]

    def _next(self, state: RunState) -> Sequence[Command]:
        now = self.advanced(state)
        notes = [do.Note(each, f"!slow-{number}") for number, each in enumerate(now.slow)]
        if now.main.done:
            error = now.main.error
            failure = now.failure if error is None or isinstance(error, StepFailed) else self._fault(now, error)
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
                    yield do.Conclude(each, GIVEN_UP)
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

    @_of_flow
    def brief(self, state: RunState, step: StepState) -> dict[str, Any]:
        """Return the whole input of a worker, as one JSON object."""
        given, shows = step.step, self._details(state, step.key).shows
        if given.subtask is not None:
            found = work(state, step)
        elif given.worker == WORK.name:
            found = child(state, step)
        elif shows is not None:
            found = shows(state, step)
        else:
            found = resolved({**given.input}, state)
            found = found if found or given.kind != "ask" else {"request": state.definition.request}
        return plain_json(found, 2 * DEEPEST)  # it encloses results

    @_of_flow
    def problems(
        self, state: RunState, step: StepState, value: Json, text: str, calls: Sequence[CallState] = ()
    ) -> list[str]:
        """Return why an answer is not accepted, one sentence each. Raises FlowError."""
        pending = self._pending(state, step.key)
        worker = self._flow.own.get(step.step.worker) if pending is None else pending.worker
        if (checks := self._details(state, step.key).checks) is not None:
            return list(checks(state, state.steps[step.key], Returned(text, value, tuple(calls))))
        if worker is None:
            return []
        answer: Any = text if value is None else value
        try:
            if isinstance(worker.output, type) and issubclass(worker.output, BaseModel):
                answer = worker.output.model_validate(answer)
            if worker.validate is not None:
                given = resolved({**step.step.input}, state)
                worker.validate(answer, Given(state.definition.request, given, text, tuple(calls), self.deps))
        except (Retry, ValidationError) as error:
            return [one_line(error) or "it was not accepted"]
        return []

    def code(self, state: RunState, step: StepState) -> Code | None:
        """Return the code that carries out a step; None for another step. Raises FlowError."""
        worker = state.worker(step.step.worker)
        if worker is None or worker.loop != "code":
            return None
        pending = self._pending(state, step.key)
        if pending is None or (pending.code is None and step.step.kind != "call"):
            what = f"the flow no longer asks for {step.key}"
            raise FlowError(Failure.of(what, "left_out", FailureClass.UNAVAILABLE, FIX))
        return pending.code

    @_of_flow
    def accepted(
        self,
        state: RunState,
        step: StepState,
        value: Json,
        text: str,
        calls: Sequence[CallState] = (),
        brief: Mapping[str, Any] = MappingProxyType({}),
    ) -> Json:
        """Return the value to record for an answer; ``brief`` is what its worker was given. Raises FlowError."""
        if (keeps := self._details(state, step.key).keeps) is None:
            return value
        return plain_json(keeps(state, state.steps[step.key], Returned(text, value, tuple(calls), brief)))

    @_of_flow
    def schema(self, state: RunState, step: StepState) -> dict[str, Any] | None:
        """Return the JSON schema that an answer is asked for with; None: that of its worker."""
        schema = self._details(state, step.key).schema
        return None if schema is None else schema(state, step)

    @_of_flow
    def proposed_calls(self, state: RunState, step: StepState, value: Json) -> Sequence[ProposedCall]:
        """Return the tool calls that an answer proposes; their arguments are validated against the tools' schemas."""
        proposes = self._details(state, step.key).proposes
        return () if proposes is None else proposes(state, step, value)

    @_of_flow
    def draft(self, state: RunState, step: StepState) -> Callable[[Json], bool] | None:
        """Return what decides whether the ``answer`` of a structured answer is shown while it is written."""
        draft = self._details(state, step.key).draft
        return None if draft is None else draft(state, step)

    @_of_flow
    def task(self, state: RunState, entries: Sequence[Entry]) -> BaseModel | None:
        """Return the flow's own part of the run document. Raises FlowError."""
        return self._flow.task(state, self._options, entries)

    def outcome(self, state: RunState) -> Outcome:
        """Return the outcome of the run if it ends now."""
        try:
            now = self._pass if self._pass is not None else self.advanced(state)
            unfinished = self._flow.unfinished
            return outcome_of(now, state, None if unfinished is None or now.main.done else unfinished(state))
        except (Exception, SystemExit) as error:  # what was found is not lost with it
            return AbsentRun().outcome(state)._replace(gaps=[failure_gap("the answer", self.failed(error))])

    def failed(self, error: BaseException) -> Failure:
        """Return the failure of a run whose flow has raised an error."""
        return Failure.of(fault_of(f"the flow {self.name}", error), "flow_error", FailureClass.UNAVAILABLE, FIX)

    def _details(self, state: RunState, key: str) -> Details:
        if (pending := self._pending(state, key)) is not None:
            return pending.details
        parent = state.steps[key].step.parent
        return PLAIN if parent is None else self._details(state, step_of(parent)).children or PLAIN

    def _pending(self, state: RunState, key: str) -> Pending[Any] | None:
        now = self.advanced(state) if self._pass is None else self._pass
        return now.steps.get(key)


class AbsentRun:
    """Stands for a flow that is not in this process, to stop its run."""

    def problems(
        self, state: RunState, step: StepState, value: Json, text: str, calls: Sequence[CallState] = ()
    ) -> list[str]:
        return ["it could not be checked, since the flow of the run is not loaded"]

    def outcome(self, state: RunState) -> Outcome:
        return Outcome(uses=[each.key for each in state.steps.values() if each.counts and each.ok])

    def changed_worker(self, state: RunState, key: str) -> Recorded | None:
        return None
