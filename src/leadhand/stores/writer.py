"""The writer thread: it takes the queued writes of many callers and commits them in one transaction.

The order of calls is the order of the log. The thread takes all queued writes (up to a limit), judges them in order in
one transaction and commits. During the commit, the next batch is queued, so each write costs less under load.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from leadhand.core.errors import LeadhandError, StoreError
from leadhand.core.events import Entry

from .connection import Connection, Database, Hold, Unavailable
from .schema import create, is_created
from .threads import Service, Session, Wakeups, closed_error, copy_error, failed
from .transaction import LogTransaction, Operation, Release

Argument = TypeVar("Argument")

BATCH = 512
"""Maximum writes in one transaction."""

RETRY_S = 1.0
"""Seconds between attempts to write releases that failed."""

Publish = Callable[[dict[str, list[Entry]], Wakeups], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SideWrite:
    """A write that is not part of the log. ``key`` orders those of a transaction, equally in every process."""

    key: str
    write: Callable[[Connection], object]


Write = Operation | SideWrite
Waiting = tuple[Write, asyncio.Future[Any]]
Written = tuple[list[object], LogTransaction]


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
        self._session = Session(database, patience_s, writes=True)
        self._held_with: Connection | None = None
        self.secret_key = b""
        self._hold = hold
        self._now = now
        self._publish = publish
        self._queue: SimpleQueue[Waiting | None] = SimpleQueue()
        self._door = threading.Lock()  # nothing may be queued behind the None that ends the thread
        self._closed = closed
        self._thread: Service | None = None
        # Releases that failed, on a full disk for example. Until they are written, no process can claim the runs.
        self._again: list[Waiting] = []

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
        """Commit what is queued, release the hold, and end the thread; runs without a living owner can be claimed."""
        with self._door:
            if self._closed is None:
                self._closed = closed_error()
                self._queue.put(None)
        if self._thread is not None:
            await self._thread.ended()

    # --- on the thread ---

    def _work(self) -> None:
        try:
            opened: Exception | None = None
            try:
                self._session.connection()  # a server that cannot be reached is an error at once
                self._session.do(self._create, self._is_closed)
            except Exception as error:
                opened = error
                self._closed = error if isinstance(error, StoreError) else closed_error()
            wakeups = Wakeups()
            wakeups.settle(self._opened, opened)
            wakeups.send()
            more = opened is None
            while more:
                batch, more = self._next_batch()
                if batch:
                    self._commit(batch)
        finally:
            self._refuse_the_rest()
            self._session.close()
            self._hold.release()

    def _create(self, connection: Connection) -> None:
        created = is_created(connection, self._database)  # before anything is written to it
        connection.prepare()
        if not created:
            create(connection, self._database)
        ((self.secret_key,),) = connection.execute("SELECT secret_key FROM meta")
        self._take_hold(connection)

    def _take_hold(self, connection: Connection) -> None:
        """Take the hold, again with a new connection: its own may have been lost with the old one."""
        if connection is not self._held_with:
            self._hold.take()
            self._held_with = connection

    def _refuse_the_rest(self) -> None:
        """Fail every queued write, so that no caller waits forever, even if a bug ended the thread."""
        wakeups = Wakeups()
        with self._door:
            self._closed = self._closed or closed_error()
            while not self._queue.empty():
                item = self._queue.get_nowait()
                if item is not None:
                    wakeups.settle(item[1], copy_error(self._closed))
        wakeups.send()

    def _next_batch(self) -> tuple[list[Waiting], bool]:
        """Return the queued writes, and whether the thread continues; wait for a write unless releases have failed."""
        batch, self._again = self._again, []
        try:
            item = self._queue.get(timeout=RETRY_S if batch else None)
            while item is not None:
                batch.append(item)
                if len(batch) >= BATCH:
                    return batch, True
                item = self._queue.get_nowait()
        except Empty:
            return batch, True
        return batch, False

    def _commit(self, batch: list[Waiting]) -> None:
        wakeups = Wakeups()
        committed: dict[str, list[Entry]] = {}
        try:
            outcomes, log = self._transact([write for write, _ in batch])
            committed = log.committed
        except Exception as error:
            if len(batch) > 1 and not isinstance(error, Unavailable):
                # One write may have caused this, such as that of a damaged run, so the others are tried without it.
                for waiting in batch:
                    self._commit([waiting])
                return
            if isinstance(error, StoreError):
                what = error
                self._again += [waiting for waiting in batch if isinstance(waiting[0], Release)]
            else:  # a bug: callers get an error instead of waiting forever
                what = StoreError(f"{self._database.name}: {type(error).__name__}: {error}", "please report this")
                what.__cause__ = error
            outcomes = [copy_error(what) for _ in batch]
        for (_, future), outcome in zip(batch, outcomes, strict=True):
            wakeups.settle(future, outcome)
        try:
            self._publish(committed, wakeups)
        finally:
            wakeups.send()

    def _transact(self, writes: Sequence[Write]) -> Written:
        """Write a batch, again and again while the database is unavailable, so that no finished work is lost."""
        self._unanswered: Written | None = None
        return self._session.do(
            lambda connection: self._committed(connection) or self._transact_once(writes), self._is_closed
        )

    def _is_closed(self) -> bool:
        return self._closed is not None

    def _committed(self, connection: Connection) -> Written | None:
        """Return the last try at a batch if it was committed, though the answer to its commit was lost."""
        last = self._unanswered
        return last if last is not None and last[1].is_committed(connection) else None

    def _transact_once(self, writes: Sequence[Write]) -> Written:
        """Return the outcome of each write (a result or a refusal), with the transaction. Raises StoreError."""
        connection = self._session.connection()
        self._take_hold(connection)
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
        return outcomes, log


def _outcome(write: Callable[[Argument], object], argument: Argument) -> object:
    """Return the result of a write, or the error that refused it. Raises StoreError, which concerns the whole batch."""
    try:
        return write(argument)
    except StoreError:
        raise
    except LeadhandError as refusal:
        return refusal
