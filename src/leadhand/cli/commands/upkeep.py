"""``leadhand runs delete``, ``runs prune``, ``backup`` and ``migrate``: upkeep of the database."""

from __future__ import annotations

import asyncio
import re
import shlex
import time
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from leadhand.app.formatting import age, count, one_line
from leadhand.app.settings import tilde
from leadhand.app.upkeep import delete_runs, finished_before, upkeep_store
from leadhand.cli.options import RUN, Debug, Flag, StoreFlags, open_reader
from leadhand.cli.run_lookup import find_run
from leadhand.cli.terminal.messages import status_words, write_table
from leadhand.cli.terminal.streams import say, write_line
from leadhand.domain.errors import NoSuchRun, UsageError
from leadhand.domain.run import ENDED

if TYPE_CHECKING:
    from leadhand.stores.transfer import Moved

UNITS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
REPORT_S = 5.0
"""Seconds between lines that say how far a migration is."""
LONGEST_AGE_S = 365_000 * 86_400


async def runs_delete(
    run_id: Annotated[str, RUN],
    /,
    *,
    yes: Annotated[bool, Flag("Delete the run even if it has not finished.")] = False,
    store: StoreFlags = StoreFlags(),
) -> None:
    """Delete a run: its events, artifacts and files."""
    async with open_reader(store) as runtime:
        try:
            listing = await find_run(runtime.store, run_id)
        except NoSuchRun:
            found = run_id.strip()  # events without a row are found by the whole id only
            await delete_runs(runtime, [found])
        else:
            found = listing.run_id
            if listing.status not in ENDED and not yes:
                raise UsageError(
                    f"run {found} has not finished ({status_words(listing)})",
                    f"Cancel it first: {store.command('runs', 'cancel', found)}. To delete it anyway, add --yes.",
                )
            await delete_runs(runtime, [found])
    say(f"{found} is deleted.")


async def runs_prune(
    *,
    older_than: Annotated[str, Flag("Delete runs that finished longer ago: 90m, 12h, 30d or 8w.", "AGE")],
    dry_run: Annotated[bool, Flag("List the runs; delete nothing.")] = False,
    store: StoreFlags = StoreFlags(),
) -> None:
    """Delete runs that finished some time ago."""
    now = datetime.now(UTC)
    limit = now - _age(older_than)
    async with open_reader(store) as runtime:
        old = await finished_before(runtime.store, limit)
        if dry_run:
            rows = [(each.run_id, status_words(each), age(each.created_at, now), each.request) for each in old]
            if rows:
                write_table(("RUN", "STATUS", "AGE", "REQUEST"), rows)
            say(f"{count(len(old), 'run')} to delete.")
            return
        await delete_runs(runtime, [each.run_id for each in old])
    say(f"{count(len(old), 'run')} deleted.")


def _age(given: str) -> timedelta:
    found = re.fullmatch(r"([0-9]{1,100})([mhdw])", given.strip().lower(), re.ASCII)
    if found is None:
        raise UsageError(f"invalid value for --older-than: {one_line(given)}", "Give a number and m, h, d or w: 30d.")
    return timedelta(seconds=min(int(found[1]) * UNITS[found[2]], LONGEST_AGE_S))


async def backup(
    file: Annotated[str, Flag("The file to write. It must not exist.", "FILE")],
    /,
    *,
    store: StoreFlags = StoreFlags(),
) -> None:
    """Copy the database and its artifacts to a file."""
    target = Path(file)
    async with open_reader(store) as runtime:
        await upkeep_store(runtime.store).back_up(target)
    write_line(str(target))
    look = ["leadhand", "runs", "list", "--database", str(target)]
    say(f"Backed up to {tilde(target)}. Look into it with: {shlex.join(look)}")


async def migrate(
    source: Annotated[str, Flag("The database to move, or the home directory that has it.", "FROM")],
    target: Annotated[str, Flag("The database to move it to. It must be empty.", "TO")],
    /,
    *,
    debug: Debug = False,
) -> None:
    """Move all runs to another database, with their events, artifacts, API keys and budgets."""
    from leadhand.stores.opening import open_store

    shown = time.monotonic()

    def report(moved: Moved) -> None:
        nonlocal shown
        if time.monotonic() > shown + REPORT_S:
            shown = time.monotonic()
            say(f"So far: {count(moved.payloads, 'payload')} and {count(moved.events, 'event')}…")

    where = _database(target)
    async with (
        aclosing(await open_store(_database(source), reading=True)) as old,
        aclosing(await open_store(where)) as new,
    ):
        try:
            moved = await old.move_to(new, report)
        except asyncio.CancelledError:
            say("Stopped. To continue, run the same command again.")
            raise
        name = new.name
    say(
        f"Moved {count(moved.runs, 'run')} ({moved.unfinished} unfinished), {count(moved.events, 'event')},"
        f" {count(moved.payloads, 'payload')}, {count(moved.artifacts, 'artifact')} and"
        f" {count(moved.keys, 'API key')} to {name}."
    )
    say("Use it from now on: set LEADHAND_DATABASE_URL, or pass --database. The old database still has its runs.")


def _database(given: str) -> str:
    """Return the URL or path of a database, that of a home directory included."""
    path = Path(given).expanduser()
    return str(path / "leadhand.db") if "://" not in given and path.is_dir() else given
