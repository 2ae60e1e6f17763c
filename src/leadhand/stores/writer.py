"""The writer thread: it takes the queued writes of many callers and commits them in one transaction.

The order of calls is the order of the log. The thread takes all queued writes (up to a limit), judges them in order in
one transaction and commits. During the commit, the next batch is queued, so each write costs less under load.
"""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from leadhand.core.errors import LeadhandError, StoreError
from leadhand.core.events import Entry

from .connection import Connection, Database, Hold, TryAgain, Unavailable, wait_to_repeat
from .schema import create, is_created
from .threads import Patience, Service, Wakeups, closed_error, copy_error, failed
from .transaction import LogTransaction, Operation, Release

Argument = TypeVar("Argument")

BATCH = 512
"""Maximum writes in one transaction."""

RETRY_S = 1.0
"""Seconds between attempts to write releases that failed."""

OPENING_S = 60.0
"""Seconds to wait for a locked database before it is open."""

Publish = Callable[[dict[str, list[Entry]], Wakeups], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SideWrite:
    """A write that is not part of the log. ``key`` orders those of a transaction, equally in every process."""

    key: str
    write: Callable[[Connection], object]


Write = Operation | SideWrite
Waiting = tuple[Write, asyncio.Future[Any]]


class Writer:
    """Owns the connection that writes, and the hold. ``publish`` passes committed entries to followers."""

    def __init__(
        self,
        database: Database,
        hold: Hold,
        now: Callable[[], datetime],
        publish: Publish,
        closed: StoreError | None,
        patience_s: float,
    ) -> None:
        self._database = database
        self._patience_s = patience_s
        self._unanswered: tuple[list[object], LogTransaction] | None = None
        self._hold = hold
        self._now = now
        self._publish = publish
        self._queue: SimpleQueue[Waiting | None] = SimpleQueue()
        self._door = threading.Lock()  # nothing may be queued behind the None that ends the thread
        self._closed = closed
        self._thread: Service | None = None
        # Releases that failed, on a full disk for example. Until they are written, no process can claim the runs.
        self._failed_releases: list[Release] = []

    async def open(self) -> None:
        """Open the database, create it if it is empty, and take the hold. Raises StoreError, ConfigurationError."""
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._thread = Service("store-writer", self._work)
        await self._opened

    def submit(self, write: Write) -> asyncio.Future[Any]:
        """Queue a write at once; the future gets its result after the commit, or the error that refused it."""
        with self._door:
            if self._closed is None:
                future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
                self._queue.put((write, future))
                return future
        return failed(copy_error(self._closed))

    async def aclose(self) -> None:
        """Commit what is queued, release every run and the hold, and end the thread."""
        with self._door:
            if self._closed is None:
                self._closed = closed_error()
                self._queue.put(None)
        if self._thread is not None:
            await self._thread.ended()

    # --- on the thread ---

    def _work(self) -> None:
        wakeups = Wakeups()
        try:
            self._connection = self._open()
        except Exception as error:
            wakeups.fail(self._opened, error)
            wakeups.send()
            return
        wakeups.succeed(self._opened, None)
        wakeups.send()
        try:
            more = True
            while more:
                batch, more = self._next_batch()
                if batch or self._failed_releases:
                    self._commit(batch)
            self._release_all()
        finally:
            self._refuse_the_rest()
            self._connection.close()
            self._hold.release()

    def _refuse_the_rest(self) -> None:
        """Fail every queued write, so that no caller waits forever, even if a bug ended the thread."""
        wakeups = Wakeups()
        with self._door:
            self._closed = self._closed or closed_error()
            while not self._queue.empty():
                item = self._queue.get_nowait()
                if item is not None:
                    wakeups.fail(item[1], copy_error(self._closed))
        wakeups.send()

    def _open(self) -> Connection:
        connection = self._database.connect()
        try:
            patience = Patience(OPENING_S, self._is_closed)
            while True:
                try:
                    created = is_created(connection, self._database)  # before anything is written to it
                    connection.prepare()
                    if not created:
                        create(connection, self._database)
                    break
                except Unavailable as error:
                    if connection.broken:
                        raise
                    patience.wait(error)
            self._hold.take()
        except BaseException:
            connection.close()
            raise
        return connection

    def _next_batch(self) -> tuple[list[Waiting], bool]:
        """Return the queued writes, and whether the thread continues; wait for a write unless releases have failed."""
        batch: list[Waiting] = []
        try:
            item = self._queue.get(timeout=RETRY_S if self._failed_releases else None)
        except Empty:
            return batch, True
        while item is not None:
            batch.append(item)
            if len(batch) == BATCH:
                return batch, True
            try:
                item = self._queue.get_nowait()
            except Empty:
                return batch, True
        return batch, False

    def _commit(self, batch: list[Waiting]) -> None:
        wakeups = Wakeups()
        releases = self._failed_releases
        try:
            outcomes, committed = self._transact([*releases, *(write for write, _ in batch)])
            outcomes, self._failed_releases = outcomes[len(releases) :], []
        except Exception as error:
            if len(batch) + len(releases) > 1 and batch and not isinstance(error, Unavailable):
                # One write may have caused this, such as that of a damaged run, so the others are tried without it.
                self._failed_releases = []
                for waiting in batch:
                    self._commit([waiting])
                self._failed_releases += releases
                return
            if isinstance(error, StoreError):
                what = error
                self._failed_releases = [*releases, *(write for write, _ in batch if isinstance(write, Release))]
            else:  # a bug: callers get an error instead of waiting forever
                what = StoreError(f"{self._database.name}: {type(error).__name__}: {error}", "please report this")
                what.__cause__ = error
            outcomes, committed = [copy_error(what) for _ in batch], dict[str, list[Entry]]()
        for (_, future), outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, LeadhandError):
                wakeups.fail(future, outcome)
            else:
                wakeups.succeed(future, outcome)
        try:
            self._publish(committed, wakeups)
        finally:
            wakeups.send()

    def _transact(self, writes: Sequence[Write]) -> tuple[list[object], dict[str, list[Entry]]]:
        """Write a batch, again and again while the database is unavailable, so that no finished work is lost."""
        self._unanswered = None
        patience = Patience(self._patience_s, self._is_closed)
        conflicts = 0
        while True:
            try:
                if self._unanswered is not None and self._unanswered[1].is_committed(self._session()):
                    return self._unanswered[0], self._unanswered[1].committed
                return self._transact_once(writes)
            except TryAgain as conflict:
                conflicts += 1
                wait_to_repeat(conflict, conflicts if self._unanswered is None else 1)
            except Unavailable as error:
                patience.wait(error)

    def _is_closed(self) -> bool:
        return self._closed is not None

    def _transact_once(self, writes: Sequence[Write]) -> tuple[list[object], dict[str, list[Entry]]]:
        """Return the outcome of each write (a result or a refusal) and the new entries. Raises StoreError."""
        connection = self._session()
        operations = [write for write in writes if not isinstance(write, SideWrite)]
        side_writes = [(each.key, place, each) for place, each in enumerate(writes) if isinstance(each, SideWrite)]
        connection.begin()
        try:
            log = LogTransaction(connection, self._database.dialect, self._hold, self._now(), operations)
            judged = iter([_outcome(log.apply, each) for each in operations])
            outcomes = [None if isinstance(write, SideWrite) else next(judged) for write in writes]
            log.write()
            for _, place, side_write in sorted(side_writes, key=itemgetter(0, 1)):
                outcomes[place] = _outcome(side_write.write, connection)
            try:
                connection.commit()
            except Unavailable:
                self._unanswered = outcomes, log
                raise
        except BaseException:
            connection.rollback()
            raise
        return outcomes, log.committed

    def _session(self) -> Connection:
        """Return the connection; if the server has closed it, a new one, with the hold taken again."""
        if self._connection.broken:
            self._connection.close()
            connection = self._database.connect()
            try:
                self._hold.take()
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _release_all(self) -> None:
        """Release every run. If that fails, the runs have no living owner once the hold is released."""
        mine = f"SELECT run_id FROM runs WHERE owner = ? ORDER BY run_id{self._database.dialect.for_update}"
        with suppress(StoreError):
            connection = self._session()
            if not connection.execute("SELECT 1 FROM runs WHERE owner = ? LIMIT 1", (self._hold.host,)):
                return
            connection.begin()
            connection.execute(mine, (self._hold.host,))  # locks the rows in the same order as every transaction
            connection.execute("UPDATE runs SET owner = NULL WHERE owner = ?", (self._hold.host,))
            connection.commit()


def _outcome(write: Callable[[Argument], object], argument: Argument) -> object:
    """Return the result of a write, or the error that refused it. Raises StoreError, which concerns the whole batch."""
    try:
        return write(argument)
    except StoreError:
        raise
    except LeadhandError as refusal:
        return refusal
