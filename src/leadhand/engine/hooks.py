"""Run the hooks of a program: in bounded time, and closed where one fails."""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from leadhand.core.conversation import Message
from leadhand.core.errors import HOOK_BLOCKED, HOOK_FAILED, Failure, FailureClass, UsageError
from leadhand.core.events import AnyEvent, RunFinished
from leadhand.core.outcome import failure_gap
from leadhand.core.run import RunDefinition, RunStatus
from leadhand.core.state import RunState
from leadhand.core.tool import CallState, ToolReturn, ToolSpec
from leadhand.core.value import Json, one_line, plain_json, shown
from leadhand.engine.threads import Threads, contained
from leadhand.ports import Work
from leadhand.ports.hooks import (
    AfterModel,
    AfterTool,
    BeforeAnswer,
    BeforeModel,
    BeforeTool,
    Block,
    Change,
    Decision,
    Hook,
    RequireApproval,
    Seen,
    check_of,
    name_of,
)
from leadhand.ports.models import ModelReply

THREADS = 32
"""Blocking hooks that run at once; further ones wait within their own time."""


class ToolDecision(NamedTuple):
    """What hooks decide on a tool call. ``hook`` names the last one that changed it or asks for approval."""

    failure: Failure | None = None
    hook: str = ""
    args: dict[str, Json] | None = None
    asks: bool = False
    reason: str = ""

    def of_call(self, written: dict[str, Json]) -> dict[str, Any]:
        """Return what the question about a call says of the hook; ``written`` are the arguments of the model."""
        changed = () if self.args is None else tuple(n for n, v in self.args.items() if written.get(n, self) != v)
        return {"hook": self.hook, "changed": changed, "reason": self.reason} if self.hook else {}


