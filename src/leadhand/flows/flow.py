"""The public API for flows: a flow decides which assignments a run has and which results its answer uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from leadhand.domain.commands import Command, Expectation, Finish, FlowError, Outcome, ProposedCall
from leadhand.domain.errors import Failure, FailureClass
from leadhand.domain.outcome import may_be_used
from leadhand.domain.run import Gap, Role, RunDefinition
from leadhand.domain.state import AssignmentState, RunState
from leadhand.domain.tool import ToolResult
from leadhand.domain.value import DEEPEST, Json, Unfit, fitting, one_line, plain_json, shown

from .desk import Code
from .offline.rule import Rules
from .refused_options import refusal
from .run_view import AssignmentView, RunView

if TYPE_CHECKING:
    from leadhand.domain.document.report_task import ReportTask


class Result(NamedTuple):
    """The result of a worker, before it is accepted: its ``text``, and its ``value`` for a role with an ``output``.

    ``calls`` are the finished tool calls that it is based on. When the controller checks a result once more, large data
    of these calls is a reference, and ``value`` is what :meth:`Flow.accepted` returned.
    """

    text: str
    value: Json = None
    calls: tuple[ToolResult, ...] = ()


class Flow:
    """A policy for runs of one kind: pure functions of what has happened so far, called after every step.

    Write a subclass with a ``name`` and a ``version``, and define :meth:`roles` and :meth:`next`. The other methods
    have defaults. A flow keeps no state and has no side effects: no clock, no files, no network, no randomness. A run
    keeps the version it was started with. Increase ``version`` if a change would make unfinished runs continue
    differently.
    """

    name: ClassVar[str] = ""
    version: ClassVar[int] = 1
    description: ClassVar[str] = ""
    reads_artifacts: ClassVar[bool] = False
    """Whether runs can read the files that earlier runs of this flow wrote under ``memory/``."""
    plans: ClassVar[bool] = False
    """Whether runs make a plan that a person can approve before work begins."""
    offline: ClassVar[Rules] = {}
    """The rules of the built-in rule-based model for the roles of this flow; see :mod:`leadhand.flows.offline.rule`."""

    class Options(BaseModel):
        """The options of this flow, besides the request. Unknown options are rejected."""

        model_config = ConfigDict(extra="forbid", frozen=True)

    def roles(self, options: Any) -> Sequence[Role]:
        """Return the roles of a run with these options. They are recorded when the run starts."""
        raise NotImplementedError(f"{type(self).__name__} defines no roles")

    def next(self, run: RunView[Any]) -> Iterable[Command]:
        """Return the next commands, ``Assign`` or ``Finish``; return nothing while the run has to wait.

        Called after every batch of events, but never for a run that is cancelled, paused or finished.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define next()")

    def facts(self, run: RunView[Any], assignment: AssignmentView) -> Mapping[str, Any]:
        """Return more input for a worker, besides the input of its assignment and the results that it needs."""
        return {}

    def problems(self, run: RunView[Any], assignment: AssignmentView, result: Result) -> Sequence[str]:
        """Return why a result is not accepted, one sentence each; the worker receives them and tries again."""
        return []

    def accepted(self, run: RunView[Any], assignment: AssignmentView, result: Result) -> Json:
        """Return the value to record for a result without problems; by default, its value as it is.

        Add here what is to be kept of the tool calls: they are complete here, and not part of the run's state later.
        """
        return result.value

    def outcome(self, run: RunView[Any]) -> Outcome:
        """Return the outcome of the run if it ends now. By default, it uses every completed result that counts."""
        done = [each for each in run.state.assignments.values() if each.counts and each.ok]
        text = "\n\n".join(each.data.summary for each in done if each.data is not None and may_be_used(each))
        return Outcome(answer=text, uses=[each.key for each in done])

    def prepared(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the options of a new run, before they are checked, with what this process adds to them."""
        return options

    def check_code(self, options: Any) -> None:
        """Raise UsageError if this process lacks code that a run with these options needs."""

    def code(self, run: RunView[Any], assignment: AssignmentView) -> Code:
        """Return what carries out an assignment of a role with ``loop="code"``: a coroutine function of a desk."""
        raise NotImplementedError(f"{type(self).__name__} has no code for the role {assignment.role}")

    # --- for built-in flows ---------- ---------------------------------------------------------------------------

    def brief(self, run: RunView[Any], assignment: AssignmentState) -> dict[str, Any]:
        """Return the whole input of a worker, as one JSON object."""
        given = assignment.assignment
        brief: dict[str, Any] = {**given.input, **self.facts(run, AssignmentView(assignment))}
        if given.needs:
            brief["needs"] = {key: result_facts(run.state.assignments[key]) for key in given.needs}
        return brief or {"request": run.request}

    def expected(self, run: RunView[Any], assignment: AssignmentState, result: Result) -> Expectation | None:
        """Return what a result lacks of what its task expects in words; None if it expects nothing in words.

        The worker is asked once more. A result that still lacks something counts, and says so.
        """
        return None

    def schema(self, run: RunView[Any], assignment: AssignmentState) -> dict[str, Any] | None:
        """Return the JSON schema that an answer is asked for with: narrower than its role's. None: that of its role."""
        return None

    def task(self, run: RunView[Any]) -> dict[str, Any] | None:
        """Return the ``task`` of the run document: a :class:`ReportTask` as JSON, without its events."""
        return None

    def proposed_calls(self, run: RunView[Any], assignment: AssignmentState, value: Json) -> Sequence[ProposedCall]:
        """Return the tool calls that a result proposes; their arguments are validated against the tools' schemas.

        Of a role with ``elements``, a value can also be one element that was written: ``{"subtasks": [element]}``.
        """
        return []

    def draft(self, run: RunView[Any], assignment: AssignmentState) -> Callable[[Json], bool] | None:
        """Return what decides, from the fields before ``answer`` of a structured answer, whether the text of that field
        is shown while it is written, as a draft of the run's answer. None: it is not shown."""
        return None

    @classmethod
    def checked_options(cls, given: Mapping[str, Any]) -> BaseModel:
        """Return the options of a run. Raises UsageError for unknown or invalid ones."""
        try:
            return cls.Options.model_validate(dict(given))
        except ValidationError as error:
            raise refusal(cls.name, cls.Options, given, error) from error


class AbsentFlow(Flow):
    """Replaces a flow that is not in this process, to stop its run."""

    def problems(self, run: RunView[Any], assignment: AssignmentView, result: Result) -> Sequence[str]:
        return ["it could not be checked, since the flow of the run is not loaded"]

    def outcome(self, run: RunView[Any]) -> Outcome:
        return super().outcome(run)._replace(answer="")


def result_facts(assignment: AssignmentState) -> dict[str, Any] | None:
    """Return a result in the form that the workers that need it receive; None before there is a result."""
    if assignment.data is None:
        return None
    raw = assignment.value if assignment.value is not None else assignment.data.raw
    return {"summary": assignment.data.summary, "raw": raw, "sample": assignment.data.sample}


class FlowPolicy:
    """A flow of one run, as the domain and the engine use it. Options are validated once."""

    def __init__(self, flow: Flow, definition: RunDefinition) -> None:
        self.flow = flow
        self.name = flow.name
        self._options = flow.checked_options(definition.options)

    def view(self, state: RunState) -> RunView[Any]:
        return RunView(state, self._options)

    def next(self, state: RunState) -> Sequence[Command]:
        try:
            return listed(self.flow.next(self.view(state)), get_args(Command), "command")
        except (Exception, SystemExit) as error:  # a flow is user code: what it raises ends its own run, with the cause
            return [Finish(failure=self.error("next", error))]

    def brief(self, state: RunState, assignment: AssignmentState) -> dict[str, Any]:
        with self._calling("facts" if type(self.flow).brief is Flow.brief else "brief"):
            return plain_json(self.flow.brief(self.view(state), assignment), 2 * DEEPEST)  # it encloses results

    def schema(self, state: RunState, assignment: AssignmentState) -> dict[str, Any] | None:
        with self._calling("schema"):
            return self.flow.schema(self.view(state), assignment)

    def problems(
        self, state: RunState, assignment: AssignmentState, value: Json, text: str, calls: Sequence[ToolResult] = ()
    ) -> list[str]:
        with self._calling("problems"):
            result = Result(text, value, tuple(calls))
            found = self.flow.problems(self.view(state), AssignmentView(assignment), result)
            return listed([found][: len(found)] if isinstance(found, str) else found, (str,), "sentence")

    def expected(
        self, state: RunState, assignment: AssignmentState, value: Json, calls: Sequence[ToolResult] = ()
    ) -> Expectation | None:
        with self._calling("expected"):
            return self.flow.expected(self.view(state), assignment, Result("", value, tuple(calls)))

    def code(self, state: RunState, assignment: AssignmentState) -> Code | None:
        role = state.role(assignment.assignment.role)
        if role is None or role.loop != "code":
            return None
        with self._calling("code"):
            return self.flow.code(self.view(state), AssignmentView(assignment))

    def accepted(
        self, state: RunState, assignment: AssignmentState, value: Json, text: str, calls: Sequence[ToolResult] = ()
    ) -> Json:
        if type(self.flow).accepted is Flow.accepted:
            return value
        with self._calling("accepted"):
            result = Result(text, value, tuple(calls))
            return plain_json(self.flow.accepted(self.view(state), AssignmentView(assignment), result))

    def task(self, state: RunState) -> ReportTask | None:
        from leadhand.domain.document.report_task import ReportTask  # only reports have one

        with self._calling("task"):
            task = self.flow.task(self.view(state))
            return None if task is None else ReportTask.model_validate({**task, "events": ()})

    def proposed_calls(self, state: RunState, assignment: AssignmentState, value: Json) -> Sequence[ProposedCall]:
        with self._calling("proposed_calls"):
            return listed(self.flow.proposed_calls(self.view(state), assignment, value), (ProposedCall,), "call")

    def draft(self, state: RunState, assignment: AssignmentState) -> Callable[[Json], bool] | None:
        with self._calling("draft"):
            return self.flow.draft(self.view(state), assignment)

    def outcome(self, state: RunState) -> Outcome:
        try:
            return fitting(Outcome, self.flow.outcome(self.view(state)))
        except (Exception, SystemExit) as error:  # what was found is not lost with it
            failure = self.error("outcome", error)
            done = [each.key for each in state.assignments.values() if each.counts and each.ok]
            gap = Gap(name="the answer", class_=failure.class_, reason=failure.message, next_action=failure.next_action)
            return Outcome(uses=done, gaps=[gap])

    def _calling(self, method: str) -> _Calling:
        return _Calling(self, method)

    def error(self, method: str, error: BaseException) -> Failure:
        how = "fix the flow, then resume or retry the run"
        return Failure.of(
            fault_of(f"{type(self.flow).__name__}.{method}", error), "flow_error", FailureClass.UNAVAILABLE, how
        )


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


def with_roles(flow: Flow, definition: RunDefinition) -> RunDefinition:
    """Complete the definition of a run of 0.1, whose log does not contain the instructions of roles."""
    if definition.roles and all(role.instructions for role in definition.roles):
        return definition
    known = {role.name: role for role in definition.roles}
    roles = [
        role.evolve(instructions=kept.instructions or role.instructions)
        if (kept := known.get(role.name)) is not None
        else role
        for role in flow.roles(flow.checked_options(definition.options))
    ]
    return definition.evolve(roles=tuple(roles))


@cache
def instructions_in(package: str, name: str) -> str:
    """Return the instructions from ``prompts/<name>.md`` of a package: built-in instructions are beside each flow."""
    return (files(package) / "prompts" / f"{name}.md").read_text("utf-8").strip()
