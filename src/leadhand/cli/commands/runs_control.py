"""``leadhand runs pause``, ``cancel``, ``resume``, ``retry``, ``skip``, ``supply`` and ``fork``: control runs."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated

from leadhand.api import Leadhand
from leadhand.app.formatting import one_line
from leadhand.app.hosts.listings import all_runs
from leadhand.app.project.source_files import all_tools
from leadhand.app.runtime import Runtime
from leadhand.app.settings import user
from leadhand.app.steering import operator
from leadhand.app.toolsets import check_tools, toolbox
from leadhand.cli.errors import Exit
from leadhand.cli.flag_values import json_value
from leadhand.cli.foreground import new_view, run_in_foreground
from leadhand.cli.options import (
    RUN,
    DriverFlags,
    Flag,
    NewLimitFlags,
    Output,
    RunId,
    SameTools,
    StoreFlags,
    open_lead,
    open_reader,
)
from leadhand.cli.run_lookup import find_run, resume_line
from leadhand.cli.terminal.messages import resume_command
from leadhand.cli.terminal.prompt import confirmed
from leadhand.cli.terminal.streams import can_prompt, print_error, say
from leadhand.core.errors import UnreadableRun, UsageError
from leadhand.core.events import RunRequested, StepRequested
from leadhand.core.run import ENDED, RunStatus
from leadhand.core.state import RunState
from leadhand.runs import Run

Subtask = Annotated[str, Flag("The subtask, by its key, such as wo-001.0.", "KEY")]
Take = Callable[[Leadhand], Awaitable[Run | None]]
"""Takes the run to drive; None if another process is driving it."""


async def runs_pause(run_id: RunId, /, *, store: DriverFlags = DriverFlags()) -> int:
    """Pause a run: finished subtasks are kept, running ones start again when it is resumed."""
    request = RunRequested(what="pause", by=user(), reason=f"requested by {user()}")
    return await _stop(run_id, request, RunStatus.PAUSED, store)


async def runs_cancel(run_id: RunId, /, *, store: DriverFlags = DriverFlags()) -> int:
    """Cancel a run: nothing new starts, running requests are closed, finished subtasks stay in the log."""
    return await _stop(run_id, RunRequested(what="cancel", by=user()), RunStatus.CANCELLED, store)


async def _stop(given: str, request: RunRequested, target: RunStatus, store: StoreFlags) -> int:
    """Have a run stop with this status. Raises UsageError if it has ended in another way."""
    async with open_reader(store) as runtime:
        listing = await find_run(runtime.store, given)
        run_id = listing.run_id
        already = listing.status is target
        if listing.status in ENDED and not already:
            raise UsageError(
                f"run {run_id} has finished ({listing.status.value})",
                f"See its result: {store.command('runs', 'show', run_id)}",
            )
        status = target if already else await operator.stop(runtime, listing, request, until=ENDED | {target})
        if status is not target:
            say(f"{run_id} finished before it could be {target.value}: {status.value}.")
            return Exit.FAILED
        what = f"{run_id} is {'already ' if already else ''}{target.value}."
        if target is RunStatus.CANCELLED:
            say(f"{what} See its results: {store.command('runs', 'show', run_id)}")
        else:
            say(f"{what} Resume with: {await resume_line(runtime.store, run_id, store)}")
    return Exit.ANSWERED


async def runs_resume(
    run_id: Annotated[str | None, RUN] = None,
    /,
    *,
    all: Annotated[bool, Flag("Resume every run that is paused or whose process died, oldest first.")] = False,
    tools: SameTools = (),
    limits: NewLimitFlags = NewLimitFlags(),
    output: Output = Output(),
    store: DriverFlags = DriverFlags(),
) -> int:
    """Resume a run that was paused or whose process died; with a higher limit, also one that ran out of it."""
    if (run_id is None) is not all:
        raise UsageError("name one run, or use --all", "See: leadhand runs list")
    driver = Driver(tools, output, store)
    states, unreadable = await _resumable(store, run_id)
    for error in unreadable:
        print_error(error.what, error.how)
    if not states and not unreadable:
        say("No run to resume: none is paused, and no process died.")
    codes: list[int] = [Exit.CONFIGURATION for _ in unreadable]
    for state in states:

        async def take(lead: Leadhand, run_id: str = state.run_id) -> Run:
            return await lead.resume(run_id, **limits.given)

        codes.append(await driver.drive(state, take) or Exit.ANSWERED)
        if codes[-1] == Exit.INTERRUPTED:
            break
    return next((code for code in codes if code), Exit.ANSWERED)


async def _resumable(store: StoreFlags, run_id: str | None) -> tuple[list[RunState], list[UnreadableRun]]:
    """Return the run with this id, or all that are paused or whose process died, oldest first, and why some are not.

    Raises UnreadableRun if the one with this id cannot be read.
    """
    states: list[RunState] = []
    unreadable: list[UnreadableRun] = []
    async with open_reader(store) as runtime:
        if run_id is not None:
            found = [await find_run(runtime.store, run_id)]
        else:
            every = [listing async for listing in all_runs(runtime.store)]
            found = [run for run in every if run.orphan or (run.status is RunStatus.PAUSED and run.owner is None)]
        for each in reversed(found):
            try:
                states.append(await runtime.load(each.run_id))
            except UnreadableRun as error:
                if run_id is not None:
                    raise
                unreadable.append(error)
    return states, unreadable


async def runs_retry(
    run_id: RunId,
    /,
    *,
    subtask: Annotated[
        tuple[str, ...],
        Flag("Retry this subtask, by its key, such as wo-001.0. Repeatable. Without it, every failed one.", "KEY"),
    ] = (),
    args: Annotated[str | None, Flag("Retry the one subtask with these arguments, as a JSON object.", "JSON")] = None,
    yes: Annotated[bool, Flag("Retry even if a subtask made, or may have made, an irreversible call.")] = False,
    tools: SameTools = (),
    limits: NewLimitFlags = NewLimitFlags(),
    output: Output = Output(),
    store: DriverFlags = DriverFlags(),
) -> int:
    """Retry subtasks and everything that depends on them."""
    request = operator.retry(by=user(), subtasks=subtask, args=json_value("--args", args), confirmed=yes)
    what = ", ".join(subtask) or "the failed subtasks"
    done = f"retrying {what}{' with your arguments' if args is not None else ''}"
    return await Driver(tools, output, store).steer(run_id, request, done, limits.given)


async def runs_skip(
    run_id: RunId,
    /,
    *,
    subtask: Subtask,
    reason: Annotated[str | None, Flag("Give a reason. The answer shows it with the gap.", "TEXT")] = None,
    tools: SameTools = (),
    output: Output = Output(),
    store: DriverFlags = DriverFlags(),
) -> int:
    """Skip a subtask that is not running."""
    request = operator.skip(by=user(), subtask=subtask, reason=reason or "")
    return await Driver(tools, output, store).steer(run_id, request, f"{subtask} is skipped")


async def runs_supply(
    run_id: RunId,
    /,
    *,
    subtask: Subtask,
    summary: Annotated[str, Flag("The result, in words.", "TEXT")],
    result: Annotated[str | None, Flag("The result as JSON, for subtasks that use its values.", "JSON")] = None,
    tools: SameTools = (),
    output: Output = Output(),
    store: DriverFlags = DriverFlags(),
) -> int:
    """Enter the result of a subtask that failed or has not started."""
    request = operator.supply(by=user(), subtask=subtask, summary=summary, raw=json_value("--result", result))
    return await Driver(tools, output, store).steer(run_id, request, f"{subtask} has your result")


async def runs_fork(
    run_id: RunId,
    /,
    *,
    at: Annotated[int, Flag("The last event to keep, by its number. leadhand runs export lists the events.", "SEQ")],
    yes: Annotated[bool, Flag("Fork even if the run made irreversible calls after that event.")] = False,
    tools: SameTools = (),
    limits: NewLimitFlags = NewLimitFlags(),
    output: Output = Output(),
    store: DriverFlags = DriverFlags(),
) -> int:
    """Start a new run with the events of this one up to ``at``, and drive it from there."""
    driver = Driver(tools, output, store)
    async with open_reader(store) as runtime:
        listing = await find_run(runtime.store, run_id)
        cut = await operator.cut(runtime, listing.run_id, at)
    if cut.done:
        say(f"After event {at} the run made irreversible calls:")
        for each in cut.done:
            say(f"  {one_line(f'event {each.seq}: {each.tool} {json.dumps(each.args, ensure_ascii=False)}')}")
        if not yes and not can_prompt():
            raise UsageError(
                f"after event {at} the run made irreversible calls, and the fork may repeat them",
                "Add --yes to fork anyway.",
            )
        if not yes and not confirmed("The fork may repeat them. Continue? (yes or no)"):
            say("Not forked.")
            return Exit.USAGE

    async def take(lead: Leadhand) -> Run:
        run = await lead.fork(listing.run_id, at, confirmed=True, **limits.given)
        say(f"{run.run_id} is a fork of {listing.run_id} at event {at}.")
        return run

    return await driver.drive(cut.state, take) or Exit.ANSWERED


class Driver:
    """Drives runs in this process. Raises for a wrong --tools, before anything is recorded."""

    def __init__(self, tools: Sequence[str], output: Output, store: StoreFlags) -> None:
        self._own_tools = all_tools(tools)
        self._tools = tools
        self._output = output
        self._store = store

    async def drive(self, state: RunState, take: Take, *, ended: bool = False) -> int | None:
        """Take a run with the models it is pinned to and drive it; return the exit code, None if another process does.

        ``ended``: also one that is over. Raises ConfigurationError if a tool of the run is missing, before its model is
        looked for.
        """
        if ended or state.finished is None:
            check_tools(state.definition, toolbox(self._own_tools))
        shown = new_view(self._output)
        models = state.definition.models
        lead = open_lead(
            self._store,
            model=models.default,
            lead_model=models.by_use.get("plan"),
            worker_model=models.by_use.get("work"),
            review_model=models.by_use.get("review"),
            tools=self._own_tools,
            on_text=shown.write_draft,
        )
        async with lead:
            run = await take(lead)
            if run is None:
                return None
            return await run_in_foreground(
                lead, run, shown, tools=self._tools, output=self._output, store=self._store, why="as it was started"
            )

    async def steer(
        self, given: str, request: StepRequested, done: str, limits: operator.NewLimits | None = None
    ) -> int:
        """Pass an operator's request to the process that drives the run; if no process does, drive it here.

        ``done`` says what was requested. Raises UsageError for a request that the run cannot grant.
        """
        recorded: operator.Asked | None = None
        async with open_reader(self._store) as runtime:
            listing = await find_run(runtime.store, given)
            state = await runtime.load(listing.run_id)
            if not limits:
                operator.check(state, request)
            if listing.owner is not None or listing.status is RunStatus.PAUSED:
                recorded = await operator.ask(runtime, listing.run_id, request, limits)
                if await operator.taken_up(runtime, recorded):
                    return await self._passed_on(runtime, state, done)

        async def take(lead: Leadhand) -> Run | None:
            ours = await lead.runtime()
            if recorded is None:
                taken = await operator.want(ours, state.run_id, request, limits)
            else:  # its process released the run before it read the request
                taken = await ours.take_over(state.run_id, ended=True)
            return Run(ours, taken, drive=True) if taken is not None else None

        code = await self.drive(state, take, ended=True)
        if code is None:
            async with open_reader(self._store) as runtime:
                return await self._passed_on(runtime, state, done)
        return code

    async def _passed_on(self, runtime: Runtime, state: RunState, done: str) -> int:
        """Say which process grants a request, or that it waits for the run to be resumed."""
        listing = await runtime.store.run(state.run_id)
        if listing.status is RunStatus.PAUSED:
            say(f"Recorded: {done}, once the paused run is resumed.")
            say(f"Resume with: {resume_command(self._store, state.run_id, state.definition, self._tools)}")
        else:
            say(f"Done: {done}.")
            say(f"{state.run_id} continues in another process: {self._store.command('runs', 'watch', state.run_id)}")
        return Exit.ANSWERED
