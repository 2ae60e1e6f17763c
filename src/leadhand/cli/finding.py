"""Finding runs: by the beginning of their id, and those that were left behind."""

from __future__ import annotations

from pathlib import Path

from leadhand.api import Leadhand
from leadhand.app.listings import PAGE, all_runs
from leadhand.cli.console import say
from leadhand.cli.options import Place
from leadhand.cli.telling import tools_of
from leadhand.domain.errors import NoSuchRun, UsageError
from leadhand.domain.events import RunStarted
from leadhand.domain.listing import RunListing
from leadhand.domain.run import RunDefinition, RunStatus
from leadhand.ports import ContextStore

SHOWN = 3
MENTIONED = "left_behind.txt"
"""In the directory of a run: the epoch whose end was mentioned."""


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


async def mention_orphans(lead: Leadhand, place: Place, *, again: bool = True) -> None:
    """Say on stderr that runs were left behind by processes that died, and what goes on with them, if there are any.

    ``again`` is false where each is worth one mention only: the home remembers it.
    """
    runtime = await lead.runtime()
    orphans = [each for each in await runtime.store.runs(status=RunStatus.RUNNING, limit=PAGE) if each.orphan]
    new = [each for each in orphans if _note(runtime.settings.home, each) or again]
    if not new:
        return
    lines = [await _resume_line(runtime.store, each.run_id, place) for each in new[:SHOWN]]
    if len(new) == 1:
        say(f"1 run was left behind by a process that died: {lines[0]}")
        return
    say(f"{len(new)} runs were left behind by processes that died:")
    for line in lines:
        say(f"  {line}")
    if len(new) > SHOWN:
        say(f"  and {len(new) - SHOWN} more: {place.command('runs', 'list', '--status', RunStatus.RUNNING.value)}")


async def how_to_go_on(store: ContextStore, orphans: list[RunListing], place: Place) -> str:
    """What goes on with runs that were left behind, in a line."""
    if len(orphans) > 1:
        return f"See them, and what goes on with each: {place.command('runs', 'list', '--status', 'running')}"
    return f"Go on with: {await _resume_line(store, orphans[0].run_id, place)}"


async def _resume_line(store: ContextStore, run_id: str, place: Place) -> str:
    """The command that goes on with a run, with the tools it was started with."""
    return place.command("runs", "resume", run_id, tools=tools_of(await definition_of(store, run_id)))


def _note(home: Path, orphan: RunListing) -> bool:
    """Remember that a run was mentioned as left behind; whether that is new, as far as can be remembered."""
    note, now = home / "runs" / orphan.run_id / MENTIONED, str(orphan.epoch)
    try:
        if note.is_file() and note.read_text() == now:
            return False
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(now)
    except OSError:  # a home that can only be read
        pass
    return True


async def definition_of(store: ContextStore, run_id: str) -> RunDefinition:
    """What a run is pinned to: its first entry. Raises NoSuchRun."""
    (first,) = await store.read(run_id, limit=1)
    assert isinstance(first.event, RunStarted)
    return first.event.definition
