"""Upkeep of a database: delete runs with what only they use, copy it to a file, and look for damage."""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

import json
import os
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import TypeVar

from leadhand.core.errors import RunOwned, StoreError, UsageError, no_such_run
from leadhand.core.run import ENDED

from .connection import Connection, Database, Dialect, Hold, Table, TryAgain, among
from .threads import CONFLICT_S, TRIES

Result = TypeVar("Result")

KINDS = ("requests", "tokens", "nanousd")
OF_RUNS = ("events", "reservations", "allowances", "deliveries", "run_texts", "runs")
"""The tables whose rows belong to one run."""
TAKEN = Table("reservations", "requests, tokens, nanousd, shared")
SPEND = f"""
    UPDATE shared_accounts SET {", ".join(f"spent_{each} = spent_{each} + ?" for each in KINDS)},
        {", ".join(f"reserved_{each} = reserved_{each} - ?" for each in KINDS)}
    WHERE scope = ?
"""
BLOBS = Table("blobs", "digest")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
REFERENCE = re.compile(r'"\$blob":"(sha256:[0-9a-f]{64})"')
AT_ONCE = 100
"""Runs deleted in one transaction, so that other processes never wait long."""
UNNAMED_S = 3600.0
"""Seconds that new content is kept although no event names it yet: its event is written after it."""

# The numbers of a complete log are 1 to the head of its run.
INCOMPLETE = """
    SELECT run_id, entries, head_seq FROM (
        SELECT runs.run_id AS run_id, runs.head_seq AS head_seq, min(events.seq) AS least_seq, max(events.seq)
            AS most_seq, count(events.seq) AS entries
        FROM runs LEFT JOIN events ON events.run_id = runs.run_id GROUP BY runs.run_id, runs.head_seq
    ) AS logs
    WHERE entries <> head_seq OR most_seq <> head_seq OR least_seq <> 1 ORDER BY run_id
"""
UNLISTED = "SELECT DISTINCT run_id FROM events WHERE run_id NOT IN (SELECT run_id FROM runs) ORDER BY run_id"


def delete_runs(database: Database, hold: Hold, run_ids: Sequence[str], *, ended_only: bool = False) -> list[str]:
    """Delete runs, damaged ones too, and give the space back that only they used; return the ids of those deleted.

    Raises NoSuchRun, and RunOwned for a run that a living process drives; then that run and those after it are kept.
    With ``ended_only``, such runs and those that have not ended are left out instead.
    """
    deleted: list[str] = []
    with closing(database.connect()) as connection:
        for start in range(0, len(run_ids), AT_ONCE):
            portion = sorted(set(run_ids[start : start + AT_ONCE]))
            deleted += transact(
                connection, lambda portion=portion: _delete(connection, database.dialect, hold, portion, ended_only)
            )
        transact(connection, lambda: _delete_unnamed(connection, database.dialect))
        connection.give_back()
    return deleted


def transact(connection: Connection, work: Callable[[], Result]) -> Result:
    """Return what ``work`` returns, done in one transaction that is repeated if it conflicts with another."""
    for attempt in count(1):
        connection.begin()
        try:
            result = work()
            connection.commit()
        except TryAgain:
            connection.rollback()
            if attempt == TRIES:
                raise
            time.sleep(random.uniform(0, CONFLICT_S * attempt))
        except BaseException:
            connection.rollback()
            raise
        else:
            return result
    raise AssertionError


def _delete(
    connection: Connection, dialect: Dialect, hold: Hold, run_ids: Sequence[str], ended_only: bool
) -> Sequence[str]:
    owners: dict[str, str | None] = {}
    ended: set[str] = set()
    for condition, parameters in among("run_id", [(run_id,) for run_id in run_ids]):
        # Locks the rows in the same order as every transaction.
        for run_id, owner, status in connection.execute(
            f"SELECT run_id, owner, status FROM runs WHERE {condition} ORDER BY run_id{dialect.for_update}", parameters
        ):
            owners[run_id] = owner
            if status in ENDED:
                ended.add(run_id)
    living = hold.living({owner for owner in owners.values() if owner is not None}, connection)
    if ended_only:  # a run may have been resumed or deleted since it was listed
        run_ids = [run_id for run_id in run_ids if run_id in ended and owners[run_id] not in living]
    for run_id in run_ids:
        if owners.get(run_id) in living:
            raise RunOwned(
                f"run {run_id} is driven by a living process ({owners[run_id]})",
                f"cancel it first with `leadhand runs cancel {run_id}`",
            )
        if run_id not in owners and not connection.execute("SELECT 1 FROM events WHERE run_id = ? LIMIT 1", (run_id,)):
            raise no_such_run(run_id)
    keys = [(run_id,) for run_id in run_ids]
    _spend_shared(connection, keys)
    for name in OF_RUNS:
        Table(name, "run_id").delete(connection, "run_id", keys)
    return run_ids


