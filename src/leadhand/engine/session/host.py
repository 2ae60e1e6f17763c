"""Carry out attempts and record everything they do in the log. Nothing is decided here."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, cast

from leadhand.core.artifact import BLOB_KEY, blob_of
from leadhand.core.errors import INTERRUPTED, Failure, FailureClass, LeadhandError
from leadhand.core.events import AttemptParked, AttemptReturned, AttemptStarted
from leadhand.core.limits import SharedLimit
from leadhand.core.secret import OF_MODEL
from leadhand.core.value import Json, compact_json, frozen
from leadhand.engine.calls.limiter import NO_PLACE
from leadhand.engine.calls.model_calls import ModelCalls
from leadhand.engine.calls.permits import Bounded, TimeIsUp
from leadhand.engine.calls.tool_calls import ToolCalls
from leadhand.engine.log import RunLog
from leadhand.engine.redaction import Redactor
from leadhand.engine.session.answers import failed
from leadhand.engine.session.attempt import Parked
from leadhand.engine.session.drafts import DraftWriter
from leadhand.engine.session.session import Session
from leadhand.flows.facts import ASSUMED_WINDOW, context_budget, tokens
from leadhand.flows.seam.results import refers
from leadhand.ports import ContextStore, Work
from leadhand.verify.judge import JUDGE, cut_to_part

OnText = Callable[[str, str, str], None]
"""Receives live text: run, attempt, and the latest piece; an empty piece means that the text starts again."""


class Host:
    """Carries out attempts, many at once. Workers have no access to the host or the store."""

    def __init__(
        self,
        store: ContextStore,
        models: ModelCalls,
        tools: ToolCalls,
        redactor: Redactor,
        listener: Callable[[str], OnText | None] = lambda _run_id: None,
    ) -> None:
        """``listener`` returns what receives the live text of a run; None if nobody listens."""
        self._store = store
        self._models = models
        self._tools = tools
        self._redactor = redactor
        self._listener = listener

    async def carry_out(self, work: Work) -> None:
        """Carry out an attempt; its result is in the log when this returns.

        Every failure becomes the attempt's result. Raises only for cancellation, or if the log cannot be written.
        """
        self._log(work).append(self._started(work))
        await self.finish(work)

    def place(self, work: Work) -> AbstractAsyncContextManager[None]:
        """Return what holds a place of each limit of steps that a run shares with others, before its attempt
        takes a slot."""
        shared = work.definition.concurrency.steps
        return self._places(work, shared) if shared else NO_PLACE

    @asynccontextmanager
    async def _places(self, work: Work, shared: tuple[SharedLimit, ...]) -> AsyncGenerator[None]:
        self._tools.limiter.note_waits(self._log(work), work.definition.limits.timeout)
        async with AsyncExitStack() as held:
            for limit in shared:  # in the same order in every run that has the same limits
                most = work.definition.limits.max_workers
                await held.enter_async_context(self._tools.limiter.permit(limit, work.run_id, most))
            yield

    async def aclose(self) -> None:
        """Queue for no shared limit any more. No attempt may be carried out from now on."""
        await self._tools.limiter.aclose()

    async def begin(self, work: Work) -> None:
        """Record the start of an attempt that other processes may start, too. Raises StaleAttempt if one has."""
        log = self._log(work)
        log.secrets.is_current = False
        await log.append(self._started(work), begins=work.attempt.attempt)

    def give_back(self, work: Work) -> None:
        """Record that an attempt that has begun is not finished here."""
        failure = Failure.of("the process that ran it was stopped", INTERRUPTED, FailureClass.LOST)
        self._log(work).append(failed(work, failure))

    async def finish(self, work: Work) -> None:
        """Carry out an attempt whose start is recorded, as :meth:`carry_out` does."""
        log = self._log(work)
        self._tools.limiter.note_waits(log, work.definition.limits.timeout)
        try:
            async with Bounded(work.definition.limits.attempt_timeout):
                returned = await self._result(work, log)
        except Parked as parked:
            await log.append(AttemptParked(attempt=work.attempt.attempt, open_calls=parked.open_calls))
            return
        except TimeIsUp:
            message = f"no result within {work.definition.limits.attempt_timeout:g} s"
            returned = failed(work, Failure.of(message, "timeout", FailureClass.TRANSIENT))
        except LeadhandError:
            raise
        except Exception as error:
            # A bug in Leadhand must fail only this attempt, be visible in the log, and not be retried.
            message = f"internal error: {type(error).__name__}: {error}"
            how = "report this: it is a bug in Leadhand, not in the request"
            returned = failed(work, Failure.of(message, "internal", FailureClass.UNAVAILABLE, how))
        await log.append(returned)

    def _log(self, work: Work) -> RunLog:
        return RunLog(self._store, work.run_id, self._redactor)

    def _started(self, work: Work) -> AttemptStarted:
        return AttemptStarted(attempt=work.attempt.attempt, host=self._store.host)

    async def _result(self, work: Work, log: RunLog) -> AttemptReturned:
        await log.secrets.load()
        work = await with_payloads(work, log)
        draft, listener = None, self._listener(work.run_id)
        if listener is not None:
            seal = log.secrets.sealing(OF_MODEL)
            draft = DraftWriter(self._redactor, partial(listener, work.run_id, work.attempt.attempt), seal.text)
        if work.details.code is None or work.worker.loop != "code":
            return await Session(work, log, self._models, self._tools, draft).carry_out()
        from leadhand.engine.session.code import CodeSession  # few flows have code

        return await CodeSession(work, log, self._models, self._tools, draft).carry_out()


# --- large data -------------------------------------------------------------------------------------------------------

RETURNED = ("results", "as_ordered", "subtasks")
"""What holds the results of subtasks in the briefs of leads."""
RETURNED_SHARE = 0.4
"""The part of a lead's context window that large results fill at most, each its share of it."""


