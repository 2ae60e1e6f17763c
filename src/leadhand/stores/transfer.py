"""Move every run of one database to another, empty one: with its log, payloads, artifacts, budgets, keys and settings.

Content goes first, then events, and last, in one transaction, the rows that make the runs visible. So a transfer that
was interrupted leaves a database without runs, and can be started again: what has arrived is not sent twice.

No commit can span two databases. A process that dies after the last commit in the target leaves unfinished runs and
deliveries in both. Each transfer has an id, which both databases have then, so that the next start finishes it.
"""

# ruff: noqa: S608 - SQL is built from constants and names of the catalogue; data are parameters

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from operator import itemgetter

from leadhand.domain.artifact import ALGORITHM, digest_of, is_digest
from leadhand.domain.errors import RunOwned, StoreError, UsageError
from leadhand.domain.run import ENDED

from .artifacts import FileArtifacts
from .changes import BLOBS, EVENTS
from .connection import Connection, Database, Hold, Row, Table, Unstorable, among
from .upkeep import DIGEST, REFERENCE, bodies, damage, transact

PAGE_ROWS = 1_000
PORTION_BYTES = 4_000_000
"""About how much is in memory at once; one payload or artifact may be larger."""

NOT_MOVED = frozenset({"meta", "gates", "places", "snapshots", "hosts", "run_texts"})
"""Tables whose rows belong to a database or can be computed again."""
OF_THE_QUEUE = "procrastinate_"
"""The beginning of the names of tables of jobs: jobs are made again when a run is resumed."""
IN_PORTIONS = frozenset({"blobs", "events"})
"""Tables that are moved before the others, in transactions of their own."""
MAY_HAVE_ROWS = NOT_MOVED | IN_PORTIONS | {"cache"}
"""Tables that may have rows although no run, key or setting is in a database."""
UNFINISHED = f"status NOT IN ({', '.join(sorted(repr(status.value) for status in ENDED))})"
IF_NEW = " ON CONFLICT DO NOTHING"
LEAVING, ARRIVED = "migration to another database", "migration from another database"
"""The keys of the cache that hold the id of a transfer: in the source until it has ended, and in the target."""
NEVER = 1 << 62
"""When these keys expire, in microseconds."""


@dataclass(slots=True)
class Moved:
    """What a transfer has moved so far, what an interrupted one had moved before included."""

    runs: int = 0
    unfinished: int = 0
    events: int = 0
    payloads: int = 0
    artifacts: int = 0
    keys: int = 0


Progress = Callable[[Moved], None]


def transfer(source: Database, source_hold: Hold, target: Database, progress: Progress) -> Moved:
    """Move everything, and return what was moved; ``progress`` is called often, and may raise to stop the transfer.

    Both databases have the current schema. Nobody can write to the source meanwhile. Afterwards it still has its runs,
    but servers on it no longer resume the unfinished ones, and no longer deliver to webhooks. Raises UsageError if the
    target is not empty, or the source has gone on after a transfer that was interrupted at its very end; RunOwned if a
    living process drives a run of the source, or may begin to; and StoreError.
    """
    if source.name == target.name:
        raise UsageError(f"{source.name} is both the source and the target", "Name two databases.")
    with closing(source.connect()) as reading, closing(target.connect()) as writing:
        arrived = _mark(writing, ARRIVED) == transact(reading, lambda: _begun(reading))
        if not arrived:
            _check_empty(writing, target)
        moved = Moved()
        with _locked(reading, source):
            _check_idle(reading, source, source_hold)
            if arrived:
                _check_same(reading, source, writing, target)
                _count(writing, moved)
            else:
                _check_unfinished(reading, writing, target)
                _move_payloads(reading, writing, moved, progress)
                _move_artifacts(reading, source, writing, target, moved, progress)
                _move_events(reading, writing, moved, progress)
                transact(writing, lambda: _move_rows(reading, source, writing, target, moved))
            _leave(reading)
            reading.commit()
    return moved


def _mark(connection: Connection, name: str) -> str:
    """Return the id of a transfer that began (LEAVING) or ended (ARRIVED) in a database; "" without one."""
    rows = connection.execute("SELECT value FROM cache WHERE cache_key = ?", (name,))
    return str(rows[0][0]) if rows else ""


def _begun(connection: Connection) -> str:
    """Return the id of the transfer from a source: that of one which has not ended, or a new one."""
    if not (mark := _mark(connection, LEAVING)):
        mark = json.dumps(os.urandom(16).hex())
        connection.execute("INSERT INTO cache (cache_key, value, expires_at) VALUES (?, ?, ?)", (LEAVING, mark, NEVER))
    return mark


