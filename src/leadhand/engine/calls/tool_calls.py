"""Tool calls: validated, limited in time, recorded in the log at both ends, and isolated from the rest of the
process.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from math import inf
from secrets import token_hex
from typing import Any, cast

from pydantic_core import to_json

from leadhand.core.approval import Question
from leadhand.core.artifact import pack
from leadhand.core.decide.attempts import retry_after_s
from leadhand.core.errors import Failure, FailureClass, StaleAttempt, ToolError
from leadhand.core.events import QuestionAnswered, QuestionAsked, ToolCallBegan, ToolCallReturned
from leadhand.core.ids import question_id
from leadhand.core.tool import (
    AskPerson,
    CachedFrom,
    CallState,
    Delegate,
    Effect,
    ToolReturn,
    ToolSpec,
)
from leadhand.core.value import Json
from leadhand.core.words.failures import asks_person, indeterminate, no_such_secret, unreadable
from leadhand.engine.calls.limiter import Limiter
from leadhand.engine.calls.permits import Bounded, TimeIsUp, rest
from leadhand.engine.calls.tool_cache import ToolCache, may_keep
from leadhand.engine.gate import argument_problems
from leadhand.engine.hooks import Hooks
from leadhand.engine.log import RunLog
from leadhand.engine.redaction import REDACTED
from leadhand.engine.secrets import NoSuchSecret
from leadhand.engine.threads import OnLoop, Threads, contained, failure_of
from leadhand.engine.tool_returns import Unreadable, is_small, kept_asks, returned_value
from leadhand.ports import (
    BoundTool,
    Caller,
    Clock,
    ContextStore,
    Files,
    Library,
    Replied,
    Spending,
    ToolContext,
    Web,
    Work,
    Workshop,
)

LOGGER = logging.getLogger("leadhand.tools")
THREADS = 32
"""Maximum parallel blocking calls; further ones wait within their own timeout."""


class ToolCalls:
    """Makes the tool calls of attempts. There is one per process."""

    def __init__(
        self,
        bound: Callable[[ToolSpec], BoundTool | None],
        web: Callable[[bool], Web],
        clock: Clock,
        store: ContextStore,
        library: Callable[[bool, str, bool], Library] | None = None,
        workshop: Workshop | None = None,
        limiter: Limiter | None = None,
        hooks: Hooks | None = None,
        deps: Callable[[str], Any] = lambda _run_id: None,
        spending: Callable[[RunLog, Work, str], Spending] | None = None,
    ) -> None:
        """``bound`` returns a tool with its code, ``web`` the services, offline or not; ``library`` the documents:
        offline or not, of a directory, and whether of nothing else. ``deps`` returns what the program gives the tools
        of a run, ``spending`` what books the spending of a call.
        """
        self._spending = spending
        self.limiter = limiter or Limiter(store, clock)
        self._cache = ToolCache(store)
        self._workshop = workshop
        self.hooks = hooks or Hooks()
        self._bound, self._deps = bound, deps
        self._library = library
        self._store = store
        self._web = web
        self._clock = clock
        self.threads = Threads(THREADS, "leadhand-tool")
        """Of functions of users that block."""
        self._conversions = Threads(THREADS, "leadhand-tool")  # of their own: async tools wait for no blocking ones

    def unfit(
        self, tool: ToolSpec, args: dict[str, Json], caller: Callable[[], Caller] | None = None
    ) -> Failure | None:
        """Return why ``tool`` cannot be called with these arguments, by the worker ``caller``; None if it can."""
        if problems := argument_problems(tool, args):
            return Failure.of("; ".join(problems), "bad_arguments", FailureClass.INVALID)
        if REDACTED.encode() in to_json(args):
            message = f"an argument of {tool.name} is a secret and was redacted"
            how = "store the secret in an environment variable that the tool reads"
            return Failure.of(message, "secret_argument", FailureClass.UNAVAILABLE, how)
        bound = self._bound(tool)
        if not tool.delegate and bound is None:
            where = f" (it came from {tool.import_path})" if tool.import_path else ""
            message = f"the tool {tool.name} is not in this process{where}"
            how = "pass the tool: --tools FILE, or Leadhand(tools=[…])"
            return Failure.of(message, "unknown_tool", FailureClass.UNAVAILABLE, how)
        try:
            if caller is not None and bound is not None and bound.check is not None:
                bound.check(args, caller())
        except ToolError as error:  # nobody is asked to approve a call that would be refused
            return error.failure
        return None

    async def confirm(self, tool: ToolSpec) -> None:
        """Raise ToolError if the source of a tool offers another one now, as far as it can be reached."""
        if (bound := self._bound(tool)) is not None and bound.confirm is not None:
            await bound.confirm()

    def context(
        self, run_id: str, call_id: str, offline: bool, documents: str, only_documents: bool, **more: Any
    ) -> ToolContext:
        """Return what a tool receives besides its arguments; it may use all of it on any thread."""
        library = self._library and self._library(offline, documents, only_documents)
        return ToolContext(
            run_id=run_id,
            call_id=call_id,
            offline=offline,
            web=cast("Any", OnLoop(self._web(offline))),
            now=self._clock.now,
            library=library and cast("Any", OnLoop(library)),
            workshop=self._workshop and cast("Any", OnLoop(self._workshop)),
            deps=self._deps(run_id),
            **more,
        )

    async def call(
        self, log: RunLog, work: Work, call_id: str, tool: ToolSpec, args: dict[str, Json], changed_by: str = ""
    ) -> CallState:
        """Call ``tool`` with arguments that fit, and record the start and the end of the call.

        Failures are returned, never raised. A transient one is returned only after the retries of the tool, unless the
        subtask of ``work`` names the tool: then another attempt makes the call again. A call waits until the limits of
        its tool allow it, and is not made if an earlier result can be used again.

        For the effects ``idempotent`` and ``once``, the start is committed before the call begins. A ``once`` call is
        refused if the attempt is no longer current. The tool sees the todos and files of ``work``, and who does it.
        ``changed_by`` is the hook that changed the arguments.
        """
        call = CallState(call_id, tool.name, args, tool.effect, changed_by=changed_by)
        tries, result = work.tries_of(call_id), await self._make(log, work, tool, call)
        while (wait_s := self._wait_s(work, tool, result, tries)) is not None:
            await rest(self._clock, wait_s, f"another try of {tool.name}")
            tries, result = tries + 1, await self._make(log, work, tool, call)
        return result

    def _wait_s(self, work: Work, tool: ToolSpec, result: CallState, tries: int) -> float | None:
        """Return the seconds after which a call is made again that failed ``tries`` times before; None if it is not."""
        failure = result.failure
        if failure is None or failure.class_ is not FailureClass.TRANSIENT or work.names(tool.name):
            return None
        key, limits = f"{work.run_id}/{result.call_id}/{tries}", work.definition.limits
        wait_s = retry_after_s(failure, tries, key, limits, tool)
        deadline = work.state.deadline
        left_s = (deadline - self._clock.now()).total_seconds() if deadline else inf
        return None if wait_s is None or wait_s >= left_s else wait_s

    async def _make(self, log: RunLog, work: Work, tool: ToolSpec, call: CallState) -> CallState:
        """Make a call when the limits of its tool allow it, unless an earlier result can be used again."""
        run, cached = work.definition, self._cache.name(tool, call.args, work.definition)
        used = None if self.hooks.has(run, "after_tool") else cached
        if (found := await self._used_again(log, work, call, used)) is not None:
            return found
        async with self.limiter.permit(tool.at_once, log.run_id):
            if tool.rate:
                await self.limiter.pass_rate(tool, log.run_id)
            if tool.concurrency or tool.rate:  # while this call waited, another one may have found what it asks for
                found = await self._used_again(log, work, call, used)
            return found or await self._call(log, work, tool, call, cached)

    async def _used_again(self, log: RunLog, work: Work, call: CallState, name: str | None) -> CallState | None:
        """Return a cached result, and record that the call was not made; None if it has to be made."""
        kept = await self._cache.find(name, log) if name is not None else None
        if kept is None:
            return None
        result = call._replace(summary=kept.summary, raw=kept.raw, sources=kept.sources, sample=kept.sample)
        await self._returned(log, work, result, _began(work, call), cached=kept.cached)
        return result

    async def _call(self, log: RunLog, work: Work, tool: ToolSpec, call: CallState, cached: str | None) -> CallState:
        """Make a call, and keep its result under the name ``cached``."""
        current = work.attempt.attempt if tool.effect is Effect.ONCE else None
        placed = log.append(_began(work, call), current=current)
        if tool.effect is not Effect.PURE:
            try:
                await placed
            except StaleAttempt as stale:
                return call._replace(failure=Failure.of(stale.what, "stale_attempt", FailureClass.LOST))
        run, began_at = work.definition, time.monotonic()
        context = self.context(
            log.run_id,
            f"{log.run_id}/{work.effect_key(call)}",
            run.offline,
            run.documents,
            run.only_documents,
            todos=work.state.todos,
            files=Files(work.artifacts, cast("Any", OnLoop(self._store)).blob),
            caller=work.caller,
            emit=partial(_emit, asyncio.get_running_loop(), log, work.attempt.attempt),
            ask=partial(self._ask, log, call.call_id),
            spending=self._spending and cast("Any", OnLoop(self._spending(log, work, call.call_id))),
        )
        returned, failure, written = await self._outcome(log, work, tool, call, context)
        withheld = await self.hooks.after_tool(work, call, returned, failure)
        if withheld is not None:
            returned, failure = without_result(tool, failure, withheld)
        reply = returned or ToolReturn()
        given = {"summary": reply.summary, "raw": reply.raw, "sources": reply.sources, "sample": reply.sample}
        asks, files = kept_asks(reply.asks)
        result = call._replace(**given, asks=asks, failure=failure)
        took_ms = round((time.monotonic() - began_at) * 1_000)
        raw = await self._returned(log, work, result, written=written, files=files, duration_ms=took_ms)
        if cached is not None and tool.cache_s is not None and failure is None:
            check = partial(may_keep, reply)
            if check() if is_small(reply) else await self._conversions.run(check):
                origin = CachedFrom(run_id=log.run_id, call_id=call.call_id, at=self._clock.now())
                await self._cache.keep(cached, tool.cache_s, reply, raw, origin)
        return result

    async def _ask(self, log: RunLog, call_id: str, text: str, choices: Sequence[str], seconds: float) -> str | None:
        """Ask a person while a call goes on, and return the reply; None if nobody replies for some ``seconds``."""
        id_, until = question_id(call_id, token_hex(4)), self._clock.now() + timedelta(seconds=max(seconds, 0))
        asked = Question(id=id_, text=text, choices=tuple(choices), expires_at=until)
        (entry,) = await log.append(QuestionAsked(question=asked))
        async with aclosing(self._store.follow(log.run_id, entry.seq)) as batches:
            async for batch in batches:
                for event in (each.event for each in batch):
                    if isinstance(event, QuestionAnswered) and event.question_id == id_:
                        return None if event.expired else await log.secrets.reveal(event.text)
        return None

    async def _outcome(
        self, log: RunLog, work: Work, tool: ToolSpec, call: CallState, context: ToolContext
    ) -> tuple[ToolReturn | None, Failure | None, str]:
        """Run the code of a tool with the secrets of its arguments, and return its outcome with references to secrets,
        and its data as JSON.

        Leadhand's own tools of runs neither get secrets nor are taken for somebody else's.
        """
        args, given, replied = call.args, list[str](), work.replied(call.call_id)
        try:
            if not tool.keeps_references:
                args = await log.secrets.reveal(args, given)
            if replied is not None:  # it is for the tool that asked
                text, state = await log.secrets.reveal([replied.text, replied.state], given)
                context = replace(context, replied=Replied(text, state))
        except NoSuchSecret as missing:
            return None, no_such_secret(str(missing)), ""
        returned, failure = await self.run(tool, args, context, work)
        of: dict[str, Any] = {"origin": tool.origin, "tool": tool.name, "given": given, "args": call.args}
        of["foreign"], written = not tool.keeps_references, ""
        if returned is not None:
            seal = partial(log.sealed_return, returned, **of)
            returned, written = seal() if is_small(returned) else await self._conversions.run(seal)
        return returned, failure and log.sealed(failure, **of), written

    async def _returned(
        self,
        log: RunLog,
        work: Work,
        result: CallState,
        *before: ToolCallBegan,
        written: str = "",
        files: Mapping[str, bytes] | None = None,
        **more: Any,
    ) -> Json:
        """Record the end of a call, after its start if that is given, with the content of ``files`` that it wrote, and
        return its data, which are ``written`` so as JSON, as the log has them."""
        convert = partial(pack, result.raw, written)  # a large payload takes a while
        raw, blobs = convert() if is_small(result.raw) else await self._conversions.run(convert)
        event = ToolCallReturned(
            attempt=work.attempt.attempt,
            call_id=result.call_id,
            tool=result.tool,
            ok=result.failure is None,
            summary=result.summary,
            raw=raw,
            sources=result.sources,
            sample=result.sample,
            asks=result.asks,
            failure=result.failure,
            **more,
        )
        await log.append(*before, event, blobs={**blobs, **(files or {})})
        return raw

    async def run(
        self, tool: ToolSpec, args: dict[str, Json], context: ToolContext, work: Work | None = None
    ) -> tuple[ToolReturn | None, Failure | None]:
        """Run the code of a tool within its time, and return what it returned or why it failed; nothing is recorded."""
        bound = self._bound(tool)
        if tool.delegate:
            return _delegated(tool, args, work), None
        if bound is None:
            raise LookupError(f"the tool {tool.name} is not in this process")
        try:
            async with Bounded(tool.timeout_s):
                if not bound.is_async:
                    call = partial(bound.call, args, context)
                    return _asking(tool, await self.threads.run(lambda: returned_value(call(), tool.output)))
                value = await contained(bound.call(args, context))
                if is_small(value):
                    return _asking(tool, returned_value(value, tool.output))
                return _asking(tool, await self._conversions.run(partial(returned_value, value, tool.output)))
        except Exception as error:  # A tool is user code: any exception becomes the failure of this call.
            return None, _failure(tool, error)


def _asking(tool: ToolSpec, returned: ToolReturn) -> tuple[ToolReturn, Failure | None]:
    """Return what a tool returned, as a failure if it asks a person first."""
    asked = next((each for each in returned.asks if isinstance(each, AskPerson)), None)
    return (returned, None) if asked is None else (ToolReturn(asks=(asked,)), asks_person(tool.name, asked.text))


def without_result(
    tool: ToolSpec, failure: Failure | None, withheld: Failure
) -> tuple[ToolReturn | None, Failure | None]:
    """Return the outcome of a call whose result a hook does not let pass.

    A call with effect ``once`` was made anyway: it stays made, or in doubt, so that nothing repeats it.
    """
    if tool.effect is not Effect.ONCE:
        return None, withheld
    if failure is not None:
        return None, failure.evolve(message=f"{tool.name} failed; {withheld.message}")
    return ToolReturn(summary=f"{tool.name} was called; {withheld.message}"), None


def _failure(tool: ToolSpec, error: Exception) -> Failure:
    """Return the failure of a call whose tool raised an error."""
    if isinstance(error, ToolError):
        failure = error.failure
    elif isinstance(error, TimeIsUp):
        how = "try again when its service responds, or give the tool more time with its timeout"
        message = f"{tool.name} did not return within {tool.timeout_s:g} s"
        failure = Failure.of(message, "timeout", FailureClass.TRANSIENT, how)
    else:
        LOGGER.debug("the tool %s raised", tool.name, exc_info=error)
        how = f"fix the tool; to see the traceback, use leadhand tools call {tool.name} --debug"
        failure = failure_of(error, tool.name, how)
    if tool.effect is not Effect.ONCE:
        return failure
    if isinstance(error, Unreadable):
        return unreadable(tool.name, failure)
    # The call may have happened, or may still happen on its abandoned thread, so it must not be repeated.
    unsure = isinstance(error, OSError) or failure.class_ is FailureClass.TRANSIENT
    return indeterminate(tool.name, failure.message) if unsure and not failure.not_made else failure


def _emit(loop: asyncio.AbstractEventLoop, log: RunLog, attempt: str, message: object) -> None:
    """Record what a tool reports, from any thread."""
    loop.call_soon_threadsafe(log.note, attempt, str(message))


def _delegated(tool: ToolSpec, args: dict[str, Json], work: Work | None) -> ToolReturn:
    """Return what a tool that delegates asks for: the worker of its name, else another one like the caller."""
    worker = tool.name if work is not None and work.state.is_worker(tool.name) else None
    key = "" if tool.polling else json.dumps([tool.name, args], sort_keys=True)
    return ToolReturn(asks=(Delegate(title=tool.name, worker=worker, input=args, key=key),))


def _began(work: Work, call: CallState) -> ToolCallBegan:
    return ToolCallBegan(
        attempt=work.attempt.attempt,
        call_id=call.call_id,
        tool=call.tool,
        args=call.args,
        effect=call.effect,
        changed_by=call.changed_by,
    )
