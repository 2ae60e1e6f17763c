"""Recognise a database of Leadhand, read its schema version, and migrate it to the current schema."""

from __future__ import annotations

from leadhand.core.errors import StoreError

from .connection import Connection, Corrupt, Database

VERSION = 1
"""The latest schema, which is the number of migrations (checked by a test; they are imported only when needed)."""

FIRST = frozenset({"meta", "runs", "events", "reservations", "blobs", "snapshots", "gates", "cache"})
"""Tables that a database of Leadhand has and that of another program has not."""
TABLES = FIRST | {
    *("api_keys", "allowances", "shared_accounts", "webhooks", "deliveries", "places"),
    "run_texts",
}


def version_of(connection: Connection, database: Database) -> int:
    """Return the schema version of a database, 0 for an empty database. Writes nothing.

    Raises StoreError for a database that is damaged, of another program, or of a schema newer than this release knows.
    """
    there = _tables(connection, database)
    missing = FIRST - there
    if missing:
        if len(missing) * 2 < len(FIRST):  # another program does not have most of these tables by chance
            raise _damaged(database, f"it lacks the tables of {', '.join(sorted(missing))}")
        if there & TABLES or (there and database.dialect.alone):
            raise StoreError(
                f"{database.name} has tables of another program ({', '.join(sorted(there)[:3])}, …)",
                "use a separate database for Leadhand"
                + ("" if database.dialect.alone else ", or a schema: …?options=-csearch_path%3Dleadhand"),
            )
        return 0
    version = _recorded(connection, database)
    if version > VERSION:
        raise StoreError(
            f"{database.name} was written by another release of Leadhand (schema {version}; this one knows {VERSION})",
            "upgrade: pip install -U leadhand, or choose another with --database (this one was not touched)",
        )
    missing = TABLES - _tables(connection, database)
    if _recorded(connection, database) != version:  # another process has migrated it between these statements
        return version_of(connection, database)
    if missing:
        raise _damaged(database, f"it lacks the tables of {', '.join(sorted(missing))}")
    return version


def check_current(connection: Connection, database: Database) -> None:
    """Raise StoreError unless a database that cannot be migrated has the current schema."""
    version = version_of(connection, database)
    if version != VERSION:
        raise StoreError(
            f"{database.name} is read-only and was written by an earlier release (schema {version}, not {VERSION})",
            "make the file and its directory writable, so that it can be migrated",
        )


def _tables(connection: Connection, database: Database) -> set[str]:
    return {str(name) for (name,) in connection.execute(database.dialect.tables)}


def _recorded(connection: Connection, database: Database) -> int:
    """Return the version in ``meta``. Raises StoreError unless it is 1 or more, so that no step is done twice."""
    rows = connection.execute("SELECT version FROM meta")
    if len(rows) != 1:
        raise _damaged(database, f"its table meta has {len(rows)} versions instead of one")
    version: object = rows[0][0]
    if not isinstance(version, int) or version < 1:
        raise _damaged(database, "its table meta has no schema version")
    return version


def _damaged(database: Database, what: str) -> Corrupt:
    return Corrupt(
        f"{database.name} is damaged: {what}",
        "restore it from a backup, or choose another with --database (this one was not touched)",
    )


def migrate(connection: Connection, database: Database) -> None:
    """Migrate a database to the current schema, in one transaction; several processes may do so at once."""
    from .migrations import MIGRATIONS, apply  # imported late, as it is rarely needed

    connection.begin()
    try:
        if database.dialect.migration_lock:
            connection.execute(database.dialect.migration_lock)
        for step in MIGRATIONS[version_of(connection, database) :]:
            apply(step, connection, database.dialect)
        connection.execute("UPDATE meta SET version = ?", (len(MIGRATIONS),))
        connection.commit()
    except BaseException:
        connection.rollback()
        raise
