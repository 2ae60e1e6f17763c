"""The place of a process among those that share its database, and the runs that wait for one."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TypeGuard

from leadhand.app.project.flows import FlowRegistry
from leadhand.app.project.toolsets import needed_tools
from leadhand.app.settings import Settings
from leadhand.core.errors import ConfigurationError
from leadhand.core.run import RunDefinition
from leadhand.core.state import RunState
from leadhand.engine.session.host import Host, OnText
from leadhand.ports import Clock, ContextStore, Dispatcher
from leadhand.ports.hosts import TAKES_WORK, HostKind, HostLine, QueueInfo
from leadhand.ports.runs import RunListing
from leadhand.stores.postgres.job_queue import DRIVE, Job
from leadhand.stores.sql_store import SqlContextStore
from leadhand.tools.toolbox import Toolbox

LOGGER = logging.getLogger("leadhand")


def is_shared(store: ContextStore) -> TypeGuard[SqlContextStore]:
    """Whether processes on other machines can use a store."""
    return isinstance(store, SqlContextStore) and store.is_shared


class Membership:
    """The place of a process in a cluster."""

    def __init__(
        self, store: SqlContextStore, concurrency: int, flows: FlowRegistry, toolbox: Toolbox, on_text: OnText
    ) -> None:
        from leadhand.dispatch.cluster.live_text import LiveText  # only hosts that share a store send it

        self._store = store
        self._concurrency = concurrency
        self._flows = flows
        self._toolbox = toolbox
        self._joined = False
        self.live = LiveText(store.bus, on_text)

    def dispatcher(self, host: Host, clock: Clock) -> Dispatcher:
        """Return a dispatcher that shares attempts with the other processes."""
        from leadhand.dispatch.cluster.dispatcher import ClusterDispatcher

        self._dispatcher = ClusterDispatcher(host, clock, self._store, self.live.ended, self._concurrency)
        return self._dispatcher

    async def join(self, kind: HostKind) -> None:
        """Show this process among the hosts: once, before it drives a run or takes work. Raises StoreError."""
        if not self._joined:
            self._joined = True
            now, host = datetime.now(UTC), self._store.host
            line = HostLine(host=host, kind=kind, since=now, concurrency=self._concurrency)
            if kind in TAKES_WORK:
                try:
                    await self._toolbox.open()
                except ConfigurationError as error:  # it can do the other runs
                    LOGGER.warning("%s", error)
                tools = tuple(spec.name for spec in self._toolbox.known(every=True))
                flows = tuple(self._flows.names())
                line = line.evolve(flows=flows, tools=tools)
            await self._store.announce(line, self._dispatcher.doing)
            self.live.start()

    async def drain(self) -> None:
        """Show that this process takes no new work. Raises StoreError."""
        await self._store.drain()

    async def has_hosts(self) -> bool:
        """Whether there is a server or host that drives runs of others. Raises StoreError."""
        return any(line.takes_work for line in await self._store.hosts())

    async def hand_over(self, run_id: str) -> None:
        """Let the next server or host that is free drive a run. Raises StoreError."""
        await self._store.defer(self.jobs(run_id))

    @staticmethod
    def jobs(run_id: str) -> list[Job]:
        """Return the job to drive a run."""
        return [Job(task=DRIVE, run_id=run_id)]


def membership(
    store: ContextStore, settings: Settings, flows: FlowRegistry, toolbox: Toolbox, on_text: OnText
) -> Membership | None:
    """Return the place of a process in the cluster of its store, None if processes on other machines cannot use it.

    ``on_text`` gets the live text of the runs that are watched in this process.
    """
    return Membership(store, settings.concurrency, flows, toolbox, on_text) if is_shared(store) else None


async def queue_of(store: ContextStore) -> QueueInfo:
    """Return what waits in the queue of a store: nothing if it has none. Raises StoreError."""
    return await store.queue() if isinstance(store, SqlContextStore) else QueueInfo()


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


async def host_wait(store: ContextStore, state: RunState, listing: RunListing) -> str:
    """Return why a run waits for a process or a host; "" if it waits for none. Raises StoreError."""
    if not (listing.orphan and state.definition.detached) or state.finished is not None:
        return ""
    refused = await refusal(store, state.run_id)
    if is_shared(store):
        tools = {tool.name for tool in needed_tools(state)}
        return driver_wait(state.definition, tools, await store.hosts(), refused)
    return f"a server could not resume it: {refused}" if refused else "waiting for `leadhand serve`"


def _refusal(run_id: str) -> str:
    return f"a host refused {run_id}"


def driver_wait(run: RunDefinition, tools: set[str], hosts: Iterable[HostLine], refused: str = "") -> str:
    """Return why no process drives a run that needs ``tools``; ``refused`` is what a host said that refused it."""
    takers = [line for line in hosts if line.takes_work]
    if not takers:
        return "waiting for a host: start one with `leadhand work` or `leadhand serve`"
    knowing = [line for line in takers if run.flow in line.flows]
    if not knowing:
        return f"waiting for a host that knows the flow `{run.flow}`"
    if any(line.has(run.flow, tools) for line in knowing):
        return f"no host can drive it: {refused}" if refused else "waiting in the queue"
    missing = tools - {name for line in knowing for name in line.tools} or tools
    return f"waiting for a host that has these tools: {', '.join(f'`{name}`' for name in sorted(missing))}"