class Hooks:
    """The hooks of a process. A run has those that were there when it started, by name."""

    def __init__(self, hooks: Iterable[Hook] = ()) -> None:
        """Raises UsageError for what is not a hook, and for two of one name."""
        self._hooks: dict[str, Hook] = {}
        self._threads = Threads(THREADS, "leadhand-hook")
        for hook in hooks:
            name = name_of(hook)
            if name in self._hooks:
                raise UsageError(f"two hooks have the name {name}", "Give one of them another name: name = '…'.")
            self._hooks[name] = hook

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._hooks)

    def missing(self, definition: RunDefinition) -> list[str]:
        """Return the names of the hooks of a run that are not in this process."""
        return [name for name in definition.hooks if name not in self._hooks]

    def has(self, definition: RunDefinition, *points: str) -> bool:
        """Whether a run has a hook for one of these points. One that is not here may be for any."""
        found = (self._hooks.get(name) for name in definition.hooks)
        return any(hook is None or any(check_of(hook, point) for point in points) for hook in found)

    async def before_model(self, work: Work, messages: tuple[Message, ...]) -> Failure | None:
        """Return why a model call is not made, None if it is."""
        seen = BeforeModel(**_seen(work), model=work.models[0], messages=messages)
        return (await self._decided(work.definition, "before_model", f"a call of {seen.model}", seen)).failure

    async def after_model(self, work: Work, reply: ModelReply) -> Failure | None:
        """Return why the reply of a model is not used, None if it is."""
        seen = AfterModel(**_seen(work), model=work.models[0], reply=reply)
        return (await self._decided(work.definition, "after_model", f"a reply of {seen.model}", seen)).failure

    async def before_tool(self, work: Work, tool: ToolSpec, args: dict[str, Json]) -> ToolDecision:
        """Return what hooks decide on a tool call, each on what those before it left."""
        seen = BeforeTool(**_seen(work), tool=tool.name, args=args, effect=tool.effect)
        return await self._decided(work.definition, "before_tool", f"the call of {tool.name}", seen)

    async def after_tool(
        self, work: Work, result: CallState, returned: ToolReturn | None, failure: Failure | None
    ) -> Failure | None:
        """Return why what a tool returned is not used, None if it is."""
        reply = returned or ToolReturn()
        given: dict[str, Any] = {name: getattr(reply, name) for name in ("summary", "raw", "sources", "asks")}
        made: dict[str, Any] = {"tool": result.tool, "args": result.args, "effect": result.effect}
        seen = AfterTool(**_seen(work), **made, **given, failure=failure)
        return (await self._decided(work.definition, "after_tool", f"the result of {seen.tool}", seen)).failure

    async def before_answer(
        self, run_id: str, definition: RunDefinition, answer: str, value: Json = None
    ) -> Failure | None:
        """Return why people do not get an answer, None if they do."""
        seen = BeforeAnswer(run_id=run_id, request=definition.request, answer=answer, value=value)
        return (await self._decided(definition, "before_answer", "the answer", seen)).failure

    async def guarded(self, state: RunState, events: Sequence[AnyEvent]) -> Sequence[AnyEvent]:
        """Return the events that follow from ``state``; if the last one ends the run, with an answer that its hooks let
        pass, whatever wrote it, or with the reason why not in place of it."""
        if not events or not isinstance(end := events[-1], RunFinished):
            return events
        failure = await self.before_answer(state.run_id, state.definition, end.answer, end.value)
        if failure is None:
            return events
        withheld = end.evolve(
            status=RunStatus.CANCELLED if end.status is RunStatus.CANCELLED else RunStatus.FAILED,
            answer=f"The answer is withheld: {failure.message}.",
            value=None,
            sources=(),
            gaps=(failure_gap("the answer", failure),),
            failure=failure,
            judgement=None,
        )
        return [*events[:-1], withheld]

    async def _decided(self, run: RunDefinition, point: str, what: str, seen: Seen) -> ToolDecision:
        """Return what the hooks of a run decide on ``what`` they see, each on what those before it left."""
        decided, now = ToolDecision(), seen.args if isinstance(seen, BeforeTool) else {}
        for name in run.hooks:
            if isinstance(seen, BeforeTool):  # a hook may change what it is given
                seen = replace(seen, args=copy.deepcopy(now))
            decision, problem = await self._decision(name, point, seen)
            if problem:
                return ToolDecision(failure=failed(name, point, problem))
            if isinstance(decision, Block):
                return ToolDecision(failure=blocked(name, what, decision.reason))
            if isinstance(decision, RequireApproval):
                decided = decided._replace(hook=name, asks=True, reason=str(decision.reason))
            elif isinstance(decision, Change) and decision.args != now:
                now = dict(decision.args)
                decided = decided._replace(hook=name, args=now)
        return decided

    async def _decision(self, name: str, point: str, seen: Seen) -> tuple[Decision, str]:
        """Return what a hook decides, and why that is not known: what it was asked about does not pass then."""
        hook = self._hooks.get(name)
        if hook is None:
            return None, "is not in this process"
        if (check := check_of(hook, point)) is None:
            return None, ""
        kinds = (Block, Change, RequireApproval) if point == "before_tool" else (Block,)
        try:
            async with asyncio.timeout(hook.timeout):
                # A plain function may block, and may also return an awaitable.
                made = (
                    check(seen) if inspect.iscoroutinefunction(check) else await self._threads.run(lambda: check(seen))
                )
                decision = await contained(made) if inspect.isawaitable(made) else made
            if isinstance(decision, Change):
                decision = Change(plain_json(dict(decision.args)))
        except TimeoutError:
            return None, f"did not return within {hook.timeout:g} s"
        except Exception as error:
            return None, f"raised {type(error).__name__}: {one_line(error)}"
        if decision is None or isinstance(decision, kinds):
            return decision, ""
        return None, f"returned {shown(decision)}, not None or {', '.join(kind.__name__ for kind in kinds)}"


def _seen(work: Work) -> dict[str, Any]:
    step, worker = work.step.step_id, work.worker.name
    return {"run_id": work.run_id, "request": work.definition.request, "step": step, "worker": worker}


def blocked(name: str, what: str, reason: str) -> Failure:
    """Return the failure of what a hook blocked."""
    how = f"ask for something else, or change the hook {name}"
    return Failure.of(f"the hook {name} blocked {what}: {reason}", HOOK_BLOCKED, FailureClass.REJECTED, how)


def failed(name: str, point: str, what: str) -> Failure:
    """Return the failure of what does not pass because a hook failed."""
    how = f"fix the hook {name}, then retry the run, or ask again"
    return Failure.of(f"the hook {name} {what} (at {point})", HOOK_FAILED, FailureClass.UNAVAILABLE, how)