def _leave(connection: Connection) -> None:
    """Leave what is unfinished to the target."""
    connection.execute(f"UPDATE runs SET detached = 0 WHERE detached = 1 AND {UNFINISHED}")
    connection.execute(
        "UPDATE deliveries SET next_at = NULL, error = 'moved to another database' WHERE next_at IS NOT NULL"
    )
    connection.execute("DELETE FROM cache WHERE cache_key = ?", (LEAVING,))


def _check_same(reading: Connection, source: Database, writing: Connection, target: Database) -> None:
    """Check that no run of the source has gone on since everything arrived in the target."""
    heads = reading.execute("SELECT run_id, head_seq FROM runs ORDER BY run_id")
    for condition, parameters in among("run_id, seq", heads):
        last = f"SELECT run_id, seq, at, type FROM events WHERE {condition}"
        for run_id, *_ in sorted({*reading.execute(last, parameters)} - {*writing.execute(last, parameters)}):
            raise UsageError(
                f"run {run_id} of {source.name} has gone on since a migration to {target.name} was interrupted",
                f"Choose: delete this run in {source.name} with `leadhand runs delete` and start the migration again,"
                f" or empty {target.name} and start it again.",
            )


def _count(connection: Connection, moved: Moved) -> None:
    """Count what has arrived."""
    (counts,) = connection.execute(
        "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM runs WHERE "
        f"{UNFINISHED}), (SELECT count(*) FROM events), (SELECT count(*) FROM blobs), (SELECT count(*) FROM api_keys)"
    )
    moved.runs, moved.unfinished, moved.events, moved.payloads, moved.keys = counts


@contextmanager
def _locked(connection: Connection, database: Database) -> Generator[None]:
    """Keep every other process from writing to the log."""
    connection.begin()
    try:
        if not database.dialect.alone:
            connection.execute("LOCK TABLE runs IN SHARE ROW EXCLUSIVE MODE")
        yield
    finally:
        connection.rollback()


def _check_empty(connection: Connection, database: Database) -> None:
    for table in _tables(connection, database) - MAY_HAVE_ROWS:
        ((many,),) = connection.execute(f"SELECT count(*) FROM {table}")
        if many:
            raise UsageError(
                f"{database.name} is not empty: its table {table} has {many} row{'s' * (many != 1)}",
                "Name a new file, an empty database, or an empty schema: …?options=-csearch_path%3Dleadhand",
            )


def _check_idle(connection: Connection, database: Database, hold: Hold) -> None:
    driven = connection.execute("SELECT owner, run_id FROM runs WHERE owner IS NOT NULL ORDER BY run_id")
    living = hold.living({owner for owner, _ in driven}, connection)
    for owner, run_id in driven:
        if owner in living:
            raise RunOwned(
                f"run {run_id} is driven by a living process ({owner})",
                "Stop that process first. Ctrl-C pauses its runs; SIGTERM ends a server.",
            )
    for other in hold.others(connection):
        raise RunOwned(
            f"{database.name} is in use by another process ({other}), which may begin to drive its runs",
            "Stop that process first; SIGTERM ends a server or a host.",
        )


def _check_unfinished(reading: Connection, writing: Connection, target: Database) -> None:
    """Check that what an interrupted transfer left in the target is of this source."""
    for (run_id,) in writing.execute("SELECT DISTINCT run_id FROM events"):
        if not reading.execute("SELECT 1 FROM events WHERE run_id = ? LIMIT 1", (run_id,)):
            raise UsageError(
                f"{target.name} has a part of another database, from a migration that was interrupted",
                "Finish that migration, or name an empty database.",
            )


def _tables(connection: Connection, database: Database) -> set[str]:
    found = {str(name) for (name,) in connection.execute(database.dialect.tables)}
    return {name for name in found if not name.startswith((OF_THE_QUEUE, "sqlite_", "run_words"))}


def _pages(connection: Connection, table: Table, key: str) -> Iterator[list[Row]]:
    """Yield all rows in the order of the columns ``key``, the first ones, which identify them."""
    bound = f" WHERE ({key}) > ({', '.join('?' * len(key.split(', ')))})"
    after: Row = ()
    while page := connection.execute(
        f"SELECT {table.columns} FROM {table.name}{bound if after else ''} ORDER BY {key} LIMIT {PAGE_ROWS}", after
    ):
        yield page
        after = page[-1][: len(key.split(", "))]


def _move_payloads(reading: Connection, writing: Connection, moved: Moved, progress: Progress) -> None:
    for page in _pages(reading, Table("blobs", "digest, length(body)"), "digest"):
        digests = [(digest,) for digest, _ in page]
        there = {found for each, given in among("digest", digests) for found in _digests(writing, each, given)}
        for few in _portions([(digest, size) for digest, size in page if digest not in there]):
            for condition, given in among("digest", few):
                rows = reading.execute(f"SELECT {BLOBS.columns} FROM blobs WHERE {condition}", given)
                transact(writing, lambda rows=rows: BLOBS.insert(writing, rows, IF_NEW))
            progress(moved)
        moved.payloads += len(page)


