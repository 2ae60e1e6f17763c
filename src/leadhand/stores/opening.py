"""Open the context store that a URL names."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from leadhand.core.errors import ConfigurationError
from leadhand.ports.hosts import HEARTBEAT_LIMIT_S

from .connection import Database
from .sql_store import PATIENCE_S, SqlContextStore, utc_now


async def open_store(
    url: str,
    *,
    now: Callable[[], datetime] = utc_now,
    patience_s: float = PATIENCE_S,
    reading: bool = False,
    heartbeat_limit_s: float = HEARTBEAT_LIMIT_S,
) -> SqlContextStore:
    """Open the store at ``url``, and create its tables if it is empty; close it with ``aclose()``.

    ``url`` is ``sqlite:///relative/path``, ``sqlite:////absolute/path``, a plain path or ``postgresql://…``. ``now``
    is the clock that dates entries. For ``patience_s`` seconds, the open store tries again what fails because the
    database is locked or cannot be reached. If ``reading``, a SQLite database that is read-only is opened, too: then
    every write raises what opening it raises otherwise, and no file is created. Others consider the process dead after
    ``heartbeat_limit_s`` seconds without a heartbeat. Raises ConfigurationError for an
    unknown kind of URL or a missing driver, and StoreError when the database cannot be opened, belongs to something
    else or to another release, or is not there to be read.
    """
    database = database_at(url, reading=reading, heartbeat_limit_s=heartbeat_limit_s)
    store = SqlContextStore(database, now=now, patience_s=patience_s)
    try:
        await store.open(reading=reading)
    except BaseException:
        await store.aclose()
        raise
    return store


def database_at(url: str, *, reading: bool = False, heartbeat_limit_s: float = HEARTBEAT_LIMIT_S) -> Database:
    """Return the database that a URL names, not opened yet; if ``reading``, a file that exists.

    Raises ConfigurationError, StoreError.
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        return _sqlite(url, reading)
    match scheme:
        case "sqlite":
            return _sqlite(rest.removeprefix("/"), reading)
        case "postgresql" | "postgres":
            try:
                from .postgres.database import PostgresDatabase
            except ImportError as error:
                raise ConfigurationError(
                    "a postgresql:// database needs the package psycopg, which is not installed",
                    'run: pip install "leadhand[postgres]"',
                ) from error
            return PostgresDatabase(url, heartbeat_limit_s)
        case _:
            raise ConfigurationError(
                f"the database URL begins with {scheme}://, which Leadhand does not support",
                "use sqlite:///path/to/leadhand.db, a plain path, or postgresql://user@host/database",
            )


def _sqlite(path: str, reading: bool) -> Database:
    from .sqlite.database import SqliteDatabase

    if not path or path == ":memory:":
        raise ConfigurationError(
            "the database URL names no file, but a run that is only in memory cannot be resumed",
            "name a file: sqlite:///path/to/leadhand.db",
        )
    database = SqliteDatabase(Path(path))
    if reading:
        database.check_exists()
    return database
