"""SQLite: one file with a write-ahead log; a commit is on the disk when it returns."""

from __future__ import annotations

import os
import shlex
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from leadhand.core.errors import StoreError
from leadhand.stores.connection import Absent, Connection, Corrupt, Dialect, ReadOnly, Row, Unavailable
from leadhand.stores.ownership import LockFileHold

PATIENCE_S = 2.0
"""Seconds that a statement waits for another process's transaction, which takes milliseconds unless it is stopped."""

DIALECT = Dialect(
    kind="sqlite",
    now="CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
    for_update="",  # a transaction that writes has the file to itself
    creation_lock="",
    tables="SELECT name FROM sqlite_master WHERE type = 'table'",
    size="SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    has_phrase="id IN (SELECT rowid FROM run_words WHERE run_words MATCH ?)",
    phrase='"{0}"*',
    next_word=" ",
    alone=True,
)

fdatasync = getattr(os, "fdatasync", os.fsync)

# By the beginning of SQLite's name for the error: what is wrong ({name}: the file, {error}: its message), and the fix.
EXPLAINED: tuple[tuple[str, str, str], ...] = (
    ("SQLITE_NOTADB", "{name} is not a SQLite database", "choose another file with --database, or move this one away"),
    (
        "SQLITE_CORRUPT",
        "{name} is damaged: {error}",
        "restore it from a backup, or save what can be read: sqlite3 {name} .recover",
    ),
    ("SQLITE_CANTOPEN", "cannot open {name}", "check that it is a file, and that it and its directory can be written"),
    ("SQLITE_READONLY", "{name} is read-only", "make the file and its directory writable"),
    ("SQLITE_FULL", "the disk of {name} is full", "free some space and try again; nothing that was committed is lost"),
    (
        "SQLITE_BUSY",
        "{name} is locked by another process",
        "end that process, or continue it if it is stopped (kill -CONT)",
    ),
    ("SQLITE_IOERR", "the disk of {name} failed: {error}", "check the disk; run `leadhand doctor` for details"),
)

KINDS: dict[str, type[StoreError]] = {"SQLITE_CORRUPT": Corrupt, "SQLITE_BUSY": Unavailable}

# Raised before SQLite is called, because of the value itself.
UNSTORABLE = (OverflowError, UnicodeError, sqlite3.InterfaceError, sqlite3.ProgrammingError, sqlite3.DataError)


BESIDE = ("", "-wal", "-shm")
"""The endings of the names of a database's files: SQLite writes all three."""


class SqliteDatabase:
    """A database file, created by the first process that writes to it, in a directory that exists."""

    dialect = DIALECT

    def __init__(self, path: Path) -> None:
        # Two spellings of one file must lead to one directory of locks.
        self.path = path.expanduser().resolve()
        self.name = str(self.path)

    def connect(self, *, writes: bool = True) -> SqliteConnection:
        self._check_place(writes)
        # SQLite cannot read a file where it cannot create those beside it, unless it knows that nobody writes to it.
        wal = self.path.with_name(f"{self.path.name}-wal")
        immutable = not writes and not _is_writable(self.path.parent) and not wal.exists()
        try:
            raw = session(f"{self.path.as_uri()}?immutable=1" if immutable else self.path)
        except sqlite3.Error as error:
            raise explained(error, self.name) from error
        connection = SqliteConnection(raw, self.name)
        try:
            connection.execute("PRAGMA user_version")  # a file that cannot be read is explained
            if writes:
                connection.identify()
            connection.execute(f"PRAGMA {'synchronous = NORMAL' if writes else 'query_only = ON'}")  # see _sync
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

    def _check_place(self, writes: bool) -> None:
        """Raise StoreError if the directory is not there, or, to write, if it or a file of the database is read-only.

        SQLite would refuse the first write in the middle of a run. The check takes no lock, so it does not wait.
        """
        directory = self.path.parent
        try:
            there = directory.is_dir()
        except OSError as error:
            raise StoreError(
                f"cannot open {self.name}: {error.strerror or error}",
                "allow this user to open its directory, or choose another path with --database",
            ) from error
        if not there:
            raise StoreError(
                f"cannot open {self.name}: there is no directory {directory}",
                f"create it with `mkdir -p {shlex.quote(str(directory))}`, or choose another path with --database",
            )
        files = (self.path.with_name(self.path.name + suffix) for suffix in BESIDE)
        for path in (directory, *files) if writes else ():
            # A path that does not exist yet can be written. Another process may create it between two looks.
            if not (_is_writable(path) or not path.exists() or _is_writable(path)):
                raise ReadOnly(
                    f"cannot write to {self.name}: {path} is read-only for this user, and there are files beside it",
                    "make the file and its directory writable, or choose another path with --database",
                )