def _digests(connection: Connection, condition: str, parameters: list[object]) -> list[str]:
    return [digest for (digest,) in connection.execute(f"SELECT digest FROM blobs WHERE {condition}", parameters)]


def _portions(sizes: list[tuple[str, int]]) -> Iterator[list[Row]]:
    """Yield keys in groups whose values are about PORTION_BYTES together, at least one."""
    few: list[Row] = []
    total = 0
    for key, size in sizes:
        if few and total + size > PORTION_BYTES:
            yield few
            few, total = [], 0
        few.append((key,))
        total += size
    if few:
        yield few


def _move_artifacts(
    reading: Connection, source: Database, writing: Connection, target: Database, moved: Moved, progress: Progress
) -> None:
    """Move artifacts: files beside a database that is a file, payloads in others."""
    arrived = None if target.artifact_folder is None else FileArtifacts(target.artifact_folder)
    for digest in _artifacts(reading, source):
        if source.artifact_folder is not None:
            content = FileArtifacts(source.artifact_folder).read(digest)
        else:
            ((content,),) = reading.execute("SELECT body FROM blobs WHERE digest = ?", (digest,)) or [(None,)]
        if content is None or digest_of(content) != digest:
            continue  # what is lost or damaged stays so; runs continue without it
        if arrived is not None:
            arrived.write(content)
        else:
            transact(writing, lambda content=content, digest=digest: BLOBS.insert(writing, [(digest, content)], IF_NEW))
        moved.artifacts += 1
        progress(moved)


def _artifacts(connection: Connection, database: Database) -> Iterator[str]:
    """Yield the digests of artifacts: all files, or what events name in another way than payloads."""
    if database.artifact_folder is not None:
        for path in sorted(database.artifact_folder.glob("??/*")):
            if is_digest(digest := ALGORITHM + path.parent.name + path.name):
                yield digest
        return
    seen: set[str] = set()
    for _, body in bodies(connection):
        new = {*DIGEST.findall(body)} - {*REFERENCE.findall(body)} - seen
        seen |= new
        yield from sorted(new)


def _move_events(reading: Connection, writing: Connection, moved: Moved, progress: Progress) -> None:
    heads = dict(writing.execute("SELECT run_id, max(seq) FROM events GROUP BY run_id"))
    for page in _pages(reading, EVENTS, "run_id, seq"):
        # An event whose number is damaged is missing, as it is for those who read the run.
        new = [row for row in page if isinstance(row[1], int) and row[1] > heads.get(row[0], 0)]
        try:
            transact(writing, lambda new=new: EVENTS.insert(writing, new, IF_NEW))
        except Unstorable as error:
            first, last = page[0][0], page[-1][0]
            runs = f"run {first}" if first == last else f"a run from {first} to {last}"
            raise StoreError(
                f"{runs} is damaged: {error.what}",
                "Find it with `leadhand doctor`, delete it with `leadhand runs delete`, and start the migration again.",
            ) from error
        moved.events += len(page)
        progress(moved)


def _move_rows(reading: Connection, source: Database, writing: Connection, target: Database, moved: Moved) -> None:
    """Move the rows of all other tables, in one transaction, which makes the runs visible, and check what arrived."""
    if not target.dialect.alone:
        writing.execute("LOCK TABLE runs IN SHARE ROW EXCLUSIVE MODE")
    _check_empty(writing, target)  # nobody has begun to use it meanwhile
    for name in sorted(_tables(reading, source) & _tables(writing, target) - NOT_MOVED - IN_PORTIONS):
        columns, key = _columns(reading, source, name)
        table = Table(name, ", ".join([*key, *(each for each in columns if each not in key)]))
        for page in _pages(reading, table, ", ".join(key)):
            table.insert(writing, page, IF_NEW if name == "cache" else "")
    writing.execute("UPDATE runs SET owner = NULL WHERE owner IS NOT NULL")
    writing.execute("DELETE FROM cache WHERE cache_key = ?", (ARRIVED,))
    writing.execute("UPDATE cache SET cache_key = ? WHERE cache_key = ?", (ARRIVED, LEAVING))
    lost = sorted({*damage(writing, thorough=False)} - {*damage(reading, thorough=False)})
    if lost:
        raise StoreError(f"the migration is not complete: {lost[0]}", "Start it again; nothing has been changed.")
    events, payloads = moved.events, moved.payloads  # of the source; artifacts are payloads in some targets
    _count(writing, moved)
    moved.events, moved.payloads = events, payloads


def _columns(connection: Connection, database: Database, table: str) -> tuple[list[str], list[str]]:
    """Return the columns of a table and those of its primary key, in its order."""
    found = connection.execute(database.dialect.columns, (table,))
    return [name for name, _ in found], [name for name, place in sorted(found, key=itemgetter(1)) if place]