def _spend_shared(connection: Connection, keys: Sequence[tuple[str]]) -> None:
    """Count in full what open calls of these runs took from shared budgets: nothing will settle them."""
    taken = [
        (scope, *amount, *amount)
        for *amount, shared in TAKEN.find(connection, "run_id", keys)
        if shared
        for scope in json.loads(shared)
    ]
    for scope, *amounts in sorted(taken):  # locks the accounts in the same order as every transaction
        connection.execute(SPEND, (*amounts, scope))


def _delete_unnamed(connection: Connection, dialect: Dialect) -> None:
    """Delete payloads and artifacts that no event names."""
    if not dialect.alone:  # payloads are written in the transaction of their event: wait for those, and keep others out
        connection.execute("LOCK TABLE blobs IN SHARE ROW EXCLUSIVE MODE")
    named = {digest for _, body in bodies(connection) for digest in DIGEST.findall(body)}
    recent = connection.execute(
        f"SELECT cache_key FROM cache WHERE cache_key LIKE 'artifact %' AND expires_at > {dialect.now}"
    )
    kept = named | {key.removeprefix("artifact ") for (key,) in recent}
    unnamed = [(digest,) for (digest,) in connection.execute("SELECT digest FROM blobs") if digest not in kept]
    BLOBS.delete(connection, "digest", sorted(unnamed))


def bodies(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield the run and the body of every event that names a digest."""
    for (run_id,) in connection.execute("SELECT DISTINCT run_id FROM events ORDER BY run_id"):
        found = connection.execute("SELECT body FROM events WHERE run_id = ? AND body LIKE '%sha256:%'", (run_id,))
        yield from ((run_id, body) for (body,) in found)


def damage(connection: Connection, *, thorough: bool = True) -> list[str]:
    """Return what a database has lost, a sentence each: events and, if ``thorough``, pages and payloads, too."""
    found = connection.damaged_pages() if thorough else []
    for run_id, entries, head in connection.execute(INCOMPLETE):
        numbers = f"of its {head} events {_missing(head - entries)}"
        found.append(_damaged(run_id, numbers if entries < head else "the numbers of its events are not consecutive"))
    found += [_damaged(run_id, "it is not in the table runs") for (run_id,) in connection.execute(UNLISTED)]
    if thorough:
        there = {digest for (digest,) in connection.execute("SELECT digest FROM blobs")}
        lost: Counter[str] = Counter()
        for run_id, body in bodies(connection):
            lost[run_id] += len({*REFERENCE.findall(body)} - there)
        found += [_damaged(run_id, f"of its payloads {_missing(many)}") for run_id, many in lost.items() if many]
    return found


def _damaged(run_id: str, what: str) -> str:
    return f"run {run_id} is damaged: {what}"


def _missing(many: int) -> str:
    return f"{many} is missing" if many == 1 else f"{many} are missing"


def back_up(database: Database, target: Path) -> None:
    """Copy a database to ``target`` while it is in use.

    Raises UsageError if that exists or the database is not a file, StoreError if it cannot be written.
    """
    if not target.name or target.is_dir():
        raise UsageError(f"{target} is a directory", "Name a file that does not exist: backup.db.")
    if target.exists():
        raise UsageError(f"{target} exists", "name a file that does not exist")
    draft = target.with_name(target.name + ".partial")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            with closing(database.connect(writes=False)) as connection:
                connection.copy_to(draft)
            draft.rename(target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot write the backup {target}: {error.strerror or error}", "check the disk, or choose another file"
        ) from error
