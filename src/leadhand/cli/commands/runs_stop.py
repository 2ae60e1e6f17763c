"""``leadhand runs pause`` and ``cancel``: stop a run, for now or for good."""

from __future__ import annotations

from leadhand.app.operator import stop
from leadhand.cli.errors import Exit
from leadhand.cli.options import DEFAULT_STORE, RunId, StoreFlags, open_reader
from leadhand.cli.run_lookup import definition_of, find_run
from leadhand.cli.terminal.messages import tools_of
from leadhand.cli.terminal.streams import say
from leadhand.domain.errors import UsageError
from leadhand.domain.events import CancelRequested, PauseRequested
from leadhand.domain.run import ENDED, RunStatus
from leadhand.runs import user


async def runs_pause(run_id: RunId, /, *, store: StoreFlags = DEFAULT_STORE) -> int:
    """Pause a run: finished subtasks are kept, running ones start again when it is resumed."""
    request = PauseRequested(by=user(), reason=f"requested by {user()}")
    return await _stop(run_id, request, RunStatus.PAUSED, store)


async def runs_cancel(run_id: RunId, /, *, store: StoreFlags = DEFAULT_STORE) -> int:
    """Cancel a run: nothing new starts, running requests are closed, finished subtasks stay in the log."""
    return await _stop(run_id, CancelRequested(by=user()), RunStatus.CANCELLED, store)


async def _stop(given: str, request: PauseRequested | CancelRequested, target: RunStatus, store: StoreFlags) -> int:
    """Have a run stop with this status. Raises UsageError if it has ended in another way."""
    async with open_reader(store) as lead:
        runtime = await lead.runtime()
        listing = await find_run(runtime.store, given)
        run_id = listing.run_id
        already = listing.status is target
        if listing.status in ENDED and not already:
            raise UsageError(
                f"run {run_id} has finished ({listing.status.value})",
                f"See its result: {store.command('runs', 'show', run_id)}",
            )
        status = target if already else await stop(runtime, listing, request, until=ENDED | {target})
        if status is not target:
            say(f"{run_id} finished before it could be {target.value}: {status.value}.")
            return Exit.FAILED
        what = f"{run_id} is {'already ' if already else ''}{target.value}."
        if target is RunStatus.CANCELLED:
            say(f"{what} See its results: {store.command('runs', 'show', run_id)}")
        else:
            tools = tools_of(await definition_of(runtime.store, run_id))
            say(f"{what} Resume with: {store.command('runs', 'resume', run_id, tools=tools)}")
    return Exit.ANSWERED
