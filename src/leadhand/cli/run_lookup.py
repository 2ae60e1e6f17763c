"""Find runs: by the beginning of their id, and those whose process died."""

from __future__ import annotations

import asyncio

from leadhand.app.formatting import clean, count, one_line, short_id
from leadhand.app.hosts.listings import PAGE, all_runs, definition_of
from leadhand.app.runtime import Runtime
from leadhand.cli.options import StoreFlags, open_reader
from leadhand.cli.terminal.messages import resume_command
from leadhand.cli.terminal.streams import say
from leadhand.core.errors import LeadhandError, NoSuchRun, UnreadableRun, UsageError
from leadhand.core.run import RunStatus
from leadhand.core.text import listed
from leadhand.ports import ContextStore
from leadhand.ports.runs import RunListing


async def find_run(store: ContextStore, given: str) -> RunListing:
    """Return the run with that id, or the only one whose id begins with it (``run_`` may be omitted).

    Raises NoSuchRun, and UsageError if there are several.
    """
    prefix = given.strip().lower().removesuffix("…")
    if not prefix:
        raise UsageError("the run's id is empty", "See: leadhand runs list")
    if prefix == "run_":
        raise UsageError("every run's id begins with 'run_'", "Give more of the id; see: leadhand runs list")
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


def recent_runs(home: str | None, database: str | None) -> dict[str, str]:
    """Return the short ids of the newest runs, each with its request, for a shell that completes one."""

    async def read() -> dict[str, str]:
        async with open_reader(StoreFlags(home=home, database=database)) as runtime:
            listings = await runtime.store.runs(limit=PAGE)
        return {short_id(each.run_id): one_line(clean(each.request))[:60] for each in listings}

    try:
        return asyncio.run(read())
    except LeadhandError:
        return {}


async def mention_orphans(runtime: Runtime, store: StoreFlags) -> None:
    """Say how to resume the running runs whose process died."""
    orphans = [each for each in await runtime.store.runs(status=RunStatus.RUNNING, limit=PAGE) if each.orphan]
    if orphans:
        died = f"The process of {count(len(orphans), 'run')} died."
        say(f"{died} {await how_to_resume(runtime.store, orphans, store)}")


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
