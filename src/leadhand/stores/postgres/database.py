"""PostgreSQL through psycopg 3, which is the extra ``postgres``: imported for PostgreSQL URLs only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import psycopg
from psycopg.types.numeric import Int8Dumper

from leadhand.core.errors import StoreError
from leadhand.ports.hosts import HEARTBEAT_LIMIT_S
from leadhand.stores.connection import (
    DISK_IS_FULL,
    Connection,
    Corrupt,
    Dialect,
    ReadOnly,
    Row,
    TryAgain,
    Unavailable,
)

from .heartbeat import HeartbeatHold

CREATING = 0x6C6561646861  # an arbitrary number, the same in every release

DIALECT = Dialect(
    kind="postgresql",
    now="CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS BIGINT)",
    for_update=" FOR UPDATE",
    creation_lock=f"SELECT pg_advisory_xact_lock({CREATING})",
    tables="SELECT tablename FROM pg_tables WHERE schemaname = current_schema()",
    has_phrase="to_tsvector('simple', words) @@ to_tsquery('simple', ?)",  # as in the index
    phrase="'{0}':*",
    next_word="' <-> '",
    alone=False,
)

# The server notices that a host's machine has vanished after one minute, not after the usual two hours.
NOTICE_THE_DEAD = (
    "SELECT set_config('tcp_keepalives_idle', '30', false),"
    " set_config('tcp_keepalives_interval', '10', false), set_config('tcp_keepalives_count', '3', false)"
)

# By the beginning of the SQLSTATE: the kind of the error, what is wrong ({name}: the database, {error}: the server's
# words), and the remedy. The server's words for other errors say enough.
EXPLAINED: tuple[tuple[str, type[StoreError], str, str], ...] = (
    ("53100", StoreError, *DISK_IS_FULL),
    ("53300", Unavailable, "{name} has no connection left", "close other programs, or raise max_connections"),
    ("XX00", Corrupt, "{name} is damaged: {error}", "restore it from a backup"),
    ("25006", ReadOnly, "{name} is read-only", "name the primary server, not a replica"),
)

# A lost connection, a server that starts or stops, a statement or lock that timed out.
UNAVAILABLE = ("08", "57", "55P03")

# Serialisation failure, deadlock, and two sessions that insert the same row at once.
TRY_AGAIN = frozenset({"40001", "40P01", "23505"})


class PostgresDatabase:
    """A database of a PostgreSQL server, named by its URL."""

    dialect = DIALECT

    def __init__(self, url: str, heartbeat_limit_s: float = HEARTBEAT_LIMIT_S) -> None:
        self._url = url
        self._heartbeat_limit_s = heartbeat_limit_s
        self.name = without_password(url)

    def connect(self, *, writes: bool = True) -> PostgresConnection:
        try:
            raw = psycopg.connect(
                self._url,
                autocommit=True,
                client_encoding="utf8",
                fallback_application_name="leadhand",
                connect_timeout=10,
                keepalives_idle=30,
                keepalives_interval=10,
                keepalives_count=3,
            )
        except psycopg.Error as error:
            raise Unavailable(
                f"cannot connect to {self.name}: {_first_line(error)}",
                "check that the server runs, and the URL: user, password, host, database",
            ) from error
        # One size for all numbers, since each mixture of sizes would need another prepared statement.
        raw.adapters.register_dumper(int, Int8Dumper)
        connection = PostgresConnection(raw, self.name)
        try:
            connection.execute(NOTICE_THE_DEAD)
        except BaseException:
            connection.close()
            raise
        return connection

    def hold(self) -> HeartbeatHold:
        return HeartbeatHold(self.connect, self._heartbeat_limit_s)


class PostgresConnection(Connection):
    """A session with a PostgreSQL server, used by one thread at a time."""

    def __init__(self, raw: psycopg.Connection[Row], name: str) -> None:
        self._raw = raw
        self._name = name

    @property
    def broken(self) -> bool:
        return self._raw.closed

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        try:
            cursor = self._raw.execute(_translated(sql), parameters)
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            raise explained(error, self._name) from error
        except UnicodeError as error:
            raise unstorable(error, self._name) from error

    def messages(self, wait_s: float) -> Iterator[str]:
        try:
            for each in self._raw.notifies(timeout=wait_s):
                if each.pid != self._raw.info.backend_pid:
                    yield each.payload
        except psycopg.Error as error:
            raise explained(error, self._name) from error

    def rollback(self) -> None:
        with suppress(psycopg.Error):
            self._raw.rollback()

    def close(self) -> None:
        self._raw.close()


def explained(error: psycopg.Error, name: str) -> StoreError:
    """Return an error of PostgreSQL or psycopg as a StoreError with its remedy."""
    state = error.sqlstate or ""
    if state in TRY_AGAIN:
        return TryAgain(f"{name}: {_first_line(error)}", "try again")
    if isinstance(error, psycopg.DataError):
        return unstorable(error, name)
    for prefix, kind, what, how in EXPLAINED:
        if state.startswith(prefix):
            return kind(what.format(name=name, error=_first_line(error)), how)
    lost = state.startswith(UNAVAILABLE) or (not state and isinstance(error, psycopg.OperationalError))
    kind = Unavailable if lost else StoreError
    return kind(f"{name}: {_first_line(error)}", "check that the server runs; `leadhand doctor` says more")


def unstorable(error: Exception, name: str) -> StoreError:
    """Return the error for a value that does not fit its column."""
    return StoreError(
        f"{name} cannot store a value of this write: {_first_line(error)}",
        "use text without NUL characters, and numbers below 2^63",
    )


def without_password(url: str) -> str:
    """Return a URL for messages: user, host and database only."""
    return re.sub(r"//([^:@/]*):.*@", r"//\1@", url.partition("?")[0])


@lru_cache(maxsize=512)
def _translated(sql: str) -> bytes:
    return sql.replace("%", "%%").replace("?", "%s").encode()


def _first_line(error: Any) -> str:
    return str(error).strip().partition("\n")[0]
