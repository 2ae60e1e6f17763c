"""The context store in a database: implements the port with the other modules of this package."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Unpack
from weakref import WeakSet

from leadhand.core.artifact import FileVersion, digest_of
from leadhand.core.errors import StoreError
from leadhand.core.events import AnyEvent, Entry, RunStarted
from leadhand.core.value import Json
from leadhand.ports.heads import RunHead
from leadhand.ports.hosts import HostLine, QueueInfo
from leadhand.ports.runs import RunFilter, RunListing, StoreInfo
from leadhand.ports.webhooks import Delivery

from . import records, search, side_tables, upkeep
from .codec import encode, microseconds, read_entries, stored
from .connection import Database, ReadOnly, Row, Unavailable, batched
from .followers import Followers
from .listings import RunsAsked, earlier_files, host_lines, run_listing, run_listings, store_info
from .places import Places
from .postgres.job_queue import Job, defer, queue_info
from .postgres.messages import MessageBus
from .records import Record
from .schema import is_created
from .threads import Readers, closed_error, failed
from .transaction import Append, Claim, Create, Release
from .writer import SideWrite, Writer

LOGGER = logging.getLogger("leadhand")
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


class SqlContextStore:
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
        self._places = Places(self._hold, database.dialect)
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
            if not reading or not await self._readers.ask(is_created, self._database):
                raise
        _open_stores.add(self)

    @property
    def is_shared(self) -> bool:
        """Whether other machines can use the same database."""
        return not self._database.dialect.alone

    async def create(self, run_id: str, started: RunStarted, *, jobs: Sequence[Job] = ()) -> Entry:
        """Create a run as the port says; with ``jobs``, which are committed with it, no process owns the run."""
        return await self._writer.submit(Create(run_id, encode(started), jobs))

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
    ) -> Awaitable[list[Entry]]:
        """Write events as the port says. ``begins`` is an attempt that must neither have begun nor ended: StaleAttempt.

        Cancelling the wait does not withdraw the events, and later changes to them have no effect.
        """
        try:
            encoded = [encode(event) for event in events]
        except StoreError as error:
            return failed(error)
        return self._writer.submit(Append(run_id, encoded, epoch, current, begins, blobs or {}, head))

    async def read(self, run_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        return await self._readers.ask(read_entries, run_id, after, limit)

    def follow(self, run_id: str, after: int = 0) -> AsyncGenerator[list[Entry]]:
        return self._followers.follow(run_id, after)

    async def claim(self, run_id: str, *, ended: bool = False) -> int:
        return await self._writer.submit(Claim(run_id, ended))

    async def release(self, run_id: str, epoch: int) -> None:
        await self._writer.submit(Release(run_id, epoch))

    async def run(self, run_id: str) -> RunListing:
        return await self._readers.ask(run_listing, self._hold, run_id)

    async def runs(
        self, *, limit: int = 50, before: str | None = None, **filters: Unpack[RunFilter]
    ) -> list[RunListing]:
        if filters.get("search", "").strip():
            with suppress(ReadOnly):  # then what is in the index is found
                await self.index_runs(most=search.RUNS_PER_SEARCH)
        asked = RunsAsked(limit, before, self._now())
        return await self._readers.ask(run_listings, self._database.dialect, self._hold, asked, filters)

    async def index_runs(self, run_id: str | None = None, *, most: int | None = None) -> int:
        """Add what is new in the logs of runs at rest to the index: of the newest ``most`` that have something new, or
        of one run with ``run_id``. Return of how many. A run that cannot be added is logged and left out.
        """
        behind: list[search.Behind] = await self._readers.ask(search.runs_behind, run_id, most)
        indexed = 0
        for run in behind:
            words = await self._readers.ask(search.new_words, run)
            try:
                await self._write_beside(f"8 {run.run_id}", search.write_words, run, words)
            except (ReadOnly, Unavailable):
                raise
            except StoreError as error:  # the other runs can still be found
                LOGGER.warning("searches do not find run %s by its words: %s", run.run_id, error.what)
            else:
                indexed += 1
        return indexed

    async def earlier_files(
        self, flow: str, key_id: str, limit: int, *, offline: bool, documents: str
    ) -> list[FileVersion]:
        read = partial(earlier_files, flow=flow, key_id=key_id, limit=limit, offline=offline, documents=documents)
        return await self._readers.ask(read)

    async def hosts(self) -> list[HostLine]:
        return await self._readers.ask(host_lines, self._hold)

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
        return await self._readers.ask(partial(self._hold.living, hosts))

    async def queue(self) -> QueueInfo:
        """Return what waits in the queue."""
        return await self._readers.ask(queue_info) if self.is_shared else QueueInfo()

    async def defer(self, jobs: Sequence[Job]) -> None:
        """Add jobs to the queue."""
        await self._write_beside("7", defer, jobs)

    async def about(self) -> StoreInfo:
        return await self._readers.ask(store_info, self._database)

    async def blob(self, digest: str) -> bytes:
        rows = await self._rows("SELECT body FROM blobs WHERE digest = ?", digest)
        if not rows or not isinstance(rows[0][0], bytes):  # it is missing or damaged
            raise KeyError(digest)
        return rows[0][0]

    async def put_blob(self, content: bytes) -> str:
        digest = digest_of(content)
        rows = [(digest, microseconds(self._now()), content)]
        await self._write_beside(f"6 {digest}", upkeep.BLOBS.insert, rows, upkeep.KEEP)
        return digest

    async def keep_blobs(self, digests: Collection[str]) -> set[str]:
        return await self._write_beside("6", upkeep.keep_blobs, sorted(digests), microseconds(self._now()))

    async def pass_gate(self, name: str, interval_s: float) -> float:
        return await self._write_beside(f"2 {name}", side_tables.pass_gate, self._database.dialect, name, interval_s)

    async def hold_gate(self, name: str, seconds: float) -> None:
        await self._write_beside(f"2 {name}", side_tables.hold_gate, self._database.dialect, name, seconds)

    async def share(self, name: str, most: int, *, held: int, wanted: int = 0, priority: int = 0) -> int:
        given = name, most, held, wanted, priority
        return await self._write_beside(f"2 places of {name}", self._places.share, *given)

    async def cached(self, key: str) -> Json | None:
        return await self._readers.ask(side_tables.cached, self._database.dialect, key)

    async def cache(self, key: str, value: Json, ttl_s: float) -> None:
        await self._write_beside(f"3 {key}", side_tables.cache, self._database.dialect, key, json.dumps(value), ttl_s)

    async def cache_new(self, key: str, value: Json, ttl_s: float, *, instead_of: Json = None) -> bool:
        """Cache an answer unless there is one that has not expired; return whether it was cached.

        Of several processes at once, one caches its answer. An answer that equals ``instead_of`` is replaced.
        """
        old = "" if instead_of is None else json.dumps(instead_of)
        return await self._write_beside(
            f"3 {key}", side_tables.cache, self._database.dialect, key, json.dumps(value), ttl_s, old
        )

    # --- records, such as API keys, and messages to webhooks ---

    async def records(self, kind: str, key: str | None = None) -> list[Record]:
        """Return the records of a kind; with ``key``, only this one, if there is one."""
        return await self._readers.ask(records.records, kind, key)

    async def write_record(self, record: Record, *, instead_of: Record | None = None) -> bool:
        """Add a record, or replace ``instead_of``, which has the same key; return whether it was written: not if its
        key or name is in use, and not if the other one has changed since it was read.
        """
        return await self._write_beside(f"4 {record.kind} {record.key}", records.write_record, record, instead_of)

    async def delete_record(self, kind: str, key: str) -> None:
        """Delete a record, and a webhook with its deliveries; does nothing for an unknown key."""
        await self._write_beside(f"4 {kind} {key}", records.delete_record, kind, key)

    async def deliveries(self, webhook_id: str, limit: int) -> list[Delivery]:
        """Return the newest deliveries of a webhook."""
        return await self._readers.ask(records.deliveries, webhook_id, limit)

    async def take_deliveries(self, limit: int) -> list[Delivery]:
        """Return deliveries that are due. No other process gets them for a minute."""
        now = self._now()
        if not await self._rows("SELECT 1 FROM deliveries WHERE next_at <= ? LIMIT 1", stored(now)):
            return []  # most often, and then nothing is written
        return await self._write_beside("7", records.take_due, now, limit)

    async def settle_delivery(self, delivery: Delivery) -> None:
        """Record what an attempt to deliver led to; ignores a delivery that was deleted."""
        await self._write_beside(f"7 {delivery.delivery_id}", records.settle, delivery)

    # --- upkeep ---

    async def delete_runs(self, run_ids: Sequence[str], *, ended_only: bool = False) -> list[str]:
        """Delete runs, damaged ones too, with everything that only they use; return the ids of those deleted.

        Raises NoSuchRun, and RunOwned for a run that a living process drives. With ``ended_only``, such runs and those
        that have not ended when they are about to be deleted are left out instead.
        """
        deleted: list[str] = []
        for portion in batched(run_ids, upkeep.AT_ONCE):
            deleted += await self._write_beside(
                "9", upkeep.delete_runs, self._database.dialect, self._hold, portion, ended_only
            )
        await self._write_beside("9", upkeep.delete_unnamed, self._database.dialect, microseconds(self._now()))
        await asyncio.to_thread(upkeep.give_back, self._database)
        return deleted

    async def damage(self) -> list[str]:
        """Return what is damaged, a sentence each. Reads everything."""
        return await self._readers.ask(upkeep.damage, self._database)

    async def back_up(self, target: Path) -> None:
        """Copy the store to a file that does not exist, while it is in use. Raises UsageError if there is one."""
        await asyncio.to_thread(upkeep.back_up, self._database, target)

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

    async def _rows(self, sql: str, *parameters: object) -> list[Row]:
        return await self._readers.ask(lambda connection: connection.execute(sql, parameters))

    async def _write_beside(self, key: str, write: Callable[..., Any], *arguments: Any) -> Any:
        return await self._writer.submit(SideWrite(key=key, write=lambda connection: write(connection, *arguments)))
