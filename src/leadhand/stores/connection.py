"""The interface between the store and a database: a session that runs SQL, and the differences between databases.

SQL is written once, with ``?`` for parameters, in the language that SQLite (3.35 and later) and PostgreSQL share. Where
they differ, a :class:`Dialect` has the words of each.
"""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeVar

from leadhand.core.errors import StoreError
from leadhand.ports.hosts import HostLine

Row = tuple[Any, ...]
DISK_IS_FULL = "the disk of {name} is full", "free some space and try again; nothing that was committed is lost"
"""What is wrong with a full disk, and what to do."""
T = TypeVar("T")


class Unavailable(StoreError):
    """The database cannot be reached, or another process has locked it; the same work can succeed later."""


class TryAgain(StoreError):
    """The transaction conflicted with another and was rolled back; it can be repeated at once."""


class Absent(StoreError):
    """There is no database to be read."""


class ReadOnly(StoreError):
    """This user cannot write to the database."""


class Corrupt(StoreError):
    """The database is damaged or has lost something; what is stored elsewhere in it can still be read."""


class Dialect(NamedTuple):
    """The SQL of one kind of database where the two differ; each field but ``kind`` and ``alone`` is a piece of SQL.

    ``kind`` is the database's name. ``now`` is its clock in whole microseconds since 1970, UTC. ``creation_lock``
    keeps a second process from creating the tables at the same time (empty: beginning a transaction does). ``tables``
    lists the tables. ``alone`` is true if the database belongs to one program only. ``has_phrase`` is the condition
    that a row of ``run_texts`` has the phrase ``?``; ``phrase`` writes one of the words ``{0}``, which ``next_word``
    separates, and the last of which may be the beginning of a word.
    """

    kind: str
    now: str
    for_update: str
    creation_lock: str
    tables: str
    has_phrase: str
    phrase: str
    next_word: str
    alone: bool


class Connection(Protocol):
    """One session with a database, used by one thread at a time; the base class of both databases' sessions.

    Every method but ``close`` raises :class:`~leadhand.core.errors.StoreError`, or one of its kinds above.
    """

    @property
    def broken(self) -> bool:
        """Whether the session is lost and must be replaced."""
        return False

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one statement and return all its rows."""
        ...

    def prepare(self) -> None:
        """Set up durability, once the database is known to be Leadhand's; a server needs no further settings."""

    def begin(self) -> None:
        """Begin a transaction that will write."""
        self.execute("BEGIN")

    def commit(self) -> None:
        self.execute("COMMIT")

    def rollback(self) -> None:
        """Undo the transaction, if there is one; never raises."""
        ...

    def messages(self, wait_s: float) -> Iterator[str]:
        """Yield what other sessions send on the channels that this one listens to, for ``wait_s`` seconds."""
        yield from ()

    def close(self) -> None: ...


class Hold(Protocol):
    """What shows that a process is alive; other processes notice its death at once."""

    host: str
    """The unique id of the process's hold: ``<hostname>-<pid>-<random>``."""

    def take(self) -> None:
        """Take the hold, or take it again after the database lost it. Raises StoreError."""
        ...

    def living(self, hosts: Collection[str], connection: Connection) -> set[str]:
        """Return the hosts that are alive."""
        ...

    def announce(self, line: HostLine, doing: Callable[[], Sequence[str]]) -> None:
        """Show this process among the hosts; ``doing`` returns the attempts that it carries out. Raises StoreError.

        On one machine, processes need not find each other.
        """

    def drain(self) -> None:
        """Show that this process takes no new work."""

    def release(self) -> None:
        """End the hold; a second call does nothing."""
        ...

    def after_fork_in_child(self) -> None:
        """Let go of what a forked child inherits, without ending the hold of its parent."""


class Database(Protocol):
    """One database: its place, and how to connect to it."""

    @property
    def name(self) -> str:
        """Its name for people: a path, or a URL without its password."""
        ...

    @property
    def dialect(self) -> Dialect: ...

    def connect(self, *, writes: bool = True) -> Connection:
        """Open a session. Raises StoreError, or ConfigurationError if a driver is missing."""
        ...

    def hold(self) -> Hold:
        """Return a new hold, not yet taken."""
        ...


LARGEST_STATEMENT = 1_024
"""Maximum rows in one statement: with 31 parameters each, they stay below SQLite's limit of 32,766. The number of rows
is a power of two, since a database compiles and keeps one statement for each number."""


class Table(NamedTuple):
    """A table and its columns, written in SQL; the first ``key`` of them are its primary key."""

    name: str
    columns: str
    key: int = 1

    def insert(self, connection: Connection, rows: Sequence[Row], then: str = "") -> None:
        """Insert rows with few statements: ``INSERT INTO … VALUES …{then}``."""
        one, done = f"({', '.join('?' * (self.columns.count(',') + 1))})", 0
        while left := len(rows) - done:
            many = min(1 << (left.bit_length() - 1), LARGEST_STATEMENT)
            sql = f"INSERT INTO {self.name} ({self.columns}) VALUES {', '.join([one] * many)}{then}"
            connection.execute(sql, list(chain.from_iterable(rows[done : done + many])))
            done += many

    def put(self, connection: Connection, rows: Sequence[Row], fixed: int = 0) -> None:
        """Insert rows in place of those with the same keys, whose first columns, at least ``fixed``, stay."""
        columns = self.columns.split(", ")
        changes = ", ".join(f"{name} = excluded.{name}" for name in columns[max(fixed, self.key) :])
        self.insert(connection, rows, f" ON CONFLICT ({', '.join(columns[: self.key])}) DO UPDATE SET {changes}")

    def find(self, connection: Connection, key: str, keys: Sequence[Row], then: str = "") -> Iterator[Row]:
        """Yield the rows whose columns ``key`` are among ``keys``, in any order: ``SELECT … WHERE …{then}``."""
        for condition, parameters in among(key, keys):
            yield from connection.execute(f"SELECT {self.columns} FROM {self.name} WHERE {condition}{then}", parameters)

    def delete(self, connection: Connection, key: str, keys: Sequence[Row]) -> None:
        """Delete the rows whose columns ``key`` are among ``keys``."""
        for condition, parameters in among(key, keys):
            connection.execute(f"DELETE FROM {self.name} WHERE {condition}", parameters)


def among(key: str, rows: Sequence[Row]) -> Iterator[tuple[str, list[object]]]:
    """Yield a condition that the columns ``key`` are among these rows, and its parameters, in portions.

    The values are a table of their own because SQLite uses no index for ``(a, b) IN (VALUES …)``.
    """
    for portion in batched(rows, LARGEST_STATEMENT):
        many = 1 << (len(portion) - 1).bit_length()
        given = [*portion, *[portion[-1]] * (many - len(portion))]
        values = ", ".join([f"({', '.join('?' * len(given[0]))})"] * many)
        yield f"({key}) IN (SELECT * FROM (VALUES {values}) AS given)", list(chain.from_iterable(given))


def batched(rows: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield the rows in portions of ``size``."""
    return (rows[start : start + size] for start in range(0, len(rows), size))
