"""``leadhand runs delete``, ``runs prune`` and ``backup``: upkeep of the database."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from leadhand.app.arguments import parse_tags
from leadhand.app.formatting import age, count
from leadhand.app.hosts.listings import duration, retention
from leadhand.app.project.config_files import find_manifest
from leadhand.app.project.manifest import load_project
from leadhand.app.settings import tilde, user
from leadhand.app.steering.questions import delete_runs, label_run
from leadhand.cli.options import NO_PROJECT, RUN, Flag, ProjectFile, RunId, StoreFlags, open_reader
from leadhand.cli.run_lookup import find_run
from leadhand.cli.terminal.messages import status_words, write_table
from leadhand.cli.terminal.streams import say, write_line
from leadhand.core.errors import NoSuchRun, UsageError
from leadhand.core.run import ENDED
from leadhand.core.text import did_you_mean
from leadhand.ports import in_database


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


async def runs_label(
    run_id: RunId,
    /,
    *,
    name: Annotated[str | None, Flag("Name the run; an empty name removes it.", "TEXT")] = None,
    tag: Annotated[tuple[str, ...], Flag("Set this tag. Repeatable.", "KEY=VALUE")] = (),
    untag: Annotated[tuple[str, ...], Flag("Remove the tag with this key. Repeatable.", "KEY")] = (),
    store: StoreFlags = StoreFlags(),
) -> None:
    """Name a run, and set or remove tags."""
    tags: dict[str, str | None] = {**dict.fromkeys(untag), **parse_tags(tag, "--tag")}
    if name is None and not tags:
        raise UsageError("nothing to change", "Give --name, --tag or --untag.")
    async with open_reader(store) as runtime:
        line = await find_run(runtime.store, run_id)
        found = line.run_id
        if unknown := [key for key in untag if key not in line.tags]:
            how = (
                f"Its tags are: {', '.join(line.tags)}.{did_you_mean(unknown[0], line.tags)}"
                if line.tags
                else "It has none."
            )
            raise UsageError(f"run {found} has no tag {unknown[0]!r}", how)
        await label_run(runtime, found, name=name, tags=tags, by=user())
        line = await runtime.store.run(found)
    labels = " ".join(f"{key}={value}" for key, value in line.tags.items())
    say(f"{found}: {line.name or 'no name'}; {labels or 'no tags'}.")


async def runs_prune(
    *,
    older_than: Annotated[str | None, Flag("Delete runs that finished longer ago: 90m, 12h, 30d or 8w.", "AGE")] = None,
    keep_runs: Annotated[int | None, Flag("Delete all finished runs but the newest N.", "N")] = None,
    dry_run: Annotated[bool, Flag("List the runs; delete nothing.")] = False,
    project: ProjectFile = None,
    store: StoreFlags = StoreFlags(),
) -> None:
    """Delete finished runs that are old or too many; by default, those that the project does not keep."""
    now = datetime.now(UTC)
    if older_than is None and keep_runs is None:
        found = None if project == NO_PROJECT else find_manifest(Path.cwd() if project is None else Path(project))
        kept = retention(None, None, load_project(found) if found is not None else None)
        if not kept:
            how = "Give --older-than AGE or --keep-runs N, or set [retention] in leadhand.toml."
            raise UsageError("nothing says which runs to delete", how)
    else:
        age_given = None if older_than is None else duration(older_than, "--older-than")
        kept = replace(retention(None, keep_runs), keep_for=age_given)
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
    """Copy the database and its artifacts to a file."""
    target = Path(file)
    async with open_reader(store) as runtime:
        await in_database(runtime.store).back_up(target)
    write_line(str(target))
    look = ["leadhand", "runs", "list", "--database", str(target)]
    say(f"Backed up to {tilde(target)}. Look into it with: {shlex.join(look)}")
