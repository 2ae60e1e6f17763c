"""Find runs: by the beginning of their id or their age, and those whose process died."""

from __future__ import annotations

import re

from leadhand.app.export.formatting import shortened
from leadhand.app.runtime.listings import all_runs, definition_of
from leadhand.cli.options import StoreFlags
from leadhand.cli.terminal.messages import resume_command
from leadhand.core.errors import NoSuchRun, UnreadableRun, UsageError
from leadhand.core.text import listed
from leadhand.ports import ContextStore
from leadhand.ports.runs import RunListing

SEE_RUNS = "See: leadhand runs list"


async def find_run(store: ContextStore, given: str | None) -> RunListing:
    """Return the run with that id, or the only one whose id begins with it (``run_`` may be omitted).

    ``last`` and None are the newest run, ``last~2`` is the one that is two runs older. Raises NoSuchRun, and UsageError
    if an id belongs to several runs.
    """
    wanted = "last" if given is None else given.strip().lower().removesuffix("…")
    if (back := re.fullmatch(r"last(?:~([0-9]{1,4}))?", wanted)) is not None:
        newest = await store.runs(limit=int(back[1] or 0) + 1)
        if len(newest) <= int(back[1] or 0):
            raise NoSuchRun(f"there is no run {wanted!r}" if newest else "there are no runs yet", SEE_RUNS)
        return newest[-1]
    if wanted in ("", "run_"):
        raise UsageError(f"{wanted!r} is not the beginning of a run's id", f"Give more of it. {SEE_RUNS}")
    try:
        return await store.run(wanted)
    except NoSuchRun:
        pass
    found = [listing async for listing in all_runs(store) if listing.run_id.startswith((wanted, f"run_{wanted}"))]
    if not found:
        raise NoSuchRun(f"no run matches {given!r}", SEE_RUNS)
    if len(found) > 1:
        several = listed([f"{each.run_id} ({shortened(each.name or each.request, 40)})" for each in found])
        raise UsageError(f"{given!r} matches several runs: {several}", "Give more of the id.")
    return found[0]


async def how_to_resume(log: ContextStore, orphans: list[RunListing], store: StoreFlags) -> str:
    """Return in a line how to resume runs whose process died."""
    if len(orphans) > 1:
        return f"List them with their resume commands: {store.command('runs', 'list', '--status', 'running')}"
    return f"Resume with: {await resume_line(log, orphans[0].run_id, store)}"


async def resume_line(log: ContextStore, run_id: str, store: StoreFlags) -> str:
    """Return the command line that resumes a run. Raises NoSuchRun."""
    try:
        return resume_command(store, run_id, await definition_of(log, run_id))
    except UnreadableRun:  # which tools and flows it needs is unknown
        return store.command("runs", "resume", run_id)
