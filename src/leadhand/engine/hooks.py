"""Run the hooks of a program: in bounded time, and closed where one fails."""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from leadhand.core.errors import HOOK_BLOCKED, HOOK_FAILED, Failure, FailureClass, UsageError
from leadhand.core.events import AnyEvent, RunFinished
from leadhand.core.outcome import failure_gap
from leadhand.core.run import RunDefinition, RunStatus
from leadhand.core.state import RunState
from leadhand.core.tool import CallState, ToolReturn, ToolSpec
from leadhand.core.value import Json, Unfit, one_line, plain_json, shown
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
    Check,
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

    async def before_model(self, work: Work, messages: tuple[Any, ...]) -> Failure | None:
        """Return why a model call is not made, None if it is."""
        if not self.has(work.definition, "before_model"):
            return None
        seen = BeforeModel(**_seen(work), model=work.models[0], messages=messages)
        return await self._refused(work.definition, "before_model", seen, f"a call of {work.models[0]}")

    async def after_model(self, work: Work, reply: ModelReply) -> Failure | None:
        """Return why the reply of a model is not used, None if it is."""
        seen = AfterModel(**_seen(work), model=work.models[0], reply=reply)
        return await self._refused(work.definition, "after_model", seen, f"a reply of {work.models[0]}")

    async def before_tool(self, work: Work, tool: ToolSpec, args: dict[str, Json]) -> ToolDecision:
        """Return what hooks decide on a tool call, each on what those before it left."""
        decided = ToolDecision()
        if not self.has(work.definition, "before_tool"):
            return decided
        now = args
        for name in work.definition.hooks:
            given = copy.deepcopy(now)
            seen = BeforeTool(**_seen(work), tool=tool.name, args=given, effect=tool.effect)
            decision = await self._decide(name, "before_tool", seen, (Block, Change, RequireApproval))
            match decision:
                case Failure():
                    return ToolDecision(failure=decision)
                case Block(reason):
                    return ToolDecision(failure=blocked(name, f"the call of {tool.name}", reason))
                case Change(changed):
                    try:
                        now = plain_json(dict(changed))
                    except (Unfit, TypeError, ValueError) as error:
                        return ToolDecision(failure=failed(name, "before_tool", f"returned {one_line(error)}"))
                    decided = decided._replace(hook=name, args=now) if now != args else decided
                case RequireApproval(reason):
                    decided = decided._replace(hook=name, asks=True, reason=str(reason))
                case _:
                    pass
        return decided

    async def after_tool(
        self, work: Work, result: CallState, returned: ToolReturn | None, failure: Failure | None
    ) -> Failure | None:
        """Return why what a tool returned is not used, None if it is."""
        if not self.has(work.definition, "after_tool"):
            return None
        reply = returned or ToolReturn()
        seen = AfterTool(
            **_seen(work),
            tool=result.tool,
            args=copy.deepcopy(result.args),
            effect=result.effect,
            summary=reply.summary,
            raw=copy.deepcopy(reply.raw),
            sources=reply.sources,
            asks=copy.deepcopy(reply.asks),
            failure=failure,
        )
        return await self._refused(work.definition, "after_tool", seen, f"the result of {result.tool}")

    async def before_answer(
        self, run_id: str, definition: RunDefinition, answer: str, value: Json = None
    ) -> Failure | None:
        """Return why people do not get an answer, None if they do."""
        if not self.has(definition, "before_answer"):
            return None
        seen = BeforeAnswer(run_id=run_id, request=definition.request, answer=answer, value=copy.deepcopy(value))
        return await self._refused(definition, "before_answer", seen, "the answer")

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

    async def _refused(self, run: RunDefinition, point: str, seen: Seen, what: str) -> Failure | None:
        """Return why a hook of a run does not let something pass; None if all of them do."""
        for name in run.hooks:
            match await self._decide(name, point, seen, (Block,)):
                case Failure() as failure:
                    return failure
                case Block(reason):
                    return blocked(name, what, reason)
                case _:
                    pass
        return None

    async def _decide(self, name: str, point: str, seen: Seen, kinds: tuple[type, ...]) -> Decision | Failure:
        """Return what a hook decides, and a failure if it cannot: what it was asked about does not pass then."""
        hook = self._hooks.get(name)
        if hook is None:
            return failed(name, point, "is not in this process")
        check = check_of(hook, point)
        if check is None:
            return None
        try:
            async with asyncio.timeout(hook.timeout):
                decision = await self._called(check, seen)
        except TimeoutError:
            return failed(name, point, f"did not return within {hook.timeout:g} s")
        except Exception as error:
            return failed(name, point, f"raised {type(error).__name__}: {one_line(error)}")
        if decision is not None and not isinstance(decision, kinds):
            named = ", ".join(kind.__name__ for kind in kinds)
            return failed(name, point, f"returned {shown(decision)}, not None or {named}")
        return decision

    async def _called(self, check: Check, seen: Seen) -> Any:
        if inspect.iscoroutinefunction(check):
            return await contained(check(seen))
        returned = await self._threads.run(lambda: check(seen))
        return await contained(returned) if inspect.isawaitable(returned) else returned


def _seen(work: Work) -> dict[str, Any]:
    given = work.step
    return {
        "run_id": work.run_id,
        "request": work.definition.request,
        "step": given.step_id,
        "worker": work.worker.name,
    }


def blocked(name: str, what: str, reason: str) -> Failure:
    """Return the failure of what a hook blocked."""
    how = f"ask for something else, or change the hook {name}"
    return Failure.of(f"the hook {name} blocked {what}: {reason}", HOOK_BLOCKED, FailureClass.REJECTED, how)


def failed(name: str, point: str, what: str) -> Failure:
    """Return the failure of what does not pass because a hook failed."""
    how = f"fix the hook {name}, then retry the run, or ask again"
    return Failure.of(f"the hook {name} {what} (at {point})", HOOK_FAILED, FailureClass.UNAVAILABLE, how)
