"""One run of a flow that is a function, as the engine drives it."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import takewhile
from typing import Any

from pydantic import BaseModel, ValidationError

from leadhand.core import decide as do
from leadhand.core.approval import Question
from leadhand.core.decide import Command, decide, ended_attempts, ending
from leadhand.core.errors import Failure, FailureClass, FlowError
from leadhand.core.events import AnyEvent
from leadhand.core.evolve import foreseen
from leadhand.core.ids import step_of
from leadhand.core.outcome import FlowAnswer, failure_gap
from leadhand.core.run import RunDefinition
from leadhand.core.state import RunState, StepState
from leadhand.core.value import DEEPEST, Json, fitting, one_line, plain_json, shown
from leadhand.core.words.failures import FIX_FLOW
from leadhand.core.worker import Worker as Recorded
from leadhand.flows.flow import Given

from .context import NOTHING, FlowContext, Provided
from .function import FunctionFlow, Worker, name_in
from .orders import WORK, child, work
from .outcomes import answer_now, stated, steps_asked
from .passes import Pass, Stale
from .pending import PLAIN, Checks, Details, Pending
from .results import FlowMisuse, Retry, StepFailed, refers, resolved

GIVEN_UP = Failure.of("the flow no longer asks for it", "left_out", FailureClass.REJECTED, FIX_FLOW)
GO_ON, STOP = "continue", "stop"


class FunctionRun:
    """One run of a flow: its pass, and what the engine asks about its steps."""

    def __init__(
        self,
        flow: FunctionFlow,
        definition: RunDefinition,
        provided: Provided = NOTHING,
    ) -> None:
        self.flow, self.name = flow, flow.name
        self._provided = provided
        self._options = flow.checked_options(definition.options)
        self._pass: Pass | None = None
        self._loaded: dict[tuple[str, int], Json] = {}
        self._loaded_to = 0

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
        self.close()
        self._pass = now = Pass(state, self._whole, self.flow.file, self._loaded, self._provided.clock)
        return now

    async def _whole(self, now: Pass) -> FlowAnswer:
        """Run the function of the flow, and the steps that end the run."""
        context = FlowContext(now, self.flow.own, self._provided)
        made = await self.flow(context, **copy.deepcopy(dict(self._options)))
        try:
            answer = stated(now, made)
            fitting(FlowAnswer, answer)
        except (TypeError, ValueError) as error:
            what = f"the flow {self.name} returned {shown(made)}, which is not an answer: {one_line(error)}"
            raise FlowMisuse(what) from error
        now.answer, ending = answer, self._provided.ending
        return answer if ending is None else await ending.close(context, answer)

    async def prepare(self, state: RunState, load: Callable[[Json], Awaitable[Json]]) -> None:
        """Advance the pass on a committed state, once the large data that it may receive is loaded."""
        newest = takewhile(lambda item: item[1] > self._loaded_to, reversed(state.settled.items()))
        for step in [state.steps[key] for key, _ in newest if key in state.steps]:
            if step.data is not None and refers(step.data.raw) and (step.step.digest or step.step.subtask is not None):
                self._loaded[step.key, step.attempts] = await load(step.data.raw)
        self._loaded_to = state.seq
        self.advanced(state)

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

    def changed_workers(self, state: RunState) -> dict[str, Recorded]:
        """Return the workers that the function defines otherwise today, by the steps that they carry out."""
        found = {key: self._changed_worker(state, key) for key in state.steps}
        return {key: worker for key, worker in found.items() if worker is not None}

    def _changed_worker(self, state: RunState, key: str) -> Recorded | None:
        pending = self._pending(state, key)
        today, known = None if pending is None else pending.recorded, state.worker(state.steps[key].step.worker)
        if today is None or known is None or known.fingerprint == today.fingerprint:
            return None
        return today.evolve(name=name_in(state.worker, today))

    @property
    def diverges(self) -> bool:
        """Whether the flow asks for what is new, and not yet again for what it asked for before."""
        return self._pass is not None and bool(self._pass.strays and self._pass.unclaimed)

    def close(self) -> None:
        """End the pass of the run, which nothing drives any more."""
        if self._pass is not None:
            self._pass.close()

    # --- what the run does next --------------------------------------------------------------------------------------

    def next(self, state: RunState) -> Sequence[Command]:
        """Return the next commands; nothing while the run has to wait."""
        try:
            return [*self._next(state)]
        except (Exception, SystemExit) as error:  # what a flow is made of is user code: it ends its own run
            return [do.End(FlowAnswer(failure=self._fault(error)))]

    def _next(self, state: RunState) -> Iterator[Command]:
        now = self.advanced(state)
        for number, each in enumerate(now.slow):
            yield do.Note(each, f"!slow-{number}")
        if now.main.done:
            for key, pending in now.steps.items():
                if not pending.done and not pending.awaited and key in state.steps:
                    yield do.Note(f"{key} was asked for at line {pending.line} and never awaited", f"!lost-{key}")
            yield from (each for each in now.commands() if isinstance(each, do.Note))
            yield do.End()
            return
        wanted = [*now.commands()]
        yield from self._diverged(state, now, wanted) if wanted and self.diverges else wanted

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
                yield ending(message, "diverged", FailureClass.REJECTED, FIX_FLOW)
                return
        if not state.redone:  # what follows from a result that is another one now is new
            yield do.Note(f"{what}{next(iter(now.unclaimed))}", f"!new-{key}")
        yield from wanted

    def decide(self, state: RunState, command: Command, now: datetime) -> list[AnyEvent]:
        """Return the events that follow from a command; a run ends with the answer of its flow. Raises Refused."""
        if isinstance(command, do.End):
            failure = command.answer.failure
            command = do.End(self.answer(foreseen(state, ended_attempts(state, failure, now), now), failure))
        return decide(state, command, now)

    def answer(self, state: RunState, failure: Failure | None = None) -> FlowAnswer:
        """Return the answer of the run if it ends now, for the reason in ``failure`` or because its flow failed."""
        try:
            now = self._pass if self._pass is not None else self.advanced(state)
            unfinished, error = now.unfinished, now.main.error
            if failure is None and error is not None and not isinstance(error, StepFailed):
                failure = self._fault(error)
            answer = answer_now(now, state, None if unfinished is None or now.main.done else unfinished(state))
            return answer._replace(failure=failure)
        except (Exception, SystemExit) as error:  # what was found is not lost with it
            return FlowAnswer(gaps=[failure_gap("the answer", self._fault(error))], failure=failure)

    def _fault(self, error: BaseException) -> Failure:
        """Return the failure of a run whose flow has raised an error."""
        if isinstance(error, FlowError):
            return error.failure
        message = str(error)
        if not isinstance(error, FlowMisuse):
            at = "" if self._pass is None else self._pass.raised_at(error)
            message = f"the flow {self.name} raised {type(error).__name__}{at}: {one_line(error)}"
        return Failure.of(message, "flow_error", FailureClass.UNAVAILABLE, FIX_FLOW)

    # --- its steps ---------------------------------------------------------------------------------------------------

    def details(self, state: RunState, key: str) -> Details:
        """Return what the flow says of a step besides its input. Raises FlowError for a step of code that the flow of
        this process does not ask for."""
        step, pending = state.steps[key].step, self._pending(state, key)
        if pending is not None:
            found, worker = pending.details, pending.worker
        else:
            parent = step.parent
            found = PLAIN if parent is None else self.details(state, step_of(parent)).children or PLAIN
            worker = self.flow.own.get(step.worker)
            if (recorded := state.worker(step.worker)) is not None and recorded.loop == "code":
                raise FlowError(GIVEN_UP)
        return found if worker is None or found.checks is not None else replace(found, checks=self._checks_of(worker))

    def brief(self, state: RunState, step: StepState) -> dict[str, Any]:
        """Return the whole input of a worker, as one JSON object. Raises FlowError."""
        given, shows = step.step, self.details(state, step.key).shows
        try:
            if given.subtask is not None:
                return work(state, step)
            if given.worker == WORK.name:
                return child(state, step)
            if shows is not None:
                return shows(state, step)
            found = resolved({**given.input}, state)
            found = found if found or given.kind != "ask" else {"request": state.definition.request}
            return plain_json(found, 2 * DEEPEST)  # code of users may change it
        except Exception as error:
            raise FlowError(self._fault(error)) from error

    def _checks_of(self, worker: Worker) -> Checks:
        """Return what says why an answer of a worker of the program is not accepted."""

        def checks(state: RunState, step: StepState, said: Given) -> Sequence[str]:
            answer: Any = said.text if said.value is None else said.value
            try:
                if isinstance(worker.output, type) and issubclass(worker.output, BaseModel):
                    answer = worker.output.model_validate(answer)
                if worker.validate is not None:
                    given, request = resolved({**step.step.input}, state), state.definition.request
                    worker.validate(answer, said._replace(input=given, request=request, deps=self._provided.deps))
            except (Retry, ValidationError) as error:
                return [one_line(error) or "it was not accepted"]
            except (Exception, SystemExit) as error:
                raise FlowError(self._fault(error)) from error
            return []

        return checks

    def _pending(self, state: RunState, key: str) -> Pending[Any] | None:
        now = self.advanced(state) if self._pass is None else self._pass
        return now.steps.get(key)
