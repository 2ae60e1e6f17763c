"""Find runs: by the beginning of their id, and those whose process died."""

from __future__ import annotations

from leadhand.app.runtime.listings import all_runs, definition_of
from leadhand.cli.options import StoreFlags
from leadhand.cli.terminal.messages import resume_command
from leadhand.core.errors import NoSuchRun, UnreadableRun, UsageError
from leadhand.core.text import listed
from leadhand.ports import ContextStore
from leadhand.ports.runs import RunListing


async def find_run(store: ContextStore, given: str) -> RunListing:
    """Return the run with that id, or the only one whose id begins with it (``run_`` may be omitted).

    Raises NoSuchRun, and UsageError if there are several.
    """
    prefix = given.strip().lower().removesuffix("…")
    if prefix in ("", "run_"):
        raise UsageError(f"{prefix!r} is not the beginning of a run's id", "Give more of it; see: leadhand runs list")
    try:
        return await store.run(prefix)
    except NoSuchRun:
        pass
    found = [listing async for listing in all_runs(store) if listing.run_id.startswith((prefix, f"run_{prefix}"))]
    if not found:
        raise NoSuchRun(f"no run matches {given!r}", "See: leadhand runs list")
    if len(found) > 1:
        several = listed([listing.run_id for listing in found])
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
