"""Resume runs in this process with the models they are pinned to, also to carry out an operator's request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from leadhand.api import Leadhand
from leadhand.app import operator
from leadhand.app.runtime import Runtime
from leadhand.app.toolsets import check_tools, toolbox
from leadhand.cli.errors import Exit
from leadhand.cli.foreground import new_view, run_in_foreground
from leadhand.cli.options import Output, StoreFlags, open_lead, open_reader
from leadhand.cli.run_lookup import find_run
from leadhand.cli.terminal.messages import database_name, opening, say_table, tools_of
from leadhand.cli.terminal.streams import say
from leadhand.cli.tool_files import all_tools
from leadhand.domain.decide.operator_requests import OperatorRequest
from leadhand.domain.run import RunDefinition, RunStatus
from leadhand.domain.state import RunState
from leadhand.domain.tool import ToolSpec
from leadhand.runs import Run

Take = Callable[[Leadhand], Awaitable[Run | None]]
"""Takes the run to drive; None if another process is driving it."""


async def resume_run(
    definition: RunDefinition,
    needed: Sequence[ToolSpec],
    take: Take,
    *,
    tools: tuple[str, ...],
    output: Output,
    store: StoreFlags,
) -> int | None:
    """Take a run with the models it is pinned to and drive it; return the exit code, None if another process has it.

    Raises ConfigurationError if a tool it needs is missing, before its model is looked for.
    """
    own = all_tools(tools)
    check_tools(needed, toolbox(own))
    shown = new_view(output)
    async with _lead(store, definition, tools=own, on_text=shown.write_draft) as lead:
        run = await take(lead)
        if run is None:
            return None
        database = database_name(await lead.runtime())
        say_table(opening(run.run_id, definition, why="as it was started", database=database))
        resume = store.command("runs", "resume", run.run_id, tools=tools)
        return await run_in_foreground(lead, run, shown, output=output, store=store, resume=resume)


def _lead(store: StoreFlags, definition: RunDefinition, **settings: Any) -> Leadhand:
    """Return a Leadhand with the models that the run is pinned to."""
    roles = definition.models.roles
    return open_lead(
        store,
        model=definition.models.default,
        lead_model=roles.get("plan"),
        worker_model=roles.get("work"),
        review_model=roles.get("review"),
        **settings,
    )


async def steer_run(
    given: str, request: OperatorRequest, done: str, *, tools: tuple[str, ...], output: Output, store: StoreFlags
) -> int:
    """Pass an operator's request to the process that drives the run; if there is none, carry it out here.

    ``done`` says what was requested. Raises UsageError for a request that the run cannot carry out.
    """
    output.check()
    all_tools(tools)  # so that a wrong --tools fails before anything is recorded
    asked: operator.Asked | None = None
    async with open_reader(store) as reader:
        runtime = await reader.runtime()
        listing = await find_run(runtime.store, given)
        state = await runtime.load(listing.run_id)
        operator.check(state, request)
        if listing.owner is not None or listing.status is RunStatus.PAUSED:
            asked = await operator.ask(runtime, listing.run_id, request)
            if await operator.taken_up(runtime, asked):
                await _say_passed_on(runtime, state, done, tools, store)
                return Exit.ANSWERED

    async def take(lead: Leadhand) -> Run | None:
        ours = await lead.runtime()
        if asked is None:
            taken = await operator.want(ours, state.run_id, request)
        else:  # its process released the run before it read the request
            taken = await ours.take_over(state.run_id, ended=True)
        return Run(ours, taken, drive=True) if taken is not None else None

    needed = operator.tools_for(state, request)
    code = await resume_run(state.definition, needed, take, tools=tools, output=output, store=store)
    if code is None:
        async with open_reader(store) as reader:
            await _say_passed_on(await reader.runtime(), state, done, tools, store)
        return Exit.ANSWERED
    return code


async def _say_passed_on(
    runtime: Runtime, state: RunState, done: str, tools: tuple[str, ...], store: StoreFlags
) -> None:
    """Say which process carries out a request, or that it waits for the run to be resumed."""
    listing = await runtime.store.run(state.run_id)
    if listing.status is RunStatus.PAUSED:
        resume = store.command("runs", "resume", state.run_id, tools=tools or tools_of(state.definition))
        say(f"Recorded: {done}, once the paused run is resumed.")
        say(f"Resume with: {resume}")
    else:
        say(f"Done: {done}.")
        say(f"{state.run_id} continues in another process: {store.command('runs', 'watch', state.run_id)}")