async def with_payloads(work: Work, log: RunLog) -> Work:
    """Return the work with the full results that it needs, and the evidence that it judges, loaded from outside of the
    log. Of a large result in the brief of a lead, as much of the beginning is shown as fits into its share."""
    brief = work.brief
    shares = sum(compact_json(brief[name]).count(BLOB_KEY) for name in RETURNED if name in brief)
    share = _room(work) // shares if shares else 0
    needed: dict[str, Json] = {}

    async def whole(reference: Json) -> Json:
        needed[compact_json(reference)] = data = await log.unpack(reference)
        return data

    async def known(reference: Json) -> Json:  # a flow may show its workers less than they can refer to
        return needed.get(compact_json(reference), reference)

    async def beginning(reference: Json) -> Json:
        return _beginning(await log.unpack(reference), share)

    needs = {
        key: data.model_copy(update={"raw": frozen(await _filled(data.raw, whole))}) if refers(data.raw) else data
        for key, data in work.needs.items()
    }
    if needed or shares:
        loads = {name: beginning if name in RETURNED and shares else known for name in brief}
        brief = {name: await _filled(value, loads[name]) for name, value in brief.items()}
    if work.worker.name == JUDGE and (evidence := brief.get("evidence")):
        brief = {**brief, "evidence": {key: cut_to_part(await log.unpack(each)) for key, each in evidence.items()}}
    return work if brief is work.brief and not needs else replace(work, needs=needs, brief=brief)


def _room(work: Work) -> int:
    """Return how many tokens large results may fill in the brief of a lead."""
    window = work.definition.models.windows.get(work.models[0]) or ASSUMED_WINDOW
    left = context_budget(work.state, work.worker.name) - tokens(dict(work.brief))
    return max(min(int(window * RETURNED_SHARE), left), 0)


async def _filled(value: Any, load: Callable[[Json], Awaitable[Json]]) -> Any:
    """Return JSON with what ``load`` returns in place of the references to large data."""
    if blob_of(value) is not None:
        return await load(value)
    if isinstance(value, Mapping):
        return {name: await _filled(each, load) for name, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [await _filled(each, load) for each in cast("Sequence[Any]", value)]
    return value


def _beginning(returned: Json, most_tokens: int) -> Json:
    """Return what a tool returned, or as much of its beginning as fits."""
    if tokens(returned) <= most_tokens:
        return returned
    text = returned if isinstance(returned, str) else compact_json(returned)
    most = 3 * most_tokens * len(text) // len(text.encode(errors="replace"))
    return {"note": f"shortened: {len(text):,} characters in all", "beginning": text[:most]}
