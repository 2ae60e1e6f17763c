"""A database in memory behind the seam, on one connection: for tests of single parts of the store."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from leadhand.core.errors import LeadhandError
from leadhand.stores.connection import Connection
from leadhand.stores.schema import create_tables
from leadhand.stores.sqlite.database import DIALECT, SqliteConnection, session
from leadhand.stores.transaction import LogTransaction, Operation


class OnlyHost:
    """A hold on the database that nobody else has."""

    host = "only"

    def take(self) -> None: ...

    def living(self, hosts: Collection[str], connection: Connection) -> set[str]:
        return {self.host} & set(hosts)

    def release(self) -> None: ...


def memory() -> SqliteConnection:
    """A connection to an empty database of today's schema."""
    connection = SqliteConnection(session(":memory:"), "memory")
    create_tables(connection, alone=True)
    return connection


def transact(connection: Connection, *operations: Operation) -> list[object]:
    """What becomes of operations that are committed together: answers and refusals."""
    connection.begin()
    transaction = LogTransaction(connection, DIALECT, OnlyHost(), datetime.now(UTC), operations)
    outcomes: list[object] = []
    for operation in operations:
        try:
            outcomes.append(transaction.apply(operation))
        except LeadhandError as refusal:
            outcomes.append(refusal)
    transaction.write()
    connection.commit()
    return outcomes