def _is_writable(path: Path) -> bool:
    """Whether a path exists and can be written: by the effective user, who is the one who writes under sudo."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


class SqliteConnection(Connection):
    """A session with a database file, used by one thread at a time."""

    def __init__(self, raw: sqlite3.Connection, name: str) -> None:
        self._raw = raw
        self._name = name
        self._file: os.stat_result | None = None
        """Which file this is, of a connection that writes."""
        self._log: int | None = None

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

    def identify(self) -> None:
        """Take note of which file the database is: what is written to one that has lost its name would be lost."""
        self._file = os.stat(self._name)

    def begin(self) -> None:
        if self._file is not None and not self._is_in_place(self._file):
            raise StoreError(
                f"{self._name}, or its -wal file, was deleted or replaced while this process used it",
                "end every process that uses it, restore it from a backup, and start again",
            )
        self.execute("BEGIN IMMEDIATE")

    def _is_in_place(self, file: os.stat_result) -> bool:
        """Whether the database and its log still have their names."""
        try:
            log = self._log is None or os.path.samestat(os.fstat(self._log), os.stat(f"{self._name}-wal"))
            return log and os.path.samestat(file, os.stat(self._name))
        except FileNotFoundError:
            return False

    def commit(self) -> None:
        super().commit()
        if self._file is not None:
            self._sync()

    def _sync(self) -> None:
        """Write the log to the disk; SQLite itself would do so while it keeps other processes from writing."""
        try:
            if self._log is None:
                self._log = os.open(f"{self._name}-wal", os.O_RDWR | os.O_CLOEXEC)
                directory = os.open(Path(self._name).parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    os.fsync(directory)  # the log may be a new file
                finally:
                    os.close(directory)
            fdatasync(self._log)
        except OSError as error:
            raise StoreError(
                f"the disk of {self._name} failed: {error.strerror or error}",
                "check the disk; run `leadhand doctor` for details",
            ) from error

    def rollback(self) -> None:
        with suppress(sqlite3.Error):  # the original error is the one to report
            if self._raw.in_transaction:  # SQLite may have undone it itself
                self._raw.execute("ROLLBACK")

    def damaged_pages(self) -> list[str]:
        found = [text for (text,) in self.execute("PRAGMA quick_check(5)")]
        return [] if found == ["ok"] else [f"{self._name} is damaged: {' '.join(text.split())}" for text in found]

    def copy_to(self, path: Path) -> None:
        try:
            with closing(session(path)) as copy:
                self._raw.backup(copy)
        except sqlite3.Error as error:
            raise explained(error, self._name) from error

    def give_back(self) -> None:
        ((free, pages),) = self.execute(
            "SELECT freelist_count, page_count FROM pragma_freelist_count(), pragma_page_count()"
        )
        if free * 10 > pages:  # fewer are soon used again, and this writes the whole file
            self.execute("VACUUM")
            self.execute("PRAGMA busy_timeout = 1000")  # a later checkpoint does it if a slow reader holds it up
            self.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self._raw.close()
        log, self._log = self._log, None
        if log is not None:
            os.close(log)


def session(place: Path | str) -> sqlite3.Connection:
    """Open a session of the driver at a path or URI, with the settings that the class above needs."""
    raw = sqlite3.connect(
        place, timeout=PATIENCE_S, isolation_level=None, cached_statements=256, uri=True, check_same_thread=False
    )
    # Damaged text is accepted here, so that its reader can report where it belongs.
    raw.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    return raw


def explained(error: sqlite3.Error, name: str) -> StoreError:
    """Return an error of SQLite as a StoreError with its remedy."""
    code = _named(error)
    for prefix, what, how in EXPLAINED:
        if code.startswith(prefix):
            kind = KINDS.get(prefix, StoreError)
            return kind(what.format(name=name, error=error), how.format(name=name))
    return StoreError(f"{name}: {error}", "`leadhand doctor` checks the database")


def _named(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", None) or ""
