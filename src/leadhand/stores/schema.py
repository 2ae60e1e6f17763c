"""Whether a database is ours, of which schema version it is, and bringing it to today's."""

from __future__ import annotations

from leadhand.domain.errors import StoreError

from .connection import Connection, Database

VERSION = 1
"""The latest schema, which is the number of migrations (checked by a test; they are imported only when needed)."""

TABLES = frozenset({"meta", "runs", "events", "reservations", "blobs", "snapshots", "gates", "cache"})
"""The tables of the first schema: having all of them is how a database is known to be Leadhand's."""


def version_of(connection: Connection, database: Database) -> int:
    """The schema version of a database, 0 for one that is still empty. Writes nothing.

    Raises StoreError for a database of another program, and for a schema that is newer than this release knows.
    """
    there = {str(name) for (name,) in connection.execute(database.dialect.tables)}
    if TABLES - there:
        if there & TABLES or (there and database.dialect.alone):
            raise StoreError(
                f"{database.name} holds the tables of another program ({', '.join(sorted(there)[:3])}, …)",
                "name a database of its own for Leadhand"
                + ("" if database.dialect.alone else ", or a schema: …?options=-csearch_path%3Dleadhand"),
            )
        return 0
    version = int(connection.execute("SELECT version FROM meta")[0][0])
    if version > VERSION:
        raise StoreError(
            f"{database.name} was written by a newer release of Leadhand (schema {version}; this one knows {VERSION})",
            "upgrade: pip install -U leadhand (the database was not touched)",
        )
    return version


def migrate(connection: Connection, database: Database) -> None:
    """Bring a database to today's schema, in one transaction; harmless when several processes do it at once."""
    from .migrations import MIGRATIONS  # most processes never need it

    connection.begin()
    try:
        if database.dialect.migration_lock:
            connection.execute(database.dialect.migration_lock)
        for step in MIGRATIONS[version_of(connection, database) :]:
            for statement in step:
                connection.execute(statement.format(bytes=database.dialect.bytes_type))
        connection.execute("UPDATE meta SET version = ?", (len(MIGRATIONS),))
        connection.commit()
    except BaseException:
        connection.rollback()
        raise
