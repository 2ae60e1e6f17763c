"""What carries out attempts in a process, and the process among those that share its database."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeGuard

from leadhand.app.flows import FlowRegistry
from leadhand.app.listings import definition_of
from leadhand.app.project_workers import workshop_of
from leadhand.app.settings import Settings
from leadhand.dispatch.local import LocalDispatcher
from leadhand.engine.hooks import Hooks
from leadhand.engine.host import Host, OnText
from leadhand.engine.model_calls import ModelCalls
from leadhand.engine.redaction import Redactor
from leadhand.engine.shared_limits import SharedLimits, ToolLimits
from leadhand.engine.tool_cache import ToolCache
from leadhand.engine.tool_calls import ToolCalls
from leadhand.ports import (
    DRIVE,
    ArtifactStore,
    Clock,
    ClusterStore,
    ContextStore,
    Dispatcher,
    Job,
    Library,
    Models,
    Web,
)
from leadhand.ports.hosts import TAKES_WORK, Announcement, HostKind, QueueInfo
from leadhand.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from leadhand.dispatch.cluster.live_text import LiveText


class SharedStore(ClusterStore, ContextStore, Protocol):
    """A context store that processes on many machines share."""


def is_shared(store: ContextStore) -> TypeGuard[SharedStore]:
    """Whether processes on other machines can use a store."""
    return isinstance(store, ClusterStore) and store.is_shared


class Membership:
    """The place of a process in a cluster."""

    def __init__(
        self, store: SharedStore, concurrency: int, flows: FlowRegistry, toolbox: Toolbox, live: LiveText
    ) -> None:
        self._store = store
        self._concurrency = concurrency
        self._flows = flows
        self._toolbox = toolbox
        self._joined = False
        self.live = live

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
                said = said.evolve(flows=flows, tools=tools, versions=self._flows.versions())
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
    store: ContextStore,
    settings: Settings,
    flows: FlowRegistry,
    toolbox: Toolbox,
    on_text: OnText | None,
) -> Membership | None:
    """Return the place of a process in the cluster of its store, None if processes on other machines cannot use it.

    ``on_text`` gets the live text of the runs that are watched in this process.
    """
    if not is_shared(store):
        return None
    from leadhand.dispatch.cluster.live_text import LiveText  # only hosts that share a store send it

    return Membership(store, settings.concurrency, flows, toolbox, LiveText(store, on_text))


async def queue_of(store: ContextStore) -> QueueInfo:
    """Return what waits in the queue of a store: nothing if it has none. Raises StoreError."""
    return await store.queue() if isinstance(store, ClusterStore) else QueueInfo()


def dispatcher_of(cluster: Membership | None, host: Host, clock: Clock, concurrency: int) -> Dispatcher:
    """Return what carries out the attempts of a process: itself, or the whole cluster."""
    return LocalDispatcher(host, clock, concurrency) if cluster is None else cluster.dispatcher(host, clock)


def host_with_calls(
    settings: Settings,
    store: ContextStore,
    models: Models,
    toolbox: Toolbox,
    clock: Clock,
    redactor: Redactor,
    *,
    web: Callable[[bool], Web],
    artifacts: ArtifactStore,
    library: Callable[[bool, str, bool], Library],
    hooks: Hooks,
    on_text: OnText | None,
) -> tuple[Host, ModelCalls, ToolCalls]:
    """Return the host of a process, and what makes its calls. They share the limits that bind on all processes."""
    limits = SharedLimits(store)
    tool_calls = ToolCalls(
        toolbox,
        web,
        clock,
        artifacts,
        library,
        workshop_of(settings.project),
        hooks=hooks,
        limits=ToolLimits(limits, store, clock),
        cache=ToolCache(store),
    )
    model_calls = ModelCalls(models, store, clock, limits)
    return Host(store, model_calls, tool_calls, redactor, on_text, limits), model_calls, tool_calls
