"""Takes runs up in this process, with the models they are pinned to, and carries them through."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from leadhand.api import Leadhand
from leadhand.app import operator
from leadhand.app.runtime import Runtime, check_tools
from leadhand.app.toolsets import toolbox
from leadhand.cli.console import say
from leadhand.cli.driving import carry_through, new_view
from leadhand.cli.exit_codes import Exit
from leadhand.cli.finding import find_run
from leadhand.cli.options import Output, Place, open_lead, open_reader
from leadhand.cli.own_tools import all_tools
from leadhand.cli.telling import kept_in, opening, say_table, tools_of
from leadhand.domain.decide.operator_requests import OperatorRequest
from leadhand.domain.listing import RunListing
from leadhand.domain.run import RunDefinition, RunStatus
from leadhand.domain.state import RunState
from leadhand.domain.tool import ToolSpec
from leadhand.runs import Run

Take = Callable[[Leadhand], Awaitable[Run | None]]
"""Gets hold of the run to drive; None when another process turns out to drive it."""


async def carry_on(
    definition: RunDefinition,
    needed: Sequence[ToolSpec],
    take: Take,
    *,
    tools: tuple[str, ...],
    output: Output,
    place: Place,
) -> int | None:
    """Take a run up with the models it is pinned to, and carry it through; the exit code, None when it is not ours.

    Raises ConfigurationError when a tool it needs is not among ours: before its model is looked for.
    """
    own = all_tools(tools)
    check_tools(needed, toolbox(own))
    shown = new_view(output)
    async with _lead(place, definition, tools=own, on_text=shown.write_draft) as lead:
        run = await take(lead)
        if run is None:
            return None
        kept = kept_in(await lead.runtime())
        say_table(opening(run.run_id, definition, why="as it was started", kept=kept))
        resume = place.command("runs", "resume", run.run_id, tools=tools)
        return await carry_through(lead, run, shown, output=output, place=place, resume=resume)


def _lead(place: Place, definition: RunDefinition, **settings: Any) -> Leadhand:
    """A Leadhand with the models that the run is pinned to: no other is looked for."""
    roles = definition.models.roles
    return open_lead(
        place,
        model=definition.models.default,
        lead_model=roles.get("plan"),
        worker_model=roles.get("work"),
        review_model=roles.get("review"),
        **settings,
    )


async def steer(
    given: str, wish: OperatorRequest, what: str, *, tools: tuple[str, ...], output: Output, place: Place
) -> int:
    """Have a person's wish granted by whoever drives the run; when nobody does, here, until the run is over or rests.

    ``what`` says what was granted. Raises UsageError for what cannot be.
    """
    output.check()
    all_tools(tools)  # what is wrong with them is said before anything is on record
    asked: operator.Asked | None = None
    async with open_reader(place) as reader:
        runtime = await reader.runtime()
        listing = await find_run(runtime.store, given)
        state = await runtime.load(listing.run_id)
        operator.check(state, wish)
        if listing.owner is not None or listing.status is RunStatus.PAUSED:
            asked = await operator.ask(runtime, listing.run_id, wish)
            if await operator.taken_up(runtime, asked):
                await _tell(runtime, state, what, tools, place)
                return Exit.ANSWERED

    async def take(lead: Leadhand) -> Run | None:
        ours = await lead.runtime()
        if asked is None:
            taken = await operator.want(ours, state.run_id, wish)
        else:  # its process let go of it before it looked
            taken = await ours.reopen(state.run_id, ended=True)
        return Run(ours, taken, drive=True) if taken is not None else None

    needed = operator.tools_for(state, wish)
    code = await carry_on(state.definition, needed, take, tools=tools, output=output, place=place)
    if code is None:
        async with open_reader(place) as reader:
            await _tell(await reader.runtime(), state, what, tools, place)
        return Exit.ANSWERED
    return code


async def _tell(runtime: Runtime, state: RunState, what: str, tools: tuple[str, ...], place: Place) -> None:
    """Say that a wish is in the hands of others, and whose."""
    listing: RunListing = await runtime.store.run(state.run_id)
    if listing.status is RunStatus.PAUSED:
        resume = place.command("runs", "resume", state.run_id, tools=tools or tools_of(state.definition))
        say(f"On record: {what}, once the parked run goes on.")
        say(f"Go on with it: {resume}")
    else:
        say(f"Done: {what}.")
        say(f"{state.run_id} goes on in the process that drives it: {place.command('runs', 'watch', state.run_id)}")
