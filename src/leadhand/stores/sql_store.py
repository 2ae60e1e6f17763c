"""The context store in a database: implements the port with the other modules of this package."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Unpack

from leadhand.domain.access import AgentSettings, ApiKey
from leadhand.domain.allowance import METERED
from leadhand.domain.errors import StoreError
from leadhand.domain.events import AnyEvent, Entry, LimitsChanged, RunStarted
from leadhand.domain.listing import HostLine, RunFilter, RunListing, StoreInfo
from leadhand.domain.value import Json
from leadhand.ports import ArtifactStore

from . import side_tables
from .artifacts import DatabaseArtifacts, FileArtifacts
from .codec import encode, read_entries
from .connection import Database, close_in_forked_child
from .followers import Followers, Poller
from .listings import host_lines, run_listing, run_listings, store_info
from .threads import Readers, closed_error, failed
from .transaction import Append, Claim, Create, Release
from .writer import SideWrite, Writer


def utc_now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


class SqlContextStore:
    """A :class:`~leadhand.ports.ContextStore` in a database, and the keys and settings beside it.

    The ports document its methods (:mod:`leadhand.ports`); :func:`~leadhand.stores.opening.open_store` opens one.
    One thread writes, up to two read, and one looks for commits of other processes while a run is followed.
    ``now`` is the clock that dates entries. An instance belongs to one process; in a forked child it refuses every call
    and holds no locks.
    """

    def __init__(self, database: Database, *, now: Callable[[], datetime] = utc_now) -> None:
        self._database = database
        self._hold = database.hold()
        self._now = now
        self._keeper = side_tables.Keeper(database.dialect)
        self._set_up(None)

    def _set_up(self, closed: StoreError | None) -> None:
        """Create the parts with their own threads; with ``closed``, they refuse every call with that error."""
        self._readers = Readers(self._database, closed)
        self._poller = Poller(self._database, lambda run_id, wakeups: self._followers.poke(run_id, wakeups))
        self._followers = Followers(self.read, self._poller, closed)
        self._writer = Writer(self._database, self._hold, self._now, self._followers.publish, closed)

    @property
    def host(self) -> str:
        """The unique id of this store's hold on the database: ``<hostname>-<pid>-<random>``."""
        return self._hold.host

    @property
    def name(self) -> str:
        """The name of the database for people: a path, or a URL without its password."""
        return self._database.name

    @property
    def artifacts(self) -> ArtifactStore:
        """The artifacts of this database: files in ``<database>.artifacts`` for SQLite, rows for PostgreSQL."""
        folder = self._database.artifact_folder
        return FileArtifacts(folder) if folder is not None else DatabaseArtifacts(self._keep_blob, self.blob)

    async def open(self) -> None:
        """Open the database: once, before anything else. Raises StoreError or ConfigurationError."""
        await self._writer.open()
        close_in_forked_child(self)

    async def create(self, run_id: str, started: RunStarted) -> Entry:
        return await self._writer.submit(Create(run_id=run_id, started=encode(started)))

    def append(
        self,
        run_id: str,
        events: Sequence[AnyEvent],
        *,
        epoch: int | None = None,
        current: str | None = None,
        blobs: Mapping[str, bytes] | None = None,
    ) -> Awaitable[list[Entry]]:
        """Write events, all or none: see :meth:`leadhand.ports.ContextStore.append`.

        Cancelling the wait does not withdraw the events. They are encoded in the call itself, so later changes to them
        have no effect.
        """
        try:
            encoded = [encode(event) for event in events]
        except StoreError as error:
            return failed(error)
        metered = [event for event, _ in encoded if isinstance(event, METERED)]
        return self._writer.submit(
            Append(
                run_id=run_id,
                events=encoded,
                epoch=epoch,
                current=current,
                blobs=blobs or {},
                metered=metered,
                attempts={event.attempt for event in metered if not isinstance(event, LimitsChanged)},
            )
        )

    async def read(self, run_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        return await self._query(read_entries, self._database.dialect, run_id, after, limit)

    def follow(self, run_id: str, after: int = 0) -> AsyncGenerator[list[Entry]]:
        return self._followers.follow(run_id, after)

    async def claim(self, run_id: str, *, ended: bool = False) -> int:
        return await self._writer.submit(Claim(run_id=run_id, ended=ended))

    async def release(self, run_id: str, epoch: int) -> None:
        await self._writer.submit(Release(run_id=run_id, epoch=epoch))

    async def run(self, run_id: str) -> RunListing:
        return await self._query(run_listing, self._hold, run_id)

    async def runs(
        self, *, limit: int = 50, before: str | None = None, **filters: Unpack[RunFilter]
    ) -> list[RunListing]:
        return await self._query(run_listings, self._hold, filters, limit, before)

    async def hosts(self) -> list[HostLine]:
        return await self._query(host_lines, self._hold)

    async def about(self) -> StoreInfo:
        return await self._query(store_info, self._database)

    async def blob(self, digest: str) -> bytes:
        return await self._query(side_tables.blob, digest)

    async def _keep_blob(self, digest: str, body: bytes) -> None:
        await self._write_beside(f"6 {digest}", side_tables.keep_blob, digest, body)

    async def save_snapshot(self, run_id: str, seq: int, schema: str, body: bytes) -> None:
        await self._write_beside(f"1 {run_id}", side_tables.save_snapshot, run_id, seq, schema, body)

    async def snapshot(self, run_id: str, schema: str) -> tuple[int, bytes] | None:
        return await self._query(side_tables.snapshot, run_id, schema)

    async def pass_gate(self, name: str, interval_s: float) -> float:
        return await self._write_beside(f"2 {name}", side_tables.pass_gate, self._database.dialect, name, interval_s)

    async def hold_gate(self, name: str, seconds: float) -> None:
        await self._write_beside(f"2 {name}", side_tables.hold_gate, self._database.dialect, name, seconds)

    async def cached(self, key: str) -> Json | None:
        return await self._query(side_tables.cached, self._database.dialect, key)

    async def cache(self, key: str, value: Json, ttl_s: float) -> None:
        await self._write_beside(f"3 {key}", self._keeper.keep, key, json.dumps(value), ttl_s)

    async def add_key(self, key: ApiKey) -> None:
        await self._write_beside(f"4 {key.key_id}", side_tables.add_key, key)

    async def keys(self) -> list[ApiKey]:
        return await self._query(side_tables.keys)

    async def key_of(self, digest: str) -> ApiKey | None:
        return await self._query(side_tables.key_of, digest)

    async def revoke_key(self, key_id: str) -> ApiKey:
        return await self._write_beside(f"4 {key_id}", side_tables.revoke_key, key_id, self._now())

    async def used_key(self, key_id: str, at: datetime) -> None:
        await self._write_beside(f"4 {key_id}", side_tables.used_key, key_id, at)

    async def agents(self) -> list[AgentSettings]:
        return await self._query(side_tables.agents)

    async def set_agent(self, agent: AgentSettings) -> None:
        await self._write_beside(f"5 {agent.name}", side_tables.set_agent, agent)

    async def unset_agent(self, name: str) -> None:
        await self._write_beside(f"5 {name}", side_tables.unset_agent, name)

    async def check_writable(self) -> None:
        """Commit a write that changes nothing. Raises StoreError if the database cannot be written."""
        await self._write_beside("0", side_tables.write_nothing)

    async def aclose(self) -> None:
        self._followers.close(closed_error())
        await self._poller.aclose()
        await self._readers.aclose()
        await self._writer.aclose()

    def after_fork_in_child(self) -> None:
        """Refuse every call: the threads, their locks and the connections belong to the parent process."""
        self._set_up(
            StoreError("this store was opened by the process that forked this one", "open another with open_store()")
        )

    async def _query(self, query: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        return await self._readers.ask(lambda connection: query(connection, *arguments, **named))

    async def _write_beside(self, key: str, write: Callable[..., Any], *arguments: Any) -> Any:
        return await self._writer.submit(SideWrite(key=key, write=lambda connection: write(connection, *arguments)))
