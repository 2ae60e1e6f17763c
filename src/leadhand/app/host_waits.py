"""Why runs wait for a process or a host, and the queue of runs that do."""

from __future__ import annotations

from collections.abc import Iterable

from leadhand.app.listings import all_runs, definition_of
from leadhand.app.membership import is_shared
from leadhand.core.errors import UnreadableRun
from leadhand.core.run import RunDefinition, RunStatus
from leadhand.core.state import RunState
from leadhand.ports import ContextStore
from leadhand.ports.hosts import NO_WAIT, HostLine, HostWait, WaitingRun
from leadhand.ports.runs import RunListing

MOST_LISTED = 200
REFUSED_S = 30.0
"""Seconds that it is remembered why a host refused a run: it will try again."""
REFUSED_ONCE_S = 86_400.0
"""The same for the server of a single machine, which does not try again while the log stays as it is."""


async def note_refusal(store: ContextStore, run_id: str, what: str) -> None:
    """Remember why a process cannot drive a run, for people. Raises StoreError."""
    await store.cache(_refusal(run_id), what, REFUSED_S if is_shared(store) else REFUSED_ONCE_S)


async def refusal(store: ContextStore, run_id: str) -> str:
    """Return why a process could not drive a run when one last tried; "" if that is unknown. Raises StoreError."""
    return str(await store.cached(_refusal(run_id)) or "")


async def waiting_runs(store: ContextStore, hosts: list[HostLine]) -> list[WaitingRun]:
    """Return the first runs that wait for a host to drive them. Raises StoreError."""
    return [
        WaitingRun(
            run_id=listing.run_id,
            position=position,
            priority=priority,
            since=listing.created_at,
            reason=await _reason(store, listing.run_id, hosts),
        )
        for position, (listing, priority) in enumerate(await _undriven(store), start=1)
    ]


async def host_wait(store: ContextStore, state: RunState, listing: RunListing) -> HostWait:
    """Return why a run waits for a process or a host. Raises StoreError."""
    if not (listing.orphan and state.definition.detached) or state.finished is not None:
        return NO_WAIT
    refused = await refusal(store, state.run_id)
    if not is_shared(store):
        resume = f"start `leadhand serve`, or resume it with `leadhand runs resume {state.run_id}`"
        died = f"its process died: {resume}"
        return HostWait(reason=f"a server could not resume it: {refused}" if refused else died)
    ids = [each.run_id for each, _ in await _undriven(store)]
    reason = driver_wait(state.definition, await store.hosts(), refused)
    return HostWait(reason=reason, position=ids.index(state.run_id) + 1 if state.run_id in ids else None)


async def _reason(store: ContextStore, run_id: str, hosts: list[HostLine]) -> str:
    try:
        return driver_wait(await definition_of(store, run_id), hosts, await refusal(store, run_id))
    except UnreadableRun as error:
        return f"its log cannot be read here: {error.what}"


async def _undriven(store: ContextStore) -> list[tuple[RunListing, int]]:
    """Return the detached runs that no process drives, as many as are listed, in the order of the queue, with their
    priorities: 0 for a run of a later release, whose log may not be readable here."""
    found = [
        listing
        for status in (RunStatus.QUEUED, RunStatus.RUNNING)
        async for listing in all_runs(store, status=status, detached=True)
        if listing.orphan
    ]
    oldest = sorted(found, key=lambda each: (each.created_at, each.run_id))[:MOST_LISTED]
    runs: list[tuple[RunListing, int]] = []
    for listing in oldest:
        try:
            runs.append((listing, (await definition_of(store, listing.run_id)).priority))
        except UnreadableRun:
            runs.append((listing, 0))
    return sorted(runs, key=lambda run: -run[1])  # a stable sort: the older first


def _refusal(run_id: str) -> str:
    return f"a host refused {run_id}"


def driver_wait(run: RunDefinition, hosts: Iterable[HostLine], refused: str = "") -> str:
    """Return why no process drives a run; ``refused`` is what a host said that refused it."""
    takers, tools = [line for line in hosts if line.takes_work], {tool.name for tool in run.tools}
    if not takers:
        return "waiting for a host: start one with `leadhand work` or `leadhand serve`"
    knowing = [line for line in takers if run.flow in line.flows]
    if not knowing:
        return f"waiting for a host that knows the flow `{run.flow}`"
    if any(line.has(run.flow, tools) for line in knowing):
        return f"no host can drive it: {refused}" if refused else "waiting in the queue"
    missing = tools - {name for line in knowing for name in line.tools} or tools
    return f"waiting for a host that has these tools: {', '.join(f'`{name}`' for name in sorted(missing))}"
