"""The public API for flows: a flow decides which steps a run has and which results its answer uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pydantic import BaseModel, ValidationError

from leadhand.core.commands import Command, Outcome
from leadhand.core.events import Entry
from leadhand.core.outcome import may_be_used
from leadhand.core.state import StepState
from leadhand.core.tool import CallState
from leadhand.core.value import Json, Value
from leadhand.core.worker import Worker

from .desk import Code
from .offline.rule import Rules
from .refused_options import refusal
from .run_view import RunView, StepView

if TYPE_CHECKING:
    from leadhand.verify.material import Material


class ProposedCall(NamedTuple):
    """A tool call that a result proposes, to be validated against the tool's schema; ``where`` is its name in messages.

    If it is not ``complete``, results that it needs will supply the missing arguments. ``output`` is the JSON schema of
    the result, if one is proposed, ``input`` that of the arguments for a worker. Without a call, ``tool`` is "".
    """

    where: str
    tool: str
    args: Mapping[str, Json]
    complete: bool = True
    output: Mapping[str, Json] | None = None
    input: dict[str, Json] | None = None


class Result(NamedTuple):
    """The result of a worker, before it is accepted: its ``text``, and its ``value`` for a role with an ``output``.

    ``calls`` are the finished tool calls that it is based on. When the controller checks a result once more, large data
    of these calls is a reference, and ``value`` is what :meth:`Flow.accepted` returned. ``brief`` is what the worker
    was given, when the result is accepted.
    """

    text: str
    value: Json = None
    calls: tuple[CallState, ...] = ()
    brief: Mapping[str, Any] = MappingProxyType({})


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
    writer: ClassVar[str] = ""
    """The role that corrects answers; "": the role of the step that wrote the text."""
    offline: ClassVar[Rules] = {}
    """The rules of the built-in rule-based model for the roles of this flow; see :mod:`leadhand.flows.offline.rule`."""

    class Options(Value):
        """The options of this flow, besides the request. Unknown options are rejected."""

    def bound(self) -> Flow:
        """Return the flow of one run; for most flows, it is the same for all runs."""
        return self

    def roles(self, options: Any) -> Sequence[Worker]:
        """Return the roles of a run with these options. They are recorded when the run starts."""
        raise NotImplementedError(f"{type(self).__name__} defines no roles")

    def next(self, run: RunView[Any]) -> Iterable[Command]:
        """Return the next commands, ``IssueStep`` or ``Finish``; return nothing while the run has to wait.

        Called after every batch of events, but never for a run that is cancelled, paused or finished.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define next()")

    def facts(self, run: RunView[Any], step: StepView) -> Mapping[str, Any]:
        """Return more input for a worker, besides the input of its step and the results that it needs."""
        return {}

    def problems(self, run: RunView[Any], step: StepView, result: Result) -> Sequence[str]:
        """Return why a result is not accepted, one sentence each; the worker receives them and tries again."""
        return []

    def accepted(self, run: RunView[Any], step: StepView, result: Result) -> Json:
        """Return the value to record for a result without problems; by default, its value as it is.

        Add here what is to be kept of the tool calls: they are complete here, and not part of the run's state later.
        """
        return result.value

    def outcome(self, run: RunView[Any]) -> Outcome:
        """Return the outcome of the run if it ends now. By default, it uses every completed result that counts."""
        done = [each for each in run.state.steps.values() if each.counts and each.ok]
        text = "\n\n".join(each.data.summary for each in done if each.data is not None and may_be_used(each))
        return Outcome(answer=text, uses=[each.key for each in done])

    def prepared(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the options of a new run, before they are checked, with what this process adds to them."""
        return options

    def check_code(self, options: Any) -> None:
        """Raise UsageError if this process lacks code that a run with these options needs."""

    def code(self, run: RunView[Any], step: StepView) -> Code:
        """Return what carries out a step of a role with ``loop="code"``: a coroutine function of a desk."""
        raise NotImplementedError(f"{type(self).__name__} has no code for the role {step.worker}")

    # --- for built-in flows ---------- ---------------------------------------------------------------------------

    def brief(self, run: RunView[Any], step: StepState) -> dict[str, Any]:
        """Return the whole input of a worker, as one JSON object."""
        given = step.step
        brief: dict[str, Any] = {**given.input, **self.facts(run, StepView(step))}
        if given.needs:
            brief["needs"] = {key: result_facts(run.state.steps[key]) for key in given.needs}
        return brief or {"request": run.request}

    def schema(self, run: RunView[Any], step: StepState) -> dict[str, Any] | None:
        """Return the JSON schema that an answer is asked for with: narrower than its role's. None: that of its role."""
        return None

    def task(self, run: RunView[Any], entries: Sequence[Entry]) -> Value | None:
        """Return the flow's own part of the run document, its ``task``; ``entries`` are the log of the run."""
        return None

    def proposed_calls(self, run: RunView[Any], step: StepState, value: Json) -> Sequence[ProposedCall]:
        """Return the tool calls that a result proposes; their arguments are validated against the tools' schemas.

        Of a role with ``elements``, a value can also be one element that was written: ``{"subtasks": [element]}``.
        """
        return []

    def material(self, run: RunView[Any]) -> Material | None:
        """Return what the answer is judged beside; None: the results that it uses."""
        return None

    def draft(self, run: RunView[Any], step: StepState) -> Callable[[Json], bool] | None:
        """Return what decides, from the fields before ``answer`` of a structured answer, whether the text of that field
        is shown while it is written, as a draft of the run's answer. None: it is not shown."""
        return None

    def checked_options(self, given: Mapping[str, Any]) -> BaseModel:
        """Return the options of a run. Raises UsageError for unknown or invalid ones."""
        try:
            return self.Options.model_validate(dict(given))
        except ValidationError as error:
            raise refusal(self.name, self.Options, given, error) from error


class AbsentFlow(Flow):
    """Replaces a flow that is not in this process, to stop its run."""

    def problems(self, run: RunView[Any], step: StepView, result: Result) -> Sequence[str]:
        return ["it could not be checked, since the flow of the run is not loaded"]

    def outcome(self, run: RunView[Any]) -> Outcome:
        return super().outcome(run)._replace(answer="")


def result_facts(step: StepState) -> dict[str, Any] | None:
    """Return a result in the form that the workers that need it receive; None before there is a result."""
    if step.data is None:
        return None
    raw = step.value if step.value is not None else step.data.raw
    return {"summary": step.data.summary, "raw": raw, "sample": step.data.sample}


@cache
def instructions_in(package: str, name: str) -> str:
    """Return the instructions from ``prompts/<name>.md`` of a package: built-in instructions are beside each flow."""
    return (files(package) / "prompts" / f"{name}.md").read_text("utf-8").strip()
