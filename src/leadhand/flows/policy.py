"""A flow of one run, with what follows it, as the core and the engine use it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol, cast, get_args

from leadhand.core.commands import Command, Finish, FlowError, Outcome
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.events import Entry
from leadhand.core.outcome import failure_gap
from leadhand.core.run import RunDefinition
from leadhand.core.state import RunState, StepState
from leadhand.core.tool import CallState
from leadhand.core.value import DEEPEST, Json, Unfit, Value, fitting, one_line, plain_json, shown
from leadhand.core.worker import Worker
from leadhand.flows.flow import ProposedCall

from .desk import Code
from .flow import Flow, Result
from .run_view import RunView, StepView
from .seam.function import FunctionRun

Fits = Callable[[Json], list[str]]
"""Return why a value does not fit what was asked for, one sentence each."""


class ClosingStep(Protocol):
    """One step between the end that a flow states and the end of its run. It has steps of its own.

    ``outcome`` is always that of the flow and of the steps before.
    """

    def owns(self, step: StepState) -> bool:
        """Whether a step is one of this step."""
        ...

    def next(self, state: RunState, outcome: Outcome) -> Sequence[Command] | None:
        """Return the next commands before the end with this outcome; [] while it waits, None if nothing is left."""
        ...

    def outcome(self, state: RunState, outcome: Outcome) -> Outcome:
        """Return an outcome with what this step adds to it."""
        ...

    def brief(self, state: RunState, step: StepState, outcome: Outcome) -> dict[str, Any]:
        """Return the input of a worker of this step, as one JSON object."""
        ...

    def schema(self, step: StepState) -> dict[str, Any] | None:
        """Return the JSON schema that the answer of a step is asked for with; None: that of its role."""
        ...

    def problems(self, step: StepState, value: Json) -> list[str]:
        """Return why an answer of a worker does not count, one sentence each."""
        ...

    def accepted(
        self, state: RunState, step: StepState, value: Json, brief: Mapping[str, Any], outcome: Outcome
    ) -> Json:
        """Return the value to record for an answer; ``brief`` is what the worker was shown, with large data loaded."""
        ...

    def code(self) -> Code:
        """Return the code that carries out a step of a role with ``loop="code"``."""
        ...


class FlowPolicy:
    """A flow of one run with the ``closing`` steps. Options are validated once."""

    def __init__(self, flow: Flow, definition: RunDefinition, closing: Sequence[ClosingStep] = ()) -> None:
        self.flow = flow.bound()
        self.name = flow.name
        self._options = flow.checked_options(definition.options)
        self._closing = closing

    @property
    def run(self) -> FunctionRun | None:
        """The run of a flow that is a function, None for another."""
        return self.flow if isinstance(self.flow, FunctionRun) else None

    def view(self, state: RunState) -> RunView[Any]:
        return RunView(state, self._options)

    def next(self, state: RunState) -> Sequence[Command]:
        try:
            wanted = listed(self.flow.next(self.view(state)), get_args(Command), "command")
        except (Exception, SystemExit) as error:  # a flow is user code: what it raises ends its own run, with the cause
            return [Finish(failure=self.error("next", error))]
        end = next((at for at, command in enumerate(wanted) if isinstance(command, Finish)), None)
        if end is None or not self._closing:
            return wanted
        outcome = self._own_outcome(state)
        for each in self._closing:
            commands = each.next(state, outcome)
            if commands is not None:
                return [*wanted[:end], *commands]
            outcome = each.outcome(state, outcome)
        return wanted

    def outcome(self, state: RunState) -> Outcome:
        return self._outcome_before(state, None)

    def changed_worker(self, state: RunState, key: str) -> Worker | None:
        return None if self.run is None else self.run.changed_worker(state, key)

    def _outcome_before(self, state: RunState, last: ClosingStep | None) -> Outcome:
        """Return the outcome of the flow with what the closing steps before ``last`` add (None: all of them)."""
        outcome = self._own_outcome(state)
        for each in self._closing:
            if each is last:
                break
            outcome = each.outcome(state, outcome)
        return outcome

    def _own_outcome(self, state: RunState) -> Outcome:
        try:
            return fitting(Outcome, self.flow.outcome(self.view(state)))
        except (Exception, SystemExit) as error:  # what was found is not lost with it
            failure = self.error("outcome", error)
            done = [each.key for each in state.steps.values() if each.counts and each.ok]
            return Outcome(uses=done, gaps=[failure_gap("the answer", failure)])

    def _closing_of(self, step: StepState) -> ClosingStep | None:
        return next((each for each in self._closing if each.owns(step)), None)

    def brief(self, state: RunState, step: StepState) -> dict[str, Any]:
        if (closing := self._closing_of(step)) is not None:
            return closing.brief(state, step, self._outcome_before(state, closing))
        with self._calling("facts" if type(self.flow).brief is Flow.brief else "brief"):
            return plain_json(self.flow.brief(self.view(state), step), 2 * DEEPEST)  # it encloses results

    def schema(self, state: RunState, step: StepState) -> dict[str, Any] | None:
        if (closing := self._closing_of(step)) is not None:
            return closing.schema(step)
        with self._calling("schema"):
            return self.flow.schema(self.view(state), step)

    def problems(
        self, state: RunState, step: StepState, value: Json, text: str, calls: Sequence[CallState] = ()
    ) -> list[str]:
        if (closing := self._closing_of(step)) is not None:
            return closing.problems(step, value)
        with self._calling("problems"):
            result = Result(text, value, tuple(calls))
            found = self.flow.problems(self.view(state), StepView(step), result)
            return listed([found][: len(found)] if isinstance(found, str) else found, (str,), "sentence")

    def code(self, state: RunState, step: StepState) -> Code | None:
        role = state.worker(step.step.worker)
        if role is None or role.loop != "code":
            return None
        if (closing := self._closing_of(step)) is not None:
            return closing.code()
        with self._calling("code"):
            return self.flow.code(self.view(state), StepView(step))

    def accepted(
        self,
        state: RunState,
        step: StepState,
        value: Json,
        text: str,
        calls: Sequence[CallState] = (),
        brief: Mapping[str, Any] = MappingProxyType({}),
    ) -> Json:
        if (closing := self._closing_of(step)) is not None:
            return closing.accepted(state, step, value, brief, self._outcome_before(state, closing))
        if type(self.flow).accepted is Flow.accepted:
            return value
        with self._calling("accepted"):
            result = Result(text, value, tuple(calls), brief)
            return plain_json(self.flow.accepted(self.view(state), StepView(step), result))

    def task(self, state: RunState, entries: Sequence[Entry]) -> Value | None:
        with self._calling("task"):
            return self.flow.task(self.view(state), entries)

    def proposed_calls(self, state: RunState, step: StepState, value: Json) -> Sequence[ProposedCall]:
        if self._closing_of(step) is not None:
            return ()
        with self._calling("proposed_calls"):
            return listed(self.flow.proposed_calls(self.view(state), step, value), (ProposedCall,), "call")

    def draft(self, state: RunState, step: StepState) -> Callable[[Json], bool] | None:
        if self._closing_of(step) is not None:
            return None
        with self._calling("draft"):
            return self.flow.draft(self.view(state), step)

    def _calling(self, method: str) -> _Calling:
        return _Calling(self, method)

    def error(self, method: str, error: BaseException) -> Failure:
        how = "fix the flow, then resume or retry the run"
        whose = f"{type(self.flow).__name__}.{method}" if self.run is None else f"the flow {self.name}"
        return Failure.of(fault_of(whose, error), "flow_error", FailureClass.UNAVAILABLE, how)


class _Calling:
    """Raises FlowError, with the name of the method, for any exception of a method of a flow, which is user code."""

    __slots__ = ("_method", "_policy")

    def __init__(self, policy: FlowPolicy, method: str) -> None:
        self._policy = policy
        self._method = method

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, Exception | SystemExit):
            raise FlowError(self._policy.error(self._method, error)) from error


def fault_of(method: str, error: BaseException) -> str:
    """Say what is wrong with a method of user code: it raised this error, or returned what is unfit."""
    did = "returned what does not fit" if isinstance(error, Unfit) else f"raised {type(error).__name__}"
    return f"{method} {did}: {one_line(error)}"


def listed(returned: object, types: tuple[type, ...], what: str) -> list[Any]:
    """Return what a method of a flow returned, as a list of values that fit. Raises Unfit."""
    if isinstance(returned, (*types, str, Mapping)) or not isinstance(returned, Iterable):
        raise Unfit(f"{shown(returned)} is not a list of {what}s")
    values = list(cast("Iterable[object]", returned))
    for odd in (value for value in values if not isinstance(value, types)):
        raise Unfit(f"{shown(odd)} is not a {what}")
    return [fitting(type(value), value) for value in values]
