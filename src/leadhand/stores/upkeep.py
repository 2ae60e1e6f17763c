"""Upkeep of a database: delete runs with what only they use, copy it to a file, and look for damage."""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

import asyncio
import json
import os
import re
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import closing, suppress
from pathlib import Path

from leadhand.core.artifact import digest_of
from leadhand.core.errors import NoSuchRun, RunOwned, StoreError, UnreadableRun, UsageError, no_such_run
from leadhand.core.errors.advice import Advice
from leadhand.core.run import ENDED
from leadhand.core.secret import Secret

from .codec import microseconds, read_entries
from .connection import Connection, Table, Unavailable, among, batched
from .parts import StorePart

KINDS = ("requests", "tokens", "nanousd")
OF_RUNS = ("events", "changes", "reservations", "allowances", "deliveries", "run_texts", "named", "secrets", "runs")
"""The tables whose rows belong to one run."""
TAKEN = Table("reservations", "requests, tokens, nanousd, shared")
SPEND = f"""
    UPDATE shared_accounts SET {", ".join(f"spent_{each} = spent_{each} + ?" for each in KINDS)},
        {", ".join(f"reserved_{each} = reserved_{each} - ?" for each in KINDS)}
    WHERE scope = ?
"""
BLOBS = Table("blobs", "digest, used_at, body")
KEPT_US = 3_600_000_000
"""Microseconds that content is kept although no event names it yet: its event is written after it."""
KEEP = " ON CONFLICT (digest) DO UPDATE SET used_at = excluded.used_at"
REFERENCE = re.compile(r'"\$blob":"(sha256:[0-9a-f]{64})"')
WITHOUT_SECRETS = (
    "PRAGMA copy.secure_delete = ON",
    "DELETE FROM copy.secrets",
    "UPDATE copy.meta SET secret_key = randomblob(32)",
)
"""A copy is for people, so it has no values of secrets, and nothing by which their ids could be guessed."""
AT_ONCE = 20
"""Runs deleted in one transaction, so that others never wait long."""


