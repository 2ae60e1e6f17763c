"""Whether a database is ours, of which schema version it is, and bringing it to today's."""

from __future__ import annotations

from leadhand.domain.errors import StoreError

from .connection import Connection, Database

VERSION = 3
"""The latest schema, which is the number of migrations (checked by a test; they are imported only when needed)."""

TABLES = frozenset({"meta", "runs", "events", "reservations", "blobs", "snapshots", "gates", "cache"})
"""The tables of the first schema: having all of them is how a database is known to be Leadhand's."""

LATER_TABLES: dict[int, frozenset[str]] = {
    1: frozenset(),
    2: frozenset({"asking", "api_keys", "agents"}),
    3: frozenset({"open_approvals", "allowances", "api_keys", "agents"}),
}
"""The tables that each schema has besides those of the first."""


def version_of(connection: Connection, database: Database) -> int:
    """The schema version of a database, 0 for one that is still empty. Writes nothing.

    Raises StoreError for a database of another program, for a schema that is newer than this release knows, and for
    one of ours that is damaged.
    """
    there = {str(name) for (name,) in connection.execute(database.dialect.tables)}
    missing = TABLES - there
    if missing:
        if len(missing) * 2 < len(TABLES):  # no other program has most of our tables by chance
            raise _damaged(database, f"it lacks the tables of {', '.join(sorted(missing))}")
        if there & TABLES.union(*LATER_TABLES.values()) or (there and database.dialect.alone):
            raise StoreError(
                f"{database.name} holds the tables of another program ({', '.join(sorted(there)[:3])}, …)",
                "name a database of its own for Leadhand"
                + ("" if database.dialect.alone else ", or a schema: …?options=-csearch_path%3Dleadhand"),
            )
        return 0
    version = _recorded(connection, database)
    if version > VERSION:
        raise StoreError(
            f"{database.name} was written by a newer release of Leadhand (schema {version}; this one knows {VERSION})",
            "upgrade: pip install -U leadhand (the database was not touched)",
        )
    missing = LATER_TABLES[min(version, max(LATER_TABLES))] - there
    if missing:
        raise _damaged(database, f"it lacks the tables of {', '.join(sorted(missing))}")
    return version


def _recorded(connection: Connection, database: Database) -> int:
    """The version that ``meta`` says. Raises StoreError unless it is one, from 1 on: steps are never done twice."""
    rows = connection.execute("SELECT version FROM meta")
    if len(rows) != 1:
        raise _damaged(database, f"its table meta holds {len(rows)} versions in place of one")
    version: object = rows[0][0]
    if not isinstance(version, int) or version < 1:
        raise _damaged(database, "its table meta holds no version of a schema")
    return version


def _damaged(database: Database, what: str) -> StoreError:
    return StoreError(
        f"{database.name} is damaged: {what}",
        "restore it from a backup, or name another with --database (this one was not touched)",
    )


def migrate(connection: Connection, database: Database) -> None:
    """Bring a database to today's schema, in one transaction; harmless when several processes do it at once."""
    from .migrations import MIGRATIONS  # most processes never need it

    connection.begin()
    try:
        if database.dialect.migration_lock:
            connection.execute(database.dialect.migration_lock)
        for step in MIGRATIONS[version_of(connection, database) :]:
            for part in step:
                if isinstance(part, str):
                    connection.execute(part.format(bytes=database.dialect.bytes_type))
                else:
                    part(connection)
        connection.execute("UPDATE meta SET version = ?", (len(MIGRATIONS),))
        connection.commit()
    except BaseException:
        connection.rollback()
        raise
