"""What the parts of the store share: each is a class with the methods of one subject."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from .connection import Connection, Database, Hold, Row

T = TypeVar("T")


class StorePart:
    """A part of the store: it asks a thread that reads, and has the writer thread write beside the log."""

    _database: Database
    _hold: Hold
    _now: Callable[[], datetime]

    async def _ask(self, query: Callable[..., T], *args: Any) -> T:
        """Return what ``query(connection, …)`` returns with the other arguments."""
        raise NotImplementedError

    async def _write(self, key: str, write: Callable[..., T], *args: Any) -> T:
        """Return what ``write(connection, …)`` returns, once it is committed. ``key`` orders the writes of a
        transaction, equally in every process.
        """
        raise NotImplementedError

    async def _rows(self, sql: str, *parameters: object) -> list[Row]:
        """Return the rows of one query."""
        return await self._ask(_execute, sql, parameters)

    async def _written(self, key: str, sql: str, *parameters: object) -> list[Row]:
        """Return the rows of one statement that writes."""
        return await self._write(key, _execute, sql, parameters)


def _execute(connection: Connection, sql: str, parameters: tuple[object, ...]) -> list[Row]:
    return connection.execute(sql, parameters)
