"""The context store in a database: implements the port with the other modules of this package."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar
from weakref import WeakSet

from leadhand.core.errors import StoreError
from leadhand.core.events import AnyEvent, Entry, RunStarted
from leadhand.core.secret import Secret
from leadhand.ports.heads import RunHead
from leadhand.ports.hosts import HostLine, QueueInfo

from .changes import Changes
from .codec import encode, read_entries
from .connection import Database, ReadOnly
from .followers import Followers
from .listings import Listings
from .places import Places
from .postgres.job_queue import Job, defer, queue_info
from .postgres.messages import MessageBus
from .records import Records
from .schema import is_created
from .side_tables import SideTables
from .threads import Readers, closed_error, failed
from .transaction import Append, Claim, Create, Release
from .upkeep import Upkeep
from .writer import SideWrite, Writer

T = TypeVar("T")
PATIENCE_S = 60.0
"""Seconds that a store waits for a database that is locked or cannot be reached, unless its opener says otherwise."""


_open_stores: WeakSet[SqlContextStore] = WeakSet()


def _refuse_in_child() -> None:
    for store in list(_open_stores):
        store.after_fork_in_child()


os.register_at_fork(after_in_child=_refuse_in_child)


def utc_now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


class SqlContextStore(Changes, Listings, Records, Places, SideTables, Upkeep):
    """A :class:`~leadhand.ports.ContextStore` and :class:`~leadhand.ports.PlaceStore` in a database, which document
    their methods, and what servers and hosts keep beside the runs.

    :func:`~leadhand.stores.opening.open_store` opens one. One thread writes, and up to two read. ``now`` is the clock
    that dates entries. In a forked child, it refuses every call and holds no locks. Every method may raise StoreError.
    """

    def __init__(
        self, database: Database, *, now: Callable[[], datetime] = utc_now, patience_s: float = PATIENCE_S
    ) -> None:
        self._database = database
        self._patience_s = patience_s
        self._hold = database.hold()
        self._now = now
        self._looked = {}
        self._set_up(None)

    def _set_up(self, closed: StoreError | None) -> None:
        """Create the parts with their own threads; with ``closed``, they refuse every call with that error."""
        self._readers = Readers(self._database, closed, self._patience_s)
        self.bus = MessageBus(self._database)
        self._followers = Followers(self.read, self._readers, closed)
        self._writer = Writer(self._database, self._hold, self._now, self._followers.publish, closed, self._patience_s)

    @property
    def host(self) -> str:
        """The unique id of this store's hold on the database: ``<hostname>-<pid>-<random>``."""
        return self._hold.host

    @property
    def secret_key(self) -> bytes:
        return self._writer.secret_key

    @property
    def name(self) -> str:
        """The name of the database for people: a path, or a URL without its password."""
        return self._database.name

    async def open(self, *, reading: bool = False) -> None:
        """Open the database: once, before anything else. Raises StoreError or ConfigurationError.

        If ``reading``, a database that is read-only is opened for reading; every write raises :class:`ReadOnly`.
        """
        try:
            await self._writer.open()
        except ReadOnly:
            if not reading or not await self._ask(is_created, self._database):
                raise
        _open_stores.add(self)

    @property
    def is_shared(self) -> bool:
        """Whether other machines can use the same database."""
        return not self._database.dialect.alone

    async def create(
        self, run_id: str, started: RunStarted, *, secrets: Sequence[Secret] = (), jobs: Sequence[Job] = ()
    ) -> Entry:
        """Create a run as the port says; with ``jobs``, which are committed with it, no process owns the run."""
        return await self._writer.submit(Create(run_id, encode(started), jobs, secrets))

    def append(
        self,
        run_id: str,
        events: Sequence[AnyEvent],
        *,
        epoch: int | None = None,
        current: str | None = None,
        begins: str | None = None,
        blobs: Mapping[str, bytes] | None = None,
        head: RunHead | None = None,
        secrets: Sequence[Secret] = (),
    ) -> Awaitable[list[Entry]]:
        """Write events as the port says. ``begins`` is an attempt that must neither have begun nor ended: StaleAttempt.

        Cancelling the wait does not withdraw the events, and later changes to them have no effect.
        """
        try:
            encoded = [encode(event) for event in events]
        except StoreError as error:
            return failed(error)
        return self._writer.submit(Append(run_id, encoded, epoch, current, begins, blobs or {}, head, secrets))

    async def read(self, run_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        return await self._ask(read_entries, run_id, after, limit)

    def follow(self, run_id: str, after: int = 0) -> AsyncGenerator[list[Entry]]:
        return self._followers.follow(run_id, after)

    async def claim(self, run_id: str, *, ended: bool = False) -> int:
        return await self._writer.submit(Claim(run_id, ended))

    async def release(self, run_id: str, epoch: int) -> None:
        await self._writer.submit(Release(run_id, epoch))

    # --- other processes ---

    async def announce(self, line: HostLine, doing: Callable[[], Sequence[str]]) -> None:
        """Show this process among the hosts until the store is closed; ``doing``, called in a thread, returns the
        attempts that it carries out, as ``run/attempt``.
        """
        await asyncio.to_thread(self._hold.announce, line, doing)

    async def drain(self) -> None:
        """Show that this process takes no new work."""
        await asyncio.to_thread(self._hold.drain)

    async def living(self, hosts: Collection[str]) -> set[str]:
        """Return those of these processes that are alive."""
        return await self._ask(partial(self._hold.living, hosts))

    async def queue(self) -> QueueInfo:
        """Return what waits in the queue."""
        return await self._ask(queue_info) if self.is_shared else QueueInfo()

    async def defer(self, jobs: Sequence[Job]) -> None:
        """Add jobs to the queue."""
        await self._write("7", defer, jobs)

    async def aclose(self) -> None:
        self._followers.close(closed_error())
        await self.bus.aclose()
        await self._readers.aclose()
        await self._writer.aclose()

    def after_fork_in_child(self) -> None:
        """Refuse every call: the threads, their locks and the connections belong to the parent process."""
        self._hold.after_fork_in_child()
        self._set_up(
            StoreError("this store was opened by the process that forked this one", "open another with open_store()")
        )

    async def _ask(self, query: Callable[..., T], *args: Any) -> T:
        return await self._readers.ask(query, *args)

    async def _write(self, key: str, write: Callable[..., T], *args: Any) -> T:
        return await self._writer.submit(SideWrite(key=key, write=lambda connection: write(connection, *args)))
