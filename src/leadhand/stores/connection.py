"""The seam between the store and a database: a session that runs SQL, and the few points on which databases differ.

SQL is written once, with ``?`` for parameters, in what SQLite (3.35 and later) and PostgreSQL have in common. Where
they have nothing in common a :class:`Dialect` says how it is put.
"""

# ruff: noqa: S608 - only words of our own are put into SQL; data are parameters

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from leadhand.domain.errors import StoreError

Row = tuple[Any, ...]


class Unstorable(StoreError):
    """A value that this database cannot hold (a NUL in text, a number that is too large): the fault of one write."""


class TryAgain(StoreError):
    """The transaction met another one and was undone; the same again will do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one kind of database puts what the two do not have in common; each field but ``kind`` is a piece of SQL.

    ``kind`` is what it is called. ``now`` is the database's clock in whole microseconds since 1970, UTC. ``joined`` is
    the aggregate that joins the texts ``{0}``, with ``{1}`` in between, ``rows`` the one that makes one JSON text of
    rows of the columns ``{0}``. ``migration_lock`` keeps a second process from migrating at the same time ("":
    beginning a transaction does). ``tables`` lists the tables that are there, ``size`` counts the bytes of it all.
    ``alone`` is true when the database belongs to one program only.
    """

    kind: str
    bytes_type: str
    now: str
    joined: str
    rows: str
    for_update: str
    migration_lock: str
    tables: str
    size: str
    alone: bool


class Connection(Protocol):
    """One session with a database, used by one thread at a time.

    Every method but ``close`` raises :class:`~leadhand.domain.errors.StoreError`, or one of its kinds above.
    """

    @property
    def broken(self) -> bool:
        """Whether the session is lost for good and must be replaced."""
        ...

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one statement and return all its rows (none for a statement that has none)."""
        ...

    def prepare(self) -> None:
        """Make the durability promises hold, once the database is known to be ours."""
        ...

    def begin(self) -> None:
        """Begin a transaction that will write."""
        ...

    def commit(self) -> None: ...

    def rollback(self) -> None:
        """Undo the transaction, if there is one; never raises."""
        ...

    def commits(self) -> int | None:
        """A number that differs once somebody else has committed; None where there is no such number."""
        ...

    def close(self) -> None: ...


class Hold(Protocol):
    """A process's sign of life at a database, seen at once by others when it is gone: liveness, with no time-out."""

    @property
    def host(self) -> str: ...

    def take(self) -> None:
        """Begin to hold, or hold again after the database forgot us. Raises StoreError."""
        ...

    def living(self, hosts: Collection[str], connection: Connection) -> set[str]:
        """Which of these hosts are alive now."""
        ...

    def release(self) -> None: ...


class Database(Protocol):
    """One database: where it is, and how to reach it."""

    @property
    def name(self) -> str:
        """What people call it: a path, or a URL without its password."""
        ...

    @property
    def dialect(self) -> Dialect: ...

    def connect(self, *, writes: bool = True) -> Connection:
        """A new session. Raises StoreError, or ConfigurationError when a driver is missing."""
        ...

    @property
    def artifact_folder(self) -> Path | None:
        """Where files beside the database belong; None if other machines read the database."""
        ...

    def hold(self) -> Hold:
        """Return a new hold, not yet taken."""
        ...


def at_once(
    connection: Connection, dialect: Dialect, columns: str, rest: str, parameters: Sequence[object]
) -> list[list[Any]]:
    """The rows of ``SELECT {columns} {rest}``, in any order, fetched as one.

    Each row that is fetched lets go of the interpreter lock, and beside a busy event loop takes up to 5 ms to get it
    back. So where there may be hundreds of small ones, let the database put them together.
    """
    query = f"SELECT {dialect.rows.format(columns)} FROM (SELECT {columns} {rest}) AS found"
    ((text,),) = connection.execute(query, parameters)
    return json.loads(text) if text else []


LARGEST_STATEMENT = 1_024
"""Rows in one statement, at most: nine parameters each stay below SQLite's limit of 32,766."""


def insert(connection: Connection, into: str, columns: int, rows: Sequence[Row], then: str = "") -> None:
    """Insert rows with few statements: ``INSERT INTO {into} VALUES …{then}``.

    ``executemany`` would let go of the interpreter lock twice a row: beside a busy event loop 1,500 rows took 3.8 s
    so, and 0.07 s this way. Sizes are powers of two, so that the statements are few and stay prepared.
    """
    one = f"({', '.join('?' * columns)})"
    start = 0
    while start < len(rows):
        size = min(LARGEST_STATEMENT, 1 << ((len(rows) - start).bit_length() - 1))
        sql = f"INSERT INTO {into} VALUES {', '.join([one] * size)}{then}"
        connection.execute(sql, list(chain.from_iterable(rows[start : start + size])))
        start += size


def among(rows: Sequence[Row]) -> Iterator[tuple[str, list[object]]]:
    """``VALUES …`` of these rows, and its parameters, in portions.

    The last row is repeated up to a power of two, to the same end as above; so use it where repeats do no harm.
    """
    for start in range(0, len(rows), LARGEST_STATEMENT):
        portion = list(rows[start : start + LARGEST_STATEMENT])
        portion += [portion[-1]] * ((1 << (len(portion) - 1).bit_length()) - len(portion))
        one = f"({', '.join('?' * len(portion[0]))})"
        yield f"VALUES {', '.join([one] * len(portion))}", list(chain.from_iterable(portion))