class Upkeep(StorePart):
    """Payloads and artifacts, and what is done now and then."""

    async def blob(self, digest: str) -> bytes:
        rows = await self._rows("SELECT body FROM blobs WHERE digest = ?", digest)
        if not rows or not isinstance(rows[0][0], bytes):  # it is missing or damaged
            raise KeyError(digest)
        return rows[0][0]

    async def secrets(self, run_id: str) -> list[Secret]:
        rows = await self._rows("SELECT secret_id, origin, tool, value FROM secrets WHERE run_id = ?", run_id)
        return [Secret(*row) for row in rows]

    async def put_blob(self, content: bytes) -> str:
        digest = digest_of(content)
        rows = [(digest, microseconds(self._now()), content)]
        await self._write(f"6 {digest}", BLOBS.insert, rows, KEEP)
        return digest

    async def keep_blobs(self, digests: Collection[str]) -> set[str]:
        now = microseconds(self._now())

        def write(connection: Connection) -> set[str]:
            kept: set[str] = set()
            for condition, parameters in among("digest", [(digest,) for digest in sorted(digests)]):
                update = f"UPDATE blobs SET used_at = ? WHERE {condition} RETURNING digest"
                kept |= {digest for (digest,) in connection.execute(update, (now, *parameters))}
            return kept

        return await self._write("6", write)

    async def delete_runs(self, run_ids: Sequence[str], *, ended_only: bool = False) -> list[str]:
        """Delete runs, damaged ones too, with everything that only they use; return the ids of those deleted.

        Raises NoSuchRun, and RunOwned for a run that a living process drives. With ``ended_only``, such runs and those
        that have not ended when they are about to be deleted are left out instead.
        """
        deleted: list[str] = []
        for portion in batched(run_ids, AT_ONCE):
            deleted += await self._write("9", self._delete_runs, portion, ended_only)
        await self._write("9", self._delete_unnamed)
        if self._database.dialect.alone:  # a server does so itself
            await asyncio.to_thread(self._give_back)
        return deleted

    def _delete_runs(self, connection: Connection, run_ids: Sequence[str], ended_only: bool) -> Sequence[str]:
        found: dict[str, tuple[str | None, bool]] = {}
        for condition, parameters in among("run_id", [(run_id,) for run_id in sorted(set(run_ids))]):
            select = f"SELECT run_id, owner, status FROM runs WHERE {condition} ORDER BY run_id"
            rows = connection.execute(select + self._database.dialect.for_update, parameters)
            found |= {run_id: (owner, status in ENDED) for run_id, owner, status in rows}
        living = self._hold.living({owner for owner, _ in found.values() if owner is not None}, connection)
        if ended_only:  # a run may have been resumed or deleted since it was listed
            run_ids = [run_id for run_id, (owner, ended) in found.items() if ended and owner not in living]
        for run_id in run_ids:
            owner, _ = found.get(run_id, (None, False))
            if owner in living:
                raise RunOwned(
                    f"run {run_id} is driven by a living process ({owner})",
                    Advice("cancel it first with `{cancel_run}`", run=run_id),
                )
            events = "SELECT 1 FROM events WHERE run_id = ? LIMIT 1"
            if run_id not in found and not connection.execute(events, (run_id,)):
                raise no_such_run(run_id)
        keys = [(run_id,) for run_id in run_ids]
        _spend_shared(connection, keys)
        for name in OF_RUNS:
            Table(name, "run_id").delete(connection, "run_id", keys)
        return run_ids

    def _delete_unnamed(self, connection: Connection) -> None:
        """Delete payloads and artifacts that no event names, but artifacts that one may be about to name."""
        old = microseconds(self._now()) - KEPT_US
        unnamed = "NOT EXISTS (SELECT 1 FROM named WHERE named.digest = blobs.digest)"
        connection.execute(f"DELETE FROM blobs WHERE used_at < ? AND {unnamed}", (old,))

    def _give_back(self) -> None:
        """Return the space of deleted rows to the file system, if there is much."""
        with closing(self._database.connect()) as connection, suppress(Unavailable):  # then the next time
            ((free, pages),) = connection.execute(
                "SELECT freelist_count, page_count FROM pragma_freelist_count(), pragma_page_count()"
            )
            if free * 10 > pages:  # fewer are soon used again, and this writes the whole file
                connection.execute("VACUUM")
                connection.execute("PRAGMA busy_timeout = 1000")  # a slow reader leaves it to a later checkpoint
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    async def damage(self) -> list[str]:
        """Return what a database has lost, a sentence each: pages, events and payloads. Reads everything."""
        return await self._ask(self._damage)

    def _damage(self, connection: Connection) -> list[str]:
        pages = connection.execute("PRAGMA quick_check(5)") if self._database.dialect.alone else []
        found = [f"{self._database.name} is damaged: {' '.join(text.split())}" for (text,) in pages if text != "ok"]
        for (run_id,) in connection.execute("SELECT run_id FROM runs ORDER BY run_id"):
            try:
                with suppress(NoSuchRun):  # it was deleted meanwhile
                    read_entries(connection, run_id)
            except UnreadableRun as error:
                found.append(error.what)
        unlisted = "SELECT DISTINCT run_id FROM events WHERE run_id NOT IN (SELECT run_id FROM runs) ORDER BY run_id"
        found += [f"run {run_id} is damaged: it is not in the table runs" for (run_id,) in connection.execute(unlisted)]
        there = {digest for (digest,) in connection.execute("SELECT digest FROM blobs")}
        lost: Counter[str] = Counter()
        for (run_id,) in connection.execute("SELECT DISTINCT run_id FROM events ORDER BY run_id"):
            named = "SELECT body FROM events WHERE run_id = ? AND body LIKE '%sha256:%'"
            for (body,) in connection.execute(named, (run_id,)):
                lost[run_id] += len({*REFERENCE.findall(body)} - there)
        return found + [
            f"run {run_id} is damaged: {many} of its payloads are missing" for run_id, many in lost.items() if many
        ]

    async def back_up(self, target: Path) -> None:
        """Copy the database to ``target``, as of one moment, while it is in use.

        Raises UsageError if that exists or the database is not a file, StoreError if it cannot be written.
        """
        await asyncio.to_thread(self._back_up, target)

    def _back_up(self, target: Path) -> None:
        if not self._database.dialect.alone:
            raise UsageError("`leadhand backup` copies SQLite databases only", "back up PostgreSQL with pg_dump")
        if not target.name or target.exists():
            raise UsageError(f"{target} exists", "Name a file that does not exist: backup.db.")
        draft = target.with_name(target.name + ".partial")
        try:
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            try:
                with closing(self._database.connect(writes=False)) as connection:
                    connection.execute("PRAGMA query_only = OFF")  # SQLite counts the copy as a write
                    connection.execute("VACUUM INTO ?", (str(draft),))
                    connection.execute("ATTACH ? AS copy", (str(draft),))
                    for statement in WITHOUT_SECRETS:
                        connection.execute(statement)
                draft.rename(target)
            finally:
                draft.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"cannot write the backup {target}: {error.strerror or error}", "check the disk, or choose another file"
            ) from error


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
