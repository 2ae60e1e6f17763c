"""Why runs, and steps of runs, wait for a process or a host, and the queue of runs that do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from datetime import UTC, datetime

from leadhand.app.listings import all_runs, definition_of
from leadhand.app.membership import is_shared
from leadhand.app.toolsets import needed_tools
from leadhand.core.errors import UnreadableRun
from leadhand.core.run import AttemptStatus, RunDefinition, RunStatus
from leadhand.core.state import RunState
from leadhand.engine import snapshots
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
    """Return why a run, or steps of it, wait for a process or a host. Raises StoreError."""
    if state.finished is not None:
        return NO_WAIT
    if listing.owner is not None and state.status is RunStatus.RUNNING:
        hosts = await store.hosts() if is_shared(store) else []
        return HostWait(reason=_steps_wait(state, listing.owner, hosts, datetime.now(UTC)))
    if not (listing.orphan and state.definition.detached):
        return NO_WAIT
    if not is_shared(store):
        if refused := await refusal(store, state.run_id):
            return HostWait(reason=f"a server could not resume it: {refused}")
        resume = f"`leadhand runs resume {state.run_id}`"
        return HostWait(reason=f"its process died: start `leadhand serve`, or resume it with {resume}")
    ids = [each.run_id for each, _ in await _undriven(store)]
    reason = await _why(store, state, await store.hosts())
    return HostWait(reason=reason, position=ids.index(state.run_id) + 1 if state.run_id in ids else None)


async def _reason(store: ContextStore, run_id: str, hosts: list[HostLine]) -> str:
    try:
        return await _why(store, await snapshots.load(store, run_id), hosts)
    except UnreadableRun as error:
        return f"its log cannot be read here: {error.what}"


async def _why(store: ContextStore, state: RunState, hosts: list[HostLine]) -> str:
    tools = {tool.name for tool in needed_tools(state)}
    return driver_wait(state.definition, tools, hosts, await refusal(store, state.run_id))


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


# --- what the hosts say of themselves --------------------------------------------------------------------------------


def driver_wait(run: RunDefinition, tools: Set[str], hosts: Iterable[HostLine], refused: str = "") -> str:
    """Return why no process drives a run that needs these tools; ``refused`` is what a host said that refused it."""
    takers = [line for line in hosts if line.takes_work]
    if not takers:
        return "waiting for a host: start one with `leadhand work` or `leadhand serve`"
    knowing = [line for line in takers if run.flow in line.flows]
    if not knowing:
        return f"waiting for a host that knows the flow `{run.flow}`"
    if any(tools <= {*line.tools} for line in knowing):
        return f"no host can drive it: {refused}" if refused else "waiting in the queue"
    nowhere = sorted(tools - {name for line in knowing for name in line.tools})
    if nowhere:
        return f"waiting for a host that has the tool{'s' * (len(nowhere) > 1)} {_quoted(nowhere)}"
    return f"waiting for a host that has all of the tools {_quoted(sorted(tools))}"


def _steps_wait(state: RunState, owner: str, hosts: Sequence[HostLine], now: datetime) -> str:
    """Return why steps of a run that ``owner`` drives have not begun; "" if that is unknown."""
    attempts = [each for key in state.live if (each := state.steps[key].attempt) is not None]
    waiting = [
        each
        for each in attempts
        if each.status is AttemptStatus.SCHEDULED and (each.not_before is None or each.not_before <= now)
    ]
    if not waiting:
        return ""
    counted = f"{len(waiting):,} step{'s wait' if len(waiting) > 1 else ' waits'}"
    run, most = state.definition, state.definition.limits.max_workers
    if sum(each.status is AttemptStatus.RUNNING for each in attempts) >= most:
        return f"{counted}: the run allows {most:,} at once (--max-workers)"
    tools = frozenset(tool.name for tool in run.tools)
    able = [line for line in hosts if line.host == owner or (line.takes_work and line.has(run.flow, tools))]
    if not able or any(line.running < line.concurrency for line in able):
        return ""
    return f"{counted}: {f'all {len(able)} hosts are' if len(able) > 1 else 'the only host that can run it is'} busy"


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
