"""Liveness on PostgreSQL: each process has a row with its heartbeat, and with the session that writes it.

A process that dies loses its session at once. One that is stopped, or cut off from the server, keeps its session for a
while, but its heartbeat ends. When the server was restarted, processes have some seconds to find it again.
"""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from leadhand.core.errors import StoreError
from leadhand.ports.hosts import HEARTBEAT_LIMIT_S, HostLine
from leadhand.stores.connection import Connection, Hold, among
from leadhand.stores.ownership import new_host
from leadhand.stores.threads import Service

BEATS = 10
"""Heartbeats within the limit."""
MOST_SHOWN = 100
"""Attempts that a heartbeat names."""
RECONNECTING_US = 10_000_000
"""Microseconds, besides the limit, in which processes find a server that was restarted."""
NOW = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"
STARTED = "CAST(extract(epoch FROM pg_postmaster_start_time()) * 1000000 AS BIGINT)"
QUICK = "SET synchronous_commit = off"  # a heartbeat that is lost is followed by others
FORGET = f"DELETE FROM hosts WHERE seen_at < {NOW} - 86400000000"
"""Forgets processes that died a day ago."""
BEAT = (
    f"INSERT INTO hosts (host, line, limit_us, session, seen_at) VALUES (?, ?, ?, pg_backend_pid(), {NOW})"
    " ON CONFLICT (host) DO UPDATE SET line = excluded.line, session = excluded.session, seen_at = excluded.seen_at"
)
ALIVE = (
    f"SELECT host FROM hosts WHERE (seen_at < {STARTED} AND {NOW} < {STARTED} + limit_us + {RECONNECTING_US}"
    f" OR seen_at + limit_us > {NOW} AND session IN (SELECT pid FROM pg_stat_activity)) AND "
)


class HeartbeatHold(Hold):
    """Writes the heartbeat of this process on a session of its own, which no connection pooler may share."""

    def __init__(self, connect: Callable[[], Connection], limit_s: float = HEARTBEAT_LIMIT_S) -> None:
        self.host = new_host()
        self._limit_s = limit_s
        self._connect = connect
        self._connection: Connection | None = None
        self._door = threading.Condition()
        self._line: HostLine | None = None
        self._doing: Callable[[], Sequence[str]] = tuple
        self._beating: Service | None = None
        self._released = False

    def take(self) -> None:
        """Write a heartbeat, on a new session if the last one was lost. Raises StoreError."""
        with self._door:
            if self._released:
                return
            try:
                self._beat()
            except StoreError:  # a lost session is noticed only by using it
                self._beat()
            if self._beating is None:
                self._beating = Service("store-heartbeat", self._go_on)

    def announce(self, line: HostLine, doing: Callable[[], Sequence[str]]) -> None:
        self._line, self._doing = line, doing
        self.take()

    def drain(self) -> None:
        if self._line is not None:
            self._line = self._line.evolve(draining=True)
            with suppress(StoreError):  # the next heartbeat shows it
                self.take()

    def living(self, hosts: Collection[str], connection: Connection) -> set[str]:
        found: set[str] = set()
        for condition, parameters in among("host", [(host,) for host in sorted(hosts)]):
            found |= {host for (host,) in connection.execute(ALIVE + condition, parameters)}
        return found

    def release(self) -> None:
        with self._door:
            self._released = True
            self._door.notify_all()
            connection, self._connection = self._connection, None
            if connection is not None:
                with suppress(StoreError):
                    connection.execute("DELETE FROM hosts WHERE host = ?", (self.host,))
                connection.close()

    def _go_on(self) -> None:
        """Beat until the hold is released."""
        with self._door:
            while not self._released:
                self._door.wait(self._limit_s / BEATS)
                with suppress(StoreError):  # until the server can be reached again
                    self.take()

    def _beat(self) -> None:
        line = ""
        if self._line is not None:
            attempts = tuple(self._doing())
            line = self._line.evolve(running=len(attempts), attempts=attempts[:MOST_SHOWN]).model_dump_json()
        before, self._connection = self._connection, None
        connection = before or self._connect()
        try:
            for statement in () if before else (QUICK, FORGET):
                connection.execute(statement)
            connection.execute(BEAT, (self.host, line, int(self._limit_s * 1_000_000)))
        except BaseException:
            connection.close()
            raise
        self._connection = connection
