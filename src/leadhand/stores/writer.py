"""The one thread that writes: it takes what many have queued and commits it once.

Whoever appends has its place from the moment of the call; the thread takes all that is queued (up to a bound), judges
it in order in one transaction and commits. While the disk works, the next batch gathers: the busier, the cheaper.
"""

# ruff: noqa: S608 - only words of our own are put into SQL; data are parameters

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from leadhand.domain.errors import LeadhandError, StoreError
from leadhand.domain.events import Entry

from .connection import Connection, Database, Hold, TryAgain, Unstorable
from .schema import VERSION, migrate, version_of
from .threads import Service, Wakeups, closed_error, copy_error, failed
from .transaction import LogTransaction, Operation, Release

Argument = TypeVar("Argument")

BATCH = 512
"""Writes in one transaction, at most."""

TRIES = 5
"""How often a transaction that met another is tried, in all."""

RETRY_S = 1.0
"""How long, in seconds, until what is owed to a database that could not be written is tried again."""

Publish = Callable[[dict[str, list[Entry]], Wakeups], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SideWrite:
    """A write beside the log. ``key`` orders those of one transaction, the same way in every process."""

    key: str
    write: Callable[[Connection], object]


Write = Operation | SideWrite
Waiting = tuple[Write, asyncio.Future[Any]]


class Writer:
    """Owns the connection that writes, and the hold. ``publish`` shows followers what was committed."""

    def __init__(self, database: Database, hold: Hold, now: Callable[[], datetime], publish: Publish) -> None:
        self._database = database
        self._hold = hold
        self._now = now
        self._publish = publish
        self._queue: SimpleQueue[Waiting | None] = SimpleQueue()
        self._door = threading.Lock()  # nothing may be queued behind the None that ends the thread
        self._closed: StoreError | None = None
        self._thread: Service | None = None
        # Runs we let go of in vain, on a full disk for example. We live, so until that is written nobody may have them.
        self._owed: list[Release] = []

    async def open(self) -> None:
        """Open the database, bring it to today's schema and take the hold. Raises StoreError, ConfigurationError."""
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._thread = Service("store-writer", self._work)
        self._thread.start()
        await self._opened

    def submit(self, write: Write) -> asyncio.Future[Any]:
        """Queue a write, at once; the future has its answer after the commit, or the error that refused it."""
        with self._door:
            if self._closed is None:
                future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
                self._queue.put((write, future))
                return future
        return failed(copy_error(self._closed))

    async def aclose(self) -> None:
        """Commit what is queued, let go of every run and of the hold, and end the thread."""
        with self._door:
            if self._closed is None:
                self._closed = closed_error()
                self._queue.put(None)
        if self._thread is not None:
            await self._thread.ended()

    def abandon(self, error: StoreError) -> None:
        """Refuse everything from now on with ``error``: this is a forked child, where the thread does not exist."""
        self._door = threading.Lock()
        self._closed = error
        self._thread = None

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
            going_on = True
            while going_on:
                batch, going_on = self._next_batch()
                if batch or self._owed:
                    self._commit(batch)
            self._let_go()
        finally:
            self._refuse_the_rest()
            self._connection.close()
            self._hold.release()

    def _refuse_the_rest(self) -> None:
        """Leave nobody waiting, even if it was a fault of ours that ended the thread."""
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
            version = version_of(connection, self._database)  # before anything is written to it
            connection.prepare()
            if version != VERSION:
                migrate(connection, self._database)
            self._hold.take()
        except BaseException:
            connection.close()
            raise
        return connection

    def _next_batch(self) -> tuple[list[Waiting], bool]:
        """What is queued, at least one write unless some are owed, and whether there will be more."""
        batch: list[Waiting] = []
        try:
            item = self._queue.get(timeout=RETRY_S if self._owed else None)
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
        """Write a batch and tell those who wait what became of it."""
        wakeups = Wakeups()
        owed = self._owed
        try:
            outcomes, committed = self._transact([*owed, *(write for write, _ in batch)])
            outcomes, self._owed = outcomes[len(owed) :], []
        except Unstorable as error:
            if len(batch) > 1:  # the fault of one write, so the others shall not suffer
                for waiting in batch:
                    self._commit([waiting])
                return
            outcomes, committed = [error for _ in batch], dict[str, list[Entry]]()
        except StoreError as error:
            outcomes, committed = [copy_error(error) for _ in batch], {}
            self._owed = [*owed, *(write for write, _ in batch if isinstance(write, Release))]
        except Exception as error:  # a fault of ours: those who wait must hear of it rather than wait for ever
            what = StoreError(f"{self._database.name}: {type(error).__name__}: {error}", "please report this")
            what.__cause__ = error
            outcomes, committed = [copy_error(what) for _ in batch], {}
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
        for attempt in range(1, TRIES):
            try:
                return self._transact_once(writes)
            except TryAgain:
                time.sleep(random.uniform(0, 0.01 * attempt))
        return self._transact_once(writes)

    def _transact_once(self, writes: Sequence[Write]) -> tuple[list[object], dict[str, list[Entry]]]:
        """The outcome of each write, an answer or a refusal, and what the log has gained. Raises StoreError."""
        connection = self._begun()
        outcomes: list[object] = [None] * len(writes)
        try:
            operations = [write for write in writes if not isinstance(write, SideWrite)]
            log = LogTransaction(connection, self._database.dialect, self._hold, self._now(), operations)
            side_writes: list[tuple[str, int, SideWrite]] = []
            for place, write in enumerate(writes):
                if isinstance(write, SideWrite):
                    side_writes.append((write.key, place, write))
                else:
                    outcomes[place] = _outcome(log.carry_out, write)
            log.write()
            for _, place, side_write in sorted(side_writes, key=itemgetter(0, 1)):
                outcomes[place] = _outcome(side_write.write, connection)
            connection.commit()
        except BaseException:
            connection.rollback()
            raise
        return outcomes, log.committed

    def _begun(self) -> Connection:
        """The connection, with a transaction begun."""
        connection = self._session()
        try:
            connection.begin()
        except StoreError:
            if not connection.broken:
                raise
            connection = self._session()  # it was lost while nothing was under way, so nothing can be done twice
            connection.begin()
        return connection

    def _session(self) -> Connection:
        """The connection, a new one when the server has forgotten us; then the hold is to be taken again, too."""
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

    def _let_go(self) -> None:
        """Own no run any more. Should it fail: once the hold is released, nobody takes us for their owner."""
        mine = f"SELECT run_id FROM runs WHERE owner = ? ORDER BY run_id{self._database.dialect.for_update}"
        with suppress(StoreError):
            connection = self._session()
            if not connection.execute("SELECT 1 FROM runs WHERE owner = ? LIMIT 1", (self._hold.host,)):
                return
            connection.begin()
            connection.execute(mine, (self._hold.host,))  # locks them in the order in which everybody does
            connection.execute("UPDATE runs SET owner = NULL WHERE owner = ?", (self._hold.host,))
            connection.commit()


def _outcome(write: Callable[[Argument], object], argument: Argument) -> object:
    """What a write answers, or the error that refused it. A StoreError is the fault of all, and is raised."""
    try:
        return write(argument)
    except StoreError:
        raise
    except LeadhandError as refusal:
        return refusal
