"""The place of a process among those that share its database."""

from __future__ import annotations

from typing import TypeGuard

from leadhand.app.flows import FlowRegistry
from leadhand.app.listings import definition_of
from leadhand.app.settings import Settings
from leadhand.engine.attempts.host import Host, OnText
from leadhand.ports import DRIVE, Clock, ContextStore, DatabaseStore, Dispatcher, Job
from leadhand.ports.hosts import TAKES_WORK, Announcement, HostKind, QueueInfo
from leadhand.tools.toolbox import Toolbox


def is_shared(store: ContextStore) -> TypeGuard[DatabaseStore]:
    """Whether processes on other machines can use a store."""
    return isinstance(store, DatabaseStore) and store.is_shared


class Membership:
    """The place of a process in a cluster."""

    def __init__(
        self, store: DatabaseStore, concurrency: int, flows: FlowRegistry, toolbox: Toolbox, on_text: OnText | None
    ) -> None:
        from leadhand.dispatch.cluster.live_text import LiveText  # only hosts that share a store send it

        self._store = store
        self._concurrency = concurrency
        self._flows = flows
        self._toolbox = toolbox
        self._joined = False
        self.live = LiveText(store, on_text)

    def dispatcher(self, host: Host, clock: Clock) -> Dispatcher:
        """Return a dispatcher that shares attempts with the other processes."""
        from leadhand.dispatch.cluster.dispatcher import ClusterDispatcher

        self._dispatcher = ClusterDispatcher(host, clock, self._store, self.live.ended, self._concurrency)
        return self._dispatcher

    async def join(self, kind: HostKind) -> None:
        """Show this process among the hosts: once, before it drives a run or takes work. Raises StoreError."""
        if not self._joined:
            self._joined = True
            said = Announcement(kind=kind, concurrency=self._concurrency)
            if kind in TAKES_WORK:
                tools = tuple(spec.name for spec in self._toolbox.known(every=True))
                flows = tuple(self._flows.names())
                said = said.evolve(flows=flows, tools=tools)
            await self._store.announce(said, self._dispatcher.doing)
            self.live.start()

    async def drain(self) -> None:
        """Show that this process takes no new work. Raises StoreError."""
        await self._store.drain()

    async def has_hosts(self) -> bool:
        """Whether there is a server or host that drives runs of others. Raises StoreError."""
        return any(line.takes_work for line in await self._store.hosts())

    async def hand_over(self, run_id: str) -> None:
        """Let the next server or host that is free drive a run. Raises NoSuchRun, UnreadableRun and StoreError."""
        await self._store.defer(self.jobs(run_id, (await definition_of(self._store, run_id)).priority))

    @staticmethod
    def jobs(run_id: str, priority: int) -> list[Job]:
        """Return the job to drive a run."""
        return [Job(task=DRIVE, run_id=run_id, priority=priority)]


def membership(
    store: ContextStore, settings: Settings, flows: FlowRegistry, toolbox: Toolbox, on_text: OnText | None
) -> Membership | None:
    """Return the place of a process in the cluster of its store, None if processes on other machines cannot use it.

    ``on_text`` gets the live text of the runs that are watched in this process.
    """
    return Membership(store, settings.concurrency, flows, toolbox, on_text) if is_shared(store) else None


async def queue_of(store: ContextStore) -> QueueInfo:
    """Return what waits in the queue of a store: nothing if it has none. Raises StoreError."""
    return await store.queue() if isinstance(store, DatabaseStore) else QueueInfo()
