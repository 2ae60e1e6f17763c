"""SQLite: one file with a write-ahead log; a commit is on the disk when it returns."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from leadhand.core.errors import StoreError
from leadhand.stores.connection import DISK_IS_FULL, Absent, Connection, Corrupt, Dialect, ReadOnly, Row, Unavailable
from leadhand.stores.ownership import LockFileHold

PATIENCE_S = 2.0
"""Seconds that a statement waits for another process's transaction, which takes milliseconds unless it is stopped."""

DIALECT = Dialect(
    kind="sqlite",
    now="CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
    for_update="",  # a transaction that writes has the file to itself
    creation_lock="",
    tables="SELECT name FROM sqlite_master WHERE type = 'table'",
    has_phrase="id IN (SELECT rowid FROM run_words WHERE run_words MATCH ?)",
    phrase='"{0}"*',
    next_word=" ",
    alone=True,
)

# By the beginning of SQLite's name for the error: its kind, what is wrong ({name}: the file), and the remedy. The
# messages of other errors say enough.
EXPLAINED: tuple[tuple[str, type[StoreError], str, str], ...] = (
    (
        "SQLITE_NOTADB",
        StoreError,
        "{name} is not a SQLite database",
        "choose another file with --database, or move this one away",
    ),
    (
        "SQLITE_CORRUPT",
        Corrupt,
        "{name} is damaged: {error}",
        "restore it from a backup, or save what can be read: sqlite3 {name} .recover",
    ),
    (
        "SQLITE_CANTOPEN",
        StoreError,
        "cannot open {name}",
        "check that its directory exists and can be written, or choose another path with --database",
    ),
    ("SQLITE_FULL", StoreError, *DISK_IS_FULL),
    ("SQLITE_IOERR", StoreError, "the disk of {name} failed: {error}", "check the disk, then retry the run"),
    ("SQLITE_READONLY", ReadOnly, "{name} is read-only", "make the file and its directory writable"),
    (
        "SQLITE_BUSY",
        Unavailable,
        "{name} is locked by another process",
        "end that process, or continue it if it is stopped (kill -CONT)",
    ),
)

# Raised before SQLite is called, because of the value itself.
UNSTORABLE = (OverflowError, UnicodeError, sqlite3.InterfaceError, sqlite3.ProgrammingError, sqlite3.DataError)


class SqliteDatabase:
    """A database file, created by the first process that writes to it, in a directory that exists."""

    dialect = DIALECT

    def __init__(self, path: Path) -> None:
        # Two spellings of one file must lead to one directory of locks.
        self.path = path.expanduser().resolve()
        self.name = str(self.path)

    def connect(self, *, writes: bool = True) -> SqliteConnection:
        if writes:
            self._check_writable()
        # SQLite cannot read a file where it cannot create those beside it, unless it knows that nobody writes to it.
        immutable = not (writes or _is_writable(str(self.path.parent)) or os.path.exists(f"{self.name}-wal"))
        place = f"{self.path.as_uri()}?immutable=1" if immutable else self.path
        try:
            connection = SqliteConnection(session(place), self.name)
        except sqlite3.Error as error:
            raise explained(error, self.name) from error
        try:
            connection.identify(writes=writes)
            connection.execute(f"PRAGMA {'synchronous = FULL' if writes else 'query_only = ON'}")
        except BaseException:
            connection.close()
            raise
        return connection

    def check_exists(self) -> None:
        """Raise Absent if there is no database at this path."""
        with suppress(OSError):  # connecting explains a directory that cannot be opened
            if not self.path.exists():
                raise Absent(
                    f"there is no database {self.name}",
                    "name another with --home DIR, --database URL, LEADHAND_HOME or LEADHAND_DATABASE_URL, or start a"
                    " run, which creates one.",
                )

    def hold(self) -> LockFileHold:
        return LockFileHold(self.path.with_name(self.path.name + ".hosts"))

    def _check_writable(self) -> None:
        """Raise ReadOnly if the directory or a file of the database is: SQLite would refuse the first write of a run.

        The check takes no lock, so it does not wait.
        """
        for path in (str(self.path.parent), self.name, f"{self.name}-wal", f"{self.name}-shm"):
            # A path that does not exist yet can be written. Another process may create it between two looks.
            if not (_is_writable(path) or not os.path.exists(path) or _is_writable(path)):
                raise ReadOnly(
                    f"cannot write to {self.name}: {path} is read-only for this user",
                    "make the file and its directory writable, or choose another path with --database",
                )


def _is_writable(path: str) -> bool:
    """Whether a path exists and can be written: by the effective user, who is the one who writes under sudo."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


class SqliteConnection(Connection):
    """A session with a database file, used by one thread at a time."""

    def __init__(self, raw: sqlite3.Connection, name: str) -> None:
        self._raw = raw
        self._name = name
        self._files: list[tuple[int, int]] | None = None
        """Which files the database and its log are, of a connection that writes."""

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        try:
            return self._raw.execute(sql, parameters).fetchall()
        except UNSTORABLE as error:
            raise StoreError(
                f"{self._name} cannot store a value of this write: {error}", "use valid text, and numbers below 2^63"
            ) from error
        except sqlite3.Error as error:
            raise explained(error, self._name) from error

    def prepare(self) -> None:
        """Switch the file to write-ahead logging, which lasts for every later session."""
        if self.execute("PRAGMA journal_mode = WAL") != [("wal",)]:
            raise StoreError(
                f"{self._name} is on a file system without the shared memory that SQLite needs",
                "move the database to a local disk, or use PostgreSQL",
            )
        self.execute("PRAGMA journal_size_limit = 67108864")  # it shrinks after a burst of writes or a slow reader
        self.identify()

    def identify(self, *, writes: bool = True) -> None:
        """Take note of which files these are: what is written to one that has lost its name would be lost."""
        self.execute("PRAGMA user_version")  # opens the files, or says why they cannot be read
        if writes:
            self._files = self._found()

    def begin(self) -> None:
        if self._files not in (None, self._found()):
            raise StoreError(
                f"{self._name}, or its -wal file, was deleted or replaced while this process used it",
                "end every process that uses it, restore it from a backup, and start again",
            )
        self.execute("BEGIN IMMEDIATE")

    def _found(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for ending in ("", "-wal"):
            with suppress(FileNotFoundError):
                status = os.stat(self._name + ending)
                found.append((status.st_dev, status.st_ino))
        return found

    def rollback(self) -> None:
        with suppress(sqlite3.Error):  # the original error is the one to report
            if self._raw.in_transaction:  # SQLite may have undone it itself
                self._raw.execute("ROLLBACK")

    def close(self) -> None:
        self._raw.close()


def session(place: Path | str) -> sqlite3.Connection:
    """Open a session of the driver at a path or URI, with the settings that the class above needs."""
    raw = sqlite3.connect(place, timeout=PATIENCE_S, isolation_level=None, uri=True, check_same_thread=False)
    # Damaged text is accepted here, so that its reader can report where it belongs.
    raw.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    return raw


def explained(error: sqlite3.Error, name: str) -> StoreError:
    """Return an error of SQLite as a StoreError with its remedy."""
    code = getattr(error, "sqlite_errorname", None) or ""
    for prefix, kind, what, how in EXPLAINED:
        if code.startswith(prefix):
            return kind(what.format(name=name, error=error), how.format(name=name))
    return StoreError(f"{name}: {error}", "`leadhand doctor` checks the database")
