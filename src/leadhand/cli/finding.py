"""Finding runs: by the beginning of their id, and those that were left behind."""

from __future__ import annotations

from leadhand.api import Leadhand
from leadhand.cli.console import say
from leadhand.cli.options import Place
from leadhand.domain.errors import NoSuchRun, UsageError
from leadhand.domain.events import RunStarted
from leadhand.domain.listing import RunListing
from leadhand.domain.run import RunDefinition, RunStatus
from leadhand.ports import ContextStore
from leadhand.project.listings import PAGE, all_runs

SHOWN = 3


async def find_run(store: ContextStore, given: str) -> RunListing:
    """The run of that id, or the only one whose id begins so (``run_`` may be left out).

    Raises NoSuchRun, and UsageError when there are several.
    """
    wanted = given.strip().lower().removesuffix("…")
    if not wanted.removeprefix("run_"):
        raise UsageError("the run's id is empty", "leadhand runs list shows what there is.")
    try:
        return await store.run(wanted)
    except NoSuchRun:
        pass
    found = [listing async for listing in all_runs(store) if listing.run_id.startswith((wanted, f"run_{wanted}"))]
    if not found:
        raise NoSuchRun(f"there is no run {given}", "leadhand runs list shows what there is.")
    if len(found) > 1:
        several = ", ".join(listing.run_id for listing in found[:SHOWN])
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise UsageError(f"{given} is the beginning of {several}{more}", "Give more of the id.")
    return found[0]


async def mention_orphans(lead: Leadhand, place: Place) -> None:
    """Say on stderr that runs were left behind by processes that died, if there are any."""
    store = (await lead.runtime()).store
    orphans = [listing for listing in await store.runs(status=RunStatus.RUNNING, limit=PAGE) if listing.orphan]
    if len(orphans) == 1:
        resume = place.command("runs", "resume", orphans[0].run_id)
        say(f"1 run was left behind by a process that died: {resume}")
    elif orphans:
        resume = place.command("runs", "resume", "--all")
        say(f"{len(orphans)} runs were left behind by processes that died: {resume}")


async def definition_of(store: ContextStore, run_id: str) -> RunDefinition:
    """What a run is pinned to: its first entry. Raises NoSuchRun."""
    (first,) = await store.read(run_id, limit=1)
    assert isinstance(first.event, RunStarted)
    return first.event.definition
