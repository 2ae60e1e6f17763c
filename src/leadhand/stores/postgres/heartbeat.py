"""Liveness on PostgreSQL: a session's advisory lock, which a dead process loses at once, and a heartbeat.

A process that is stopped, or cut off from the server, keeps its lock for a while; its heartbeat ends. Only processes
that announce themselves have a heartbeat. When the server was restarted, they have some seconds to find it again.
"""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from hashlib import blake2b

from leadhand.core.errors import StoreError
from leadhand.ports.hosts import HEARTBEAT_LIMIT_S, TAKES_WORK, Announcement
from leadhand.stores.connection import Connection, among
from leadhand.stores.ownership import new_host
from leadhand.stores.threads import Service

BEATS = 10
"""Heartbeats within the limit."""
MOST_SHOWN = 100
"""Attempts that a heartbeat names."""
RECONNECTING_S = 10
"""Seconds, besides the limit, in which processes find a server that was restarted."""
MICROSECONDS = 1_000_000
NOW = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"
BEAT = (
    "INSERT INTO hosts (host, kind, said, since, attempts, draining, limit_us, seen_at)"
    f" VALUES (?, ?, ?, {NOW}, ?, ?, ?, {NOW}) ON CONFLICT (host) DO UPDATE SET"
    " attempts = excluded.attempts, draining = excluded.draining, seen_at = excluded.seen_at"
)
STARTED = "CAST(extract(epoch FROM pg_postmaster_start_time()) * 1000000 AS BIGINT)"
# Of each host: whether its heartbeat is fresh, and whether it may not have found the server yet, which was restarted.
BEATING = (
    f"SELECT host, seen_at + limit_us > {NOW},"
    f" seen_at < {STARTED} AND {NOW} < {STARTED} + limit_us + {RECONNECTING_S * MICROSECONDS} FROM hosts WHERE "
)
FORGET = f"DELETE FROM hosts WHERE seen_at < {NOW} - 86400000000"
"""Forgets hosts that died a day ago."""
LOCKS = (
    "SELECT CAST(classid AS BIGINT), CAST(objid AS BIGINT) FROM pg_locks"
    " WHERE locktype = 'advisory' AND objsubid = 1 AND granted"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


class HeartbeatHold:
    """A session-level advisory lock, keyed by a hash of the host's id, on a separate connection, and a heartbeat there.

    It needs a permanent session: a connection pooler in transaction mode breaks it.
    """

    def __init__(self, connect: Callable[[], Connection], limit_s: float = HEARTBEAT_LIMIT_S) -> None:
        self.host = new_host()
        self.limit_s = limit_s
        self._connect = connect
        self._connection: Connection | None = None
        self._door = threading.Condition()
        self._shown: tuple[Announcement, Callable[[], Sequence[str]]] | None = None
        self._draining = False
        self._beating: Service | None = None

    def take(self) -> None:
        """Take the lock, or take it again if its session was lost. Raises StoreError."""
        with self._door:
            if self._connection is not None:
                with suppress(StoreError):
                    self._connection.execute("SELECT 1")  # a lost session is noticed only by using it
                    return
                self._connection.close()
                self._connection = None
            connection = self._connect()
            try:
                key = _lock_key(self.host)
                connection.execute("SELECT pg_advisory_lock(?)", (key - (1 << 64) if key >> 63 else key,))
                connection.execute("SET synchronous_commit = off")  # a heartbeat that is lost is followed by others
            except BaseException:
                connection.close()
                raise
            self._connection = connection

    def announce(self, said: Announcement, doing: Callable[[], Sequence[str]]) -> None:
        """Begin the heartbeat. Raises StoreError."""
        self._shown = said, doing
        self.take()
        self._beat(FORGET)
        self._beating = Service("store-heartbeat", self._go_on)

    def drain(self) -> None:
        """Show that this process takes no new work."""
        self._draining = True
        with suppress(StoreError):
            self._beat()

    def living(self, hosts: Collection[str], connection: Connection) -> set[str]:
        """Read the locks and the heartbeats."""
        if not hosts:
            return set()
        held = {(upper << 32) | lower for upper, lower in connection.execute(LOCKS)}
        seen: dict[str, tuple[bool, bool]] = {}
        for condition, parameters in among("host", [(host,) for host in hosts]):
            seen |= {host: (fresh, early) for host, fresh, early in connection.execute(BEATING + condition, parameters)}
        return {host for host in hosts if _is_alive(_lock_key(host) in held, *seen.get(host, (True, False)))}

    def others(self, connection: Connection) -> list[str]:
        """Read which servers and hosts are alive: other processes drive only runs that they own."""
        found = {host for host, kind in connection.execute("SELECT host, kind FROM hosts") if kind in TAKES_WORK}
        return sorted(self.living(found, connection) - {self.host})

    def release(self) -> None:
        """Close the session and the lock with it; a second call does nothing."""
        with self._door:
            connection, self._connection = self._connection, None
            shown, self._shown = self._shown, None
            self._door.notify_all()
        if connection is not None:
            if shown is not None:
                with suppress(StoreError):
                    connection.execute("DELETE FROM hosts WHERE host = ?", (self.host,))
            connection.close()

    # --- on the thread ---

    def _go_on(self) -> None:
        """Beat until the hold is released; take it again when the server has lost it."""
        lost = False
        while True:
            with self._door:
                self._door.wait(self.limit_s / BEATS)
                if self._shown is None:
                    return
            with suppress(StoreError):  # until the server can be reached again
                if lost:
                    self.take()
                lost = True
                self._beat()
                lost = False

    def _beat(self, first: str = "") -> None:
        with self._door:
            if self._shown is None or self._connection is None:
                return
            said, doing = self._shown
            if first:
                self._connection.execute(first)
            attempts = list(doing())
            carried_out = json.dumps({"count": len(attempts), "shown": attempts[:MOST_SHOWN]})
            limit = int(self.limit_s * MICROSECONDS)
            body = said.model_dump_json()
            values = (self.host, said.kind.value, body, carried_out, int(self._draining), limit)
            self._connection.execute(BEAT, values)


def _is_alive(holds_lock: bool, fresh: bool, early: bool) -> bool:
    return early or (holds_lock and fresh)


def _lock_key(host: str) -> int:
    """Return a host's 64-bit key. Two of a million hosts share one with a probability of 3e-8; both then seem alive."""
    return int.from_bytes(blake2b(host.encode(), digest_size=8).digest())
