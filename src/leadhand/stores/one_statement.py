"""SQLite: write a whole transaction of the log with one statement, so that no Python runs while the file is locked.

Between two statements of a transaction, a thread waits for Python's interpreter lock while it holds the database's
write lock; if another thread keeps the interpreter for a while, every process that shares the file waits. So the rows
are first put into temporary tables of this session, which locks nothing. Then one insert into a view fires a trigger
that checks that the rows of the file are still as they were read, copies everything, and empties the temporary tables.
SQLite executes, commits and unlocks within one call, during which the driver has released the interpreter.

View, trigger and tables are temporary, so nothing of this is in the file. SQLite 3.35 or later.
"""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

from collections.abc import Sequence

from .changes import CHANGES
from .connection import Change, Changed, Connection, Table

OVERTAKEN = "another process has changed a row of this transaction meanwhile"

# The store synchronises after a commit. Temporary tables are in memory, so that no second disk can be full; the memory
# of the largest transaction is kept, since giving it back after each one took a fifth of the time of a small write.
SETTINGS = ("synchronous = NORMAL", "temp_store = MEMORY")
"""The settings of a session that writes."""

WRITE = "INSERT INTO transactions VALUES (?)"
"""Writes everything that is staged; the parameter is whether changes beside :data:`OFTEN` are."""

OFTEN = CHANGES[:2]
"""The changes of every transaction. The others have a trigger of their own, as looking at empty tables takes time."""

STAGED = {change: f"staged_{place}" for place, change in enumerate(CHANGES)}
"""The temporary table of each change: its columns, and its versions as they were read."""


def _columns(change: Change) -> str:
    read = "".join(f", read_{name}" for name in change.version.split(", ") if name)
    return change.table.columns + read


def _check(change: Change, staged: str) -> str:
    """Return the statement that fails if a row has another version than it was read with, or is there or not."""
    name, key, version = change.table.name, change.key, change.version
    read = ", ".join(f"read_{column}" for column in version.split(", "))
    current = f"SELECT {version} FROM {name} WHERE {name}.{key} = {staged}.{key}"
    return f"SELECT RAISE(ABORT, '{OVERTAKEN}') FROM {staged} WHERE ({read}) IS NOT ({current});"


def _copy(change: Change, staged: str) -> str:
    name, columns = change.table.name, change.table.columns
    rows = f"SELECT {columns} FROM {staged}"
    if change.deletes:
        return f"DELETE FROM {name} WHERE ({columns}) IN ({rows});"
    # Without WHERE, SQLite would take ON CONFLICT for the condition of a join.
    return f"INSERT INTO {name} ({columns}) {rows} WHERE true{change.then};"


def set_up(connection: Connection) -> None:
    """Create the temporary tables, the view and the trigger, in a session that writes to the current schema."""
    for change, staged in STAGED.items():
        connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS {staged} ({_columns(change)})")
    rest = tuple(change for change in CHANGES if change not in OFTEN)
    connection.execute("CREATE TEMP VIEW IF NOT EXISTS transactions AS SELECT 1 AS more")
    _create_trigger(connection, "write_often", OFTEN, " BEGIN UPDATE meta SET commits = commits + 1;")
    _create_trigger(connection, "write_more", rest, " WHEN new.more BEGIN")


def _create_trigger(connection: Connection, name: str, changes: Sequence[Change], begin: str) -> None:
    # SQLite may fire either trigger first, and everything is checked before anything is written that could be refused.
    checked = OFTEN if changes is OFTEN else CHANGES
    body = [
        *(_check(change, STAGED[change]) for change in checked if change.version),
        *(_copy(change, STAGED[change]) for change in changes),
        *(f"DELETE FROM {STAGED[change]};" for change in changes),
    ]
    create = f"CREATE TEMP TRIGGER IF NOT EXISTS {name} INSTEAD OF INSERT ON transactions"
    connection.execute(f"{create}{begin} {' '.join(body)} END")


def stage(connection: Connection, changes: Sequence[Changed]) -> None:
    """Put the rows of a transaction into the temporary tables."""
    for each in changes:
        rows = [row + read for row, read in zip(each.rows, each.read, strict=True)] if each.read else each.rows
        Table(STAGED[each.change], _columns(each.change)).insert(connection, rows)


def clear(connection: Connection) -> None:
    """Empty the temporary tables, after a transaction that was not written."""
    for staged in STAGED.values():
        connection.execute(f"DELETE FROM {staged}")
