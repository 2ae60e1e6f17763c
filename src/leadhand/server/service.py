"""The service: start, drive and steer runs over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Collection
from dataclasses import replace
from http import HTTPStatus
from weakref import WeakValueDictionary

from leadhand.app.new_limits import advice_to_raise
from leadhand.app.project.toolsets import check_tools
from leadhand.app.run_settings import NewRun
from leadhand.app.runtime.driver import Driver
from leadhand.app.runtime.listings import Retention
from leadhand.app.runtime.runtime import Runtime
from leadhand.app.settings import Settings
from leadhand.app.steering import operator
from leadhand.app.steering.follow_ups import models_of
from leadhand.app.steering.questions import delete_runs
from leadhand.core.errors import ConfigurationError, LeadhandError, NoSuchRun, RunOwned, UsageError
from leadhand.core.events import RunRequested, StepRequested
from leadhand.core.limits import Limits
from leadhand.core.run import ENDED, RunStatus
from leadhand.core.state import RunState
from leadhand.ports.runs import RunListing
from leadhand.server.access import Principal
from leadhand.server.live.drafts import Drafts
from leadhand.server.live.feeds import Feeds
from leadhand.server.problems import Problem, unconfirmed
from leadhand.server.rates import Active, Rates
from leadhand.server.schemas import RunDocument, RunPart
from leadhand.server.start_request import FollowUp, Submission, asked_for, followed_up, most_of, once
from leadhand.server.upkeep import Upkeep

LOGGER = logging.getLogger("leadhand.server")
SEEN_WITHIN_S = 5.0
"""The maximum seconds that a request to resume a run waits until the log shows that the run continues."""
_OF_RUN = ("name", "tags", "instructions", "messages", "tools", "plan_only", "approve_plan")
UNDER_WAY = (RunStatus.QUEUED, RunStatus.RUNNING)
RESTING = frozenset({RunStatus.PAUSED, RunStatus.WAITING, *ENDED})


class Service:
    """Starts, drives and controls runs on a runtime. ``drafts`` must be those that the runtime writes to."""

    def __init__(self, runtime: Runtime, drafts: Drafts, feeds: Feeds, kept: Retention) -> None:
        self.runtime = runtime
        self.drafts = drafts
        self.feeds = feeds
        self.redactor = runtime.redactor
        self.driver = Driver(runtime)
        self.upkeep = Upkeep(runtime, kept)
        self._beginning: WeakValueDictionary[str | None, asyncio.Lock] = WeakValueDictionary()
        """By key, for requests that begin runs: those of one key take turns."""
        runtime.watchers.append(drafts.watch)
        runtime.on_release.append(drafts.release)
        if runtime.cluster is not None:
            live = runtime.cluster.live
            runtime.on_release.append(lambda state: live.again(state.run_id))

    def hang_up(self) -> None:
        """End the streams and the requests that wait, since the server ends."""
        self.feeds.close()

    async def document(self, run_id: str, include: Collection[RunPart] = ()) -> RunDocument:
        """Return the document of a run, with these parts. Raises NoSuchRun."""
        return RunDocument.of(await self.runtime.document(run_id), include)

    # --- starting and driving ------------------------------------------------------------------------------------

    def asked_to_follow(
        self, body: FollowUp, earlier: RunState, principal: Principal
    ) -> tuple[Submission, tuple[str, Settings]]:
        """Return a follow-up as the request to start a run that it stands for, and what ``asked_for`` returns for it.

        Raises as ``asked_for`` does, and ConfigurationError for a tool of the earlier run that is not here.
        """
        before = earlier.definition
        if body.flow in (None, before.flow):
            check_tools(before.tools, self.runtime.toolbox)
        submission = followed_up(body, before, self.runtime.settings, principal)
        request, settings = asked_for(submission, self.runtime, principal)
        if body.model is None and not settings.offline:
            settings = replace(settings, models=models_of(before.models))
        return submission, (request, settings)

    async def start(
        self,
        submission: Submission,
        asked: tuple[str, Settings],
        principal: Principal,
        key: str | None,
        *,
        follows: RunState | None = None,
        traceparent: str = "",
    ) -> tuple[RunState, bool]:
        """Start a run in the background; return its state, and whether it already existed under this key.

        ``asked`` is what ``asked_for`` returns. Raises UsageError and ConfigurationError for an invalid request, and
        Problem (409) for a key of another request.
        """
        request, settings = asked
        try:
            state = await self.runtime.start(
                request,
                flow=submission.flow,
                options=submission.options,
                asked=settings,
                once=once(submission, key, principal.key_id or "") if key is not None else None,
                follows=follows,
                handed_over=True,
                run=NewRun(
                    **{each: getattr(submission, each) for each in _OF_RUN},
                    output=submission.output_schema,
                    detached=True,
                    by=principal.name,
                    key_id=principal.key_id or "",
                    traceparent=traceparent,
                ),
            )
        except UsageError:
            earlier = await self.started_before(submission, principal, key)
            if earlier is None:
                raise
            return earlier, True
        if self.runtime.cluster is None:
            self.driver.drive(state)
        return state, False

    async def started_before(self, submission: Submission, principal: Principal, key: str | None) -> RunState | None:
        """Return the run that this principal started under this key, or None. Raises Problem (409) as above."""
        if key is None:
            return None
        this = once(submission, key, principal.key_id or "")
        try:
            earlier = await self.runtime.load(this.run_id)
        except LeadhandError:
            return None
        if earlier.definition.submission != this.submission:
            raise Problem(
                HTTPStatus.CONFLICT,
                "idempotency_key_reused",
                f"this Idempotency-Key was used for another request, which became {earlier.run_id}",
                "Use a new key for each request.",
            )
        return earlier

    @contextlib.asynccontextmanager
    async def starting(self, rates: Rates, principal: Principal, run_id: str | None = None) -> AsyncGenerator[None]:
        """Let the principal begin a run, or continue ``run_id``, in the block. Raises Problem (429) above a limit.

        Its active runs are those under way, here or in another process; if its key has a limit of its own, also those
        that wait for approval, since an answer continues them.
        """
        most, store = principal.ceilings.max_runs, self.runtime.store
        waiting = () if most is None else (RunStatus.WAITING,)

        async def count(limit: int) -> Active:
            found = [
                sum([len(await store.runs(status=each, key_id=principal.key_id, limit=limit)) for each in statuses])
                for statuses in (UNDER_WAY, waiting)
            ]
            return Active(*found)

        if run_id is not None and (await store.run(run_id)).status in (*UNDER_WAY, *waiting):
            yield
            return
        # Servers that share a database may each begin the last run that a key may have; budgets hold for all of them.
        async with self._beginning.setdefault(principal.key_id, asyncio.Lock()):
            await rates.check_active(principal.key_id, most, count, new=run_id is None)
            yield

    async def _resume(self, state: RunState) -> None:
        """Drive a run at rest, and return when its log shows that it continues, so that the response includes that."""
        going = asyncio.Event()

        def look(now: RunState) -> None:
            if now.status not in RESTING:
                going.set()

        driving = self.driver.drive(state, look)
        seen = asyncio.ensure_future(going.wait())
        await asyncio.wait((driving, seen), timeout=SEEN_WITHIN_S, return_when=asyncio.FIRST_COMPLETED)
        seen.cancel()

    # --- steering -----------------------------------------------------------------------------------------------------

    async def cancel(self, run_id: str, principal: Principal) -> None:
        """Cancel a run for good. Raises NoSuchRun, and UsageError if it has ended."""
        listing = await self.runtime.store.run(run_id)
        if listing.status is RunStatus.CANCELLED:
            return
        _check_goes_on(listing, "cancelled")
        await operator.stop(self.runtime, listing, RunRequested(what="cancel", by=principal.name), until=ENDED)

    async def pause(self, run_id: str, principal: Principal, reason: str) -> None:
        """Pause a run. Raises NoSuchRun, and UsageError if it has ended."""
        listing = await self.runtime.store.run(run_id)
        if listing.status is RunStatus.PAUSED:
            return
        _check_goes_on(listing, "paused")
        request = RunRequested(what="pause", by=principal.name, reason=reason or f"requested by {principal.name}")
        await operator.stop(self.runtime, listing, request, until=frozenset({RunStatus.PAUSED, *ENDED}))

    async def resume(self, run_id: str, principal: Principal, limits: Limits = operator.NONE) -> None:
        """Resume a run as :func:`operator.resume` does. Raises UsageError, RunOwned."""
        if not limits.model_fields_set and not advice_to_raise(await self.runtime.load(run_id)):
            _check_goes_on(await self.runtime.store.run(run_id), "resumed")
        await self._resume(await operator.resume(self.runtime, run_id, limits, by=principal.name))

    async def want(self, run_id: str, request: StepRequested, limits: Limits = operator.NONE) -> None:
        """Send a request to the process that drives the run; grant it here if none does. See ``operator.want``."""
        state = await operator.want(self.runtime, run_id, request, limits)
        if state is not None:
            await self._resume(state)

    async def fork(self, run_id: str, at: int, principal: Principal, limits: Limits = operator.NONE) -> RunState:
        """Start a run that begins with the events of another one. Raises as a confirmed ``operator.fork`` does."""
        key_id, most = principal.key_id or "", most_of(principal, self.runtime.settings)
        shared = principal.ceilings.budgets(key_id), principal.ceilings.shared(key_id)
        state = await operator.fork(
            self.runtime, run_id, at, limits, confirmed=True, by=principal.name, detached=True,
            key_id=key_id, shared=shared, most=most,
        )  # fmt: skip
        self.driver.drive(state)
        return state

    async def delete(self, run_id: str, *, confirmed: bool = False) -> None:
        """Delete a run, and end its streams.

        Raises NoSuchRun, RunOwned for a run that a process drives, and, unless ``confirmed``, Problem (409) for another
        one that has not finished.
        """
        with contextlib.suppress(NoSuchRun):  # events without a row are deleted too
            listing = await self.runtime.store.run(run_id)
            if not confirmed and listing.owner is None and listing.status not in ENDED:
                raise unconfirmed(
                    f"run {run_id} has not finished ({listing.status.value})",
                    f"Cancel it first: POST /api/runs/{run_id}/cancel. To delete it anyway, send ?confirmed=true.",
                )
        loop = asyncio.get_running_loop()
        until = loop.time() + SEEN_WITHIN_S
        while True:
            try:
                await delete_runs(self.runtime, [run_id])
                break
            except RunOwned:
                if (await self.runtime.store.run(run_id)).status not in ENDED or loop.time() > until:
                    raise
                await asyncio.sleep(0.02)  # a run that has ended is about to be released
        self.feeds.forget(run_id)

    async def resume_answered(self, run_id: str) -> None:
        """Resume a run whose approval was answered, unless another process drives it."""
        listing = await self.runtime.store.run(run_id)
        if listing.owner is not None or listing.status is not RunStatus.WAITING:
            return
        try:
            self.driver.drive(await self.runtime.take_over(run_id))
        except RunOwned:
            return
        except ConfigurationError as error:  # the answer is stored, whichever process resumes the run
            LOGGER.warning("run %s was answered but cannot be resumed here: %s %s", run_id, error.what, error.how)


class Live:
    """Connects a runtime, which writes the text of models to ``write``, with the drafts of its service."""

    def __init__(self) -> None:
        self._drafts: Drafts | None = None

    def write(self, run_id: str, attempt: str, piece: str) -> None:
        """Add a piece of an attempt's text."""
        if self._drafts is not None:
            self._drafts.write(run_id, attempt, piece)

    def service(self, runtime: Runtime, kept: Retention | None = None) -> Service:
        """Return the service of a runtime that was opened with :meth:`write`; it keeps the finished runs ``kept``."""
        drafts = self._drafts = Drafts(lambda run_id: feeds.changed(run_id))
        live = runtime.cluster.live if runtime.cluster is not None else None
        feeds = Feeds(runtime.store, drafts, live)
        return Service(runtime, drafts, feeds, kept or Retention())


def _check_goes_on(listing: RunListing, what: str) -> None:
    if listing.status in ENDED:
        raise UsageError(
            f"run {listing.run_id} has ended ({listing.status.value})", f"Only a run that has not ended can be {what}."
        )
