"""Stages of a report that Python classes carry out, and the public classes for them: see :mod:`leadhand.report`."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

from pydantic import BaseModel, ConfigDict, Field

from leadhand.core.errors import FailureClass, ToolError
from leadhand.core.tool import CallState
from leadhand.core.value import Json, Unfit, object_of
from leadhand.core.worker import OWN_TOOLS, Worker
from leadhand.flows.flow import Desk

from .shapes import DraftFinding, DraftReview, Findings, Plan, Task, Verdict
from .stages import Stage, TaskField, instructions

SEARCHING = ("web_search", "web_fetch", OWN_TOOLS)
"""The tools of a stage that researches: those for sources, and those of users that only read."""
OUTPUTS: Mapping[TaskField, type[BaseModel]] = {"plan": Plan, "research": Findings, "feedback": DraftReview}
"""What a model answers to give a field of the task; a draft is text."""


class AgentResult(BaseModel):
    """What a stage returns.

    ``updates`` are new values of fields of the task. ``verdict`` and ``findings`` are those of a stage that reviews the
    draft: a finding is text, or ``{"claim": 3, "problem": "…"}``. With ``ok`` false, the stage failed because of
    ``error``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ok: bool = True
    updates: dict[TaskField, Any] = {}
    verdict: Verdict | None = None
    findings: tuple[DraftFinding, ...] = ()
    error: str | None = Field(default=None, max_length=10_000)


class Agent:
    """A stage of a report. Write a subclass with :meth:`run`; the attributes have defaults.

    ``name`` is the name of the stage, by default that of the class (``FactChecker``: ``fact-checker``); with the name
    of a built-in stage, the class replaces it. It stands ``after`` another stage, by default the writer. ``gives`` are
    the fields of the task for which it is there: by default "feedback", which is a verdict with findings.
    ``instructions`` and ``model`` are those of :meth:`ask`, ``tools`` what :meth:`call` may call.

    Leadhand makes a new instance for each attempt, without arguments. An instance that you pass is copied.
    """

    name: ClassVar[str] = ""
    after: ClassVar[str | None] = None
    instructions: ClassVar[str] = ""
    model: ClassVar[str | None] = None
    tools: ClassVar[Sequence[str]] = ()
    gives: ClassVar[Sequence[TaskField]] = ()

    _desk: Desk | None = None

    async def run(self, task: Task) -> AgentResult:
        """Carry out the stage.

        It is called again after a crash or a wait for approval: calls of :meth:`ask` and :meth:`call` that were
        finished are then answered from the log. Leave effects to tools.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no run()")

    async def ask(self, prompt: str | Mapping[str, Any], output: Any = None) -> Any:
        """Ask the model and return its text; with ``output``, a pydantic model or a JSON schema, what matches it.

        Raises :class:`~leadhand.report.ModelError`.
        """
        return await self._at_desk("ask").ask(prompt, output)

    async def call(self, tool: str, /, **args: Json) -> CallState:
        """Call one of ``tools``. Raises :class:`~leadhand.ToolError` if the call fails."""
        return await self._at_desk("call").call(tool, **args)

    def emit(self, message: str) -> None:
        """Report what the stage is doing, as a line of the run."""
        if self._desk is not None:
            self._desk.emit(message)

    def _at_desk(self, method: str) -> Desk:
        if self._desk is None:
            how = "call it while Leadhand carries the stage out, or replace this method in a test"
            raise RuntimeError(f"{type(self).__name__}.{method} needs a run: {how}")
        return self._desk


@dataclass(frozen=True, kw_only=True)
class BoundAgent:
    """An agent of this process: its ``name``, the class or instance, where its code is, and a digest of its source."""

    name: str
    agent: Agent | type[Agent]
    source: str = ""
    fingerprint: str = ""

    @property
    def description(self) -> str:
        """The docstring of the class, with its indentation removed."""
        kind = self.agent if isinstance(self.agent, type) else type(self.agent)
        return inspect.cleandoc(kind.__doc__ or "")

    def placed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a stage, completed with the attributes of the agent."""
        own = {name: getattr(self.agent, name, None) for name in Stage.model_fields}
        own["instructions"] = self.agent.instructions or (self.agent.__doc__ or "").strip()
        return {**{name: value for name, value in own.items() if value not in (None, "")}, **given, "agent": self.name}

    async def carry_out(self, desk: Desk) -> dict[str, Any]:
        """Carry out a stage with an instance that shares nothing with others, and return the fields of the task that
        it changes."""
        agent = self.agent() if isinstance(self.agent, type) else copy.deepcopy(self.agent)
        agent._desk = desk  # pyright: ignore[reportPrivateUsage]
        task = Task.model_validate({**object_of(desk.brief.get("task")), "events": await desk.lines()})
        fields = {*get_args(TaskField)}
        before = task.model_dump(mode="json", include=fields, warnings=False)
        result: Any = await agent.run(task)
        if not isinstance(result, AgentResult):
            raise Unfit(f"run of {self.name} returned {type(result).__name__}, not an AgentResult")
        if not result.ok:
            message = result.error or f"{self.name} failed and gave no reason"
            raise ToolError(message, type="agent_error", class_=FailureClass.INVALID)
        after = task.model_dump(mode="json", include=fields, warnings=False)
        returned = result.model_dump(mode="json")
        updates = {name: value for name, value in after.items() if value != before[name]} | returned["updates"]
        for name in ("draft", "final_report"):
            if not isinstance(updates.get(name, ""), str):
                raise Unfit(f"the {name} that {self.name} gives has to be text")
        review = {name: returned[name] for name in ("verdict", "findings") if returned[name]}
        return {**updates, "feedback": {**object_of(updates.get("feedback")), **review}}


def worker_of(stage: Stage, agent: BoundAgent | None) -> Worker:
    """Return the worker that carries a stage out; the ``agent`` is that of its class, if it is here."""
    text, researches, code = stage.instructions or "", "research" in stage.gives, bool(stage.agent)
    if not code and stage.built_in is None:
        text = f"{instructions('stage').replace('{instructions}', text)}\n\n{instructions(f'stage-{stage.gives[0]}')}"
    output = {"type": "object"} if code else OUTPUTS.get(stage.gives[0])
    tools = SEARCHING if researches and not code else ()
    return Worker(
        name=stage.name,
        instructions=text or ("" if code else instructions(stage.name)),
        model_role=stage.built_in.model_role if stage.built_in else "",
        output=output,
        tools=tools if stage.tools is None else stage.tools,
        loop="code" if code else "turns" if researches or stage.tools else "reply",
        counts=researches,
        code=agent.source if agent else "",
        fingerprint=agent.fingerprint if agent else "",
        model=stage.model,
    )
