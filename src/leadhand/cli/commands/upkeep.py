"""``leadhand runs delete``, ``runs prune`` and ``backup``: upkeep of the database."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from leadhand.app.export.formatting import age, count, shortened
from leadhand.app.runtime.listings import duration, retention
from leadhand.app.settings import tilde
from leadhand.app.steering.questions import delete_runs
from leadhand.cli.options import Flag, ProjectFlags, RunId, StoreFlags, open_reader
from leadhand.cli.run_lookup import find_run
from leadhand.cli.terminal.messages import status_words, write_table
from leadhand.cli.terminal.prompt import confirmed
from leadhand.cli.terminal.streams import can_prompt, say, write_line
from leadhand.core.errors import NoSuchRun, UsageError
from leadhand.core.run import ENDED


async def runs_delete(
    run_id: RunId = None,
    /,
    *,
    yes: Annotated[bool, Flag("Delete it without asking, even if it has not finished.")] = False,
    store: StoreFlags = StoreFlags(),
) -> None:
    """Delete a run: its events, artifacts and files.

    This cannot be undone. The space is given back. A damaged run can be deleted, too; a run that a process is driving
    cannot.
    """
    async with open_reader(store) as runtime:
        try:
            listing = await find_run(runtime.store, run_id)
        except NoSuchRun:
            found = (run_id or "").strip()  # events without a row are found by the whole id only
            if not found:
                raise
            await delete_runs(runtime, [found])
        else:
            found = listing.run_id
            if listing.status not in ENDED and not yes:
                raise UsageError(
                    f"run {found} has not finished ({status_words(listing)})",
                    f"Cancel it first: {store.command('runs', 'cancel', found)}. To delete it anyway, add --yes.",
                )
            if run_id is None and not yes:
                if not can_prompt():
                    raise UsageError("name the run to delete", f"The last run is {found}.")
                if not confirmed(f"Delete {found}: {shortened(listing.request, 60)}? (yes or no)"):
                    say("Nothing was deleted.")
                    return
            await delete_runs(runtime, [found])
    say(f"{found} is deleted.")


async def runs_prune(
    *,
    older_than: Annotated[str | None, Flag("Delete runs that finished longer ago: 90m, 12h, 30d or 8w.", "AGE")] = None,
    keep_runs: Annotated[int | None, Flag("Delete all finished runs but the newest N.", "N")] = None,
    dry_run: Annotated[bool, Flag("List the runs; delete nothing.")] = False,
    project: ProjectFlags = ProjectFlags(),
    store: StoreFlags = StoreFlags(),
) -> None:
    """Delete finished runs that are old or too many.

    This cannot be undone. Runs that have not finished are kept. Without --older-than and --keep-runs, [retention] in
    leadhand.toml says which runs are kept; leadhand serve applies it once an hour.

    Examples:
      leadhand runs prune --older-than 30d --dry-run
      leadhand runs prune --older-than 30d
    """
    now = datetime.now(UTC)
    kept = retention(None, keep_runs)
    if older_than is not None:
        kept = replace(kept, keep_for=duration(older_than, "--older-than"))
    elif keep_runs is None:
        kept = retention(None, None, project.loaded)
    if not kept:
        how = "Give --older-than AGE or --keep-runs N, or set [retention] in leadhand.toml."
        raise UsageError("nothing says which runs to delete", how)
    async with open_reader(store) as runtime:
        old = await kept.expired(runtime.store, now)
        if dry_run:
            rows = [(each.run_id, status_words(each), age(each.created_at, now), each.request) for each in old]
            if rows:
                write_table(("RUN", "STATUS", "AGE", "REQUEST"), rows)
            say(f"{count(len(old), 'run')} to delete.")
            return
        deleted = await delete_runs(runtime, [each.run_id for each in old], ended_only=True)
    say(f"{count(len(deleted), 'run')} deleted.")


async def backup(
    file: Annotated[str, Flag("The file to write. It must not exist.", "FILE")],
    /,
    *,
    store: StoreFlags = StoreFlags(),
) -> None:
    """Copy the database and its artifacts to a file.

    Runs may continue meanwhile: the copy is of one moment. The copy is a database of its own: look into it with
    --database FILE. For PostgreSQL, use pg_dump.
    """
    target = Path(file)
    async with open_reader(store) as runtime:
        await runtime.database.back_up(target)
    write_line(str(target))
    look = ["leadhand", "runs", "list", "--database", str(target)]
    say(f"Backed up to {tilde(target)}. Look into it with: {shlex.join(look)}")
