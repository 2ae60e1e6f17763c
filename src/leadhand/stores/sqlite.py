"""SQLite behind the seam: one file, write-ahead log, a commit is on the disk when it returns."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from leadhand.domain.errors import StoreError

from .connection import Dialect, Row, Unstorable
from .ownership import LockFileHold

PATIENCE_S = 60.0
"""How long a write waits for another process's transaction, in seconds. Ours take milliseconds."""

DIALECT = Dialect(
    bytes_type="BLOB",
    now="CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
    joined="group_concat({0}, '{1}')",
    rows="json_group_array(json_array({0}))",
    for_update="",  # a transaction that writes has the file to itself
    migration_lock="",
    tables="SELECT name FROM sqlite_master WHERE type = 'table'",
    alone=True,
)

# By the beginning of SQLite's name for the error: what is wrong ({name} the file, {error} its own words), and how to
# mend it.
EXPLAINED: tuple[tuple[str, str, str], ...] = (
    ("SQLITE_NOTADB", "{name} is not a SQLite database", "name another file with --database, or move this one away"),
    (
        "SQLITE_CORRUPT",
        "{name} is damaged: {error}",
        "restore it from a backup, or save what can be read: sqlite3 {name} .recover",
    ),
    ("SQLITE_CANTOPEN", "cannot open {name}", "check that its directory exists and that both can be written"),
    ("SQLITE_READONLY", "{name} is read-only", "make the file and its directory writable"),
    ("SQLITE_FULL", "the disk of {name} is full", "free some space and resume; nothing that was committed is lost"),
    (
        "SQLITE_BUSY",
        f"{{name}} has been locked by another process for {PATIENCE_S:.0f} s",
        "end the program that keeps it open in a transaction",
    ),
    ("SQLITE_IOERR", "the disk of {name} failed: {error}", "check the disk; `leadhand doctor` says more"),
)

# Raised before SQLite was asked at all: the value itself is at fault.
UNSTORABLE = (OverflowError, UnicodeError, sqlite3.InterfaceError, sqlite3.ProgrammingError, sqlite3.DataError)


class SqliteDatabase:
    """A database file. Its directory is made when it is not there; the file itself by the first migration."""

    dialect = DIALECT

    def __init__(self, path: Path) -> None:
        # Two spellings of one file must lead to one directory of locks.
        self.path = path.expanduser().resolve()
        self.name = str(self.path)

    def connect(self, *, writes: bool = True) -> SqliteConnection:
        """A new session. Raises StoreError."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"cannot make the directory {self.path.parent}: {error.strerror or error}",
                "name another place with --database",
            ) from error
        try:
            raw = sqlite3.connect(self.path, timeout=PATIENCE_S, isolation_level=None, cached_statements=256)
        except sqlite3.Error as error:
            raise explained(error, self.name) from error
        connection = SqliteConnection(raw, self.name)
        try:
            connection.execute("PRAGMA synchronous = FULL" if writes else "PRAGMA query_only = ON")
        except BaseException:
            connection.close()
            raise
        return connection

    def hold(self) -> LockFileHold:
        """A new sign of life, not yet taken."""
        return LockFileHold(self.path.with_name(self.path.name + ".hosts"))


class SqliteConnection:
    """A session with a database file; to be used, and closed, by the thread that opened it."""

    broken = False

    def __init__(self, raw: sqlite3.Connection, name: str) -> None:
        self._raw = raw
        self._name = name

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one statement and return all its rows. Raises StoreError."""
        try:
            return self._raw.execute(sql, parameters).fetchall()
        except UNSTORABLE as error:
            raise Unstorable(
                f"{self._name} cannot hold a value of this write: {error}", "keep plain text and numbers below 2^63"
            ) from error
        except sqlite3.Error as error:
            raise explained(error, self._name) from error

    def prepare(self) -> None:
        """Switch the file to write-ahead logging, once and for all who will ever open it."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                mode = self._raw.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            except sqlite3.OperationalError as error:
                # The switch does not always wait for a process that is doing the same.
                if not _named(error).startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                    raise explained(error, self._name) from error
                time.sleep(0.01)
                continue
            if mode != "wal":
                raise StoreError(
                    f"{self._name} is on a file system without the shared memory that SQLite needs",
                    "keep the database on a local disk, or use PostgreSQL",
                )
            # What a burst of writes or a slow reader made large becomes small again.
            self.execute("PRAGMA journal_size_limit = 67108864")
            return

    def begin(self) -> None:
        """Begin a transaction that will write, after waiting for those of other processes."""
        self.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self.execute("COMMIT")

    def rollback(self) -> None:
        """Undo the transaction, if SQLite has not done so itself."""
        try:
            if self._raw.in_transaction:
                self._raw.execute("ROLLBACK")
        except sqlite3.Error:
            pass  # the error that led here is the one to tell

    def commits(self) -> int | None:
        """A number that differs once another session has committed."""
        return self.execute("PRAGMA data_version")[0][0]

    def close(self) -> None:
        self._raw.close()


def explained(error: sqlite3.Error, name: str) -> StoreError:
    """What an error of SQLite means to the person at the door."""
    code = _named(error)
    for prefix, what, how in EXPLAINED:
        if code.startswith(prefix):
            return StoreError(what.format(name=name, error=error), how.format(name=name))
    return StoreError(f"{name}: {error}", "`leadhand doctor` checks the database")


def _named(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", None) or ""
