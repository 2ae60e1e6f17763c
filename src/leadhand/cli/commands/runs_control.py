"""``leadhand runs pause``, ``cancel``, ``resume``, ``retry``, ``skip``, ``supply`` and ``fork``: control runs."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any

from leadhand.api import Leadhand
from leadhand.app.export.formatting import one_line
from leadhand.app.project.source_files import all_tools
from leadhand.app.project.toolsets import check_tools, needed_tools
from leadhand.app.runtime.runtime import Runtime
from leadhand.app.settings import user
from leadhand.app.steering import operator
from leadhand.cli.dispatch import Exit
from leadhand.cli.foreground import new_view, run_in_foreground
from leadhand.cli.options import (
    DriverFlags,
    Flag,
    NewLimitFlags,
    Output,
    RunId,
    StoreFlags,
    Tools,
    json_value,
    open_lead,
    open_reader,
    toolbox_of,
)
from leadhand.cli.run_lookup import find_run, resume_line
from leadhand.cli.terminal.messages import resume_command
from leadhand.cli.terminal.prompt import confirmed
from leadhand.cli.terminal.streams import can_prompt, say
from leadhand.core.errors import UsageError
from leadhand.core.events import RunRequested, StepRequested
from leadhand.core.limits import Limits
from leadhand.core.run import ENDED, RunStatus
from leadhand.core.state import RunState
from leadhand.runs import Run

Subtask = Annotated[str, Flag("The subtask, by its key, such as wo-001.0.", "KEY")]
Take = Callable[[Leadhand], Awaitable[Run | None]]
"""Takes the run to drive; None if another process is driving it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver(Output):
    """How this process drives a run that exists already."""

    tools: Tools = ()

    async def drive(
        self, store: StoreFlags, state: RunState, take: Take, request: StepRequested | None = None
    ) -> int | None:
        """Take a run with the models it is pinned to and drive it; return the exit code, None if another process does.

        ``request`` is what it is to carry out. Raises ConfigurationError if a tool that it needs is missing, before its
        model is looked for.
        """
        own_tools, models, shown = all_tools(self.tools), state.definition.models, new_view(self)
        needed = needed_tools(state) if request is None else operator.tools_for(state, request)
        check_tools(needed, toolbox_of(store, own_tools))
        uses = {"lead": "plan", "worker": "work", "review": "review"}
        named = {use: models.by_use[key] for use, key in uses.items() if key in models.by_use}
        model = {"default": models.default, **named}
        async with open_lead(store, tools=own_tools, model=model, offline=False) as lead:
            (await lead.runtime()).texts.on_text = shown.write_draft
            run = await take(lead)
            if run is None:
                return None
            files: Any = {"tools": self.tools, "output": self, "store": store}
            return await run_in_foreground(lead, run, shown, why="as it was started", **files)

    async def steer(
        self, store: StoreFlags, given: str | None, request: StepRequested, done: str, limits: Limits = operator.NONE
    ) -> int:
        """Pass an operator's request to the process that drives the run; if no process does, drive it here.

        ``done`` says what was requested. Raises UsageError for a request that the run cannot grant, and for wrong
        tools, before anything is recorded.
        """
        all_tools(self.tools)
        recorded: operator.Asked | None = None
        async with open_reader(store) as runtime:
            listing = await find_run(runtime.store, given)
            state = await runtime.load(listing.run_id)
            if not limits.model_fields_set:
                operator.check(state, request)
            if listing.owner is not None or listing.status is RunStatus.PAUSED:
                recorded = await operator.ask(runtime, listing.run_id, request, limits)
                if await operator.taken_up(runtime, recorded):
                    return await self._passed_on(runtime, state, done, store)

        async def take(lead: Leadhand) -> Run | None:
            ours = await lead.runtime()
            if recorded is None:
                taken = await operator.want(ours, state.run_id, request, limits)
            else:  # its process released the run before it read the request
                taken = await ours.take_over(state.run_id, ended=True, known=state)
            return Run(ours, taken, drive=True) if taken is not None else None

        code = await self.drive(store, state, take, request)
        if code is None:
            async with open_reader(store) as runtime:
                return await self._passed_on(runtime, state, done, store)
        return code

    async def _passed_on(self, runtime: Runtime, state: RunState, done: str, store: StoreFlags) -> int:
        """Say which process grants a request, or that it waits for the run to be resumed."""
        if (await runtime.store.run(state.run_id)).status is RunStatus.PAUSED:
            resume = resume_command(store, state.run_id, state.definition, self.tools)
            say(f"Recorded: {done}, once the paused run is resumed. Resume with: {resume}")
        else:
            watch = store.command("runs", "watch", state.run_id)
            say(f"Done: {done}. {state.run_id} continues in another process: {watch}")
        return Exit.ANSWERED


async def runs_pause(run_id: RunId = None, /, *, store: DriverFlags = DriverFlags()) -> int:
    """Pause a run: finished subtasks are kept, running ones start again when it is resumed."""
    request = RunRequested(what="pause", by=user(), reason=f"requested by {user()}")
    return await _stop(run_id, request, RunStatus.PAUSED, store)


async def runs_cancel(run_id: RunId = None, /, *, store: DriverFlags = DriverFlags()) -> int:
    """Cancel a run for good: nothing new starts, running requests are closed, finished subtasks stay in the log."""
    return await _stop(run_id, RunRequested(what="cancel", by=user()), RunStatus.CANCELLED, store)


async def _stop(given: str | None, request: RunRequested, target: RunStatus, store: StoreFlags) -> int:
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
        show = f"See its results: {store.command('runs', 'show', run_id)}"
        how = show if target in ENDED else f"Resume with: {await resume_line(runtime.store, run_id, store)}"
        say(f"{run_id} is {'already ' if already else ''}{target.value}. {how}")
    return Exit.ANSWERED


async def runs_resume(
    run_id: RunId = None,
    /,
    *,
    limits: NewLimitFlags = NewLimitFlags(),
    driver: Driver = Driver(),
    store: DriverFlags = DriverFlags(),
) -> int:
    """Resume a run that was paused or whose process died.

    Finished subtasks are kept; only the rest runs.
    """
    async with open_reader(store) as runtime:
        state = await runtime.load((await find_run(runtime.store, run_id)).run_id)

    async def take(lead: Leadhand) -> Run:
        return await lead.resume(state.run_id, limits=limits.limits)

    return await driver.drive(store, state, take) or Exit.ANSWERED


async def runs_retry(
    run_id: RunId = None,
    /,
    *,
    subtask: Annotated[
        tuple[str, ...],
        Flag("Retry this subtask, by its key, such as wo-001.0. Repeatable. Without it, every failed one.", "KEY"),
    ] = (),
    args: Annotated[str | None, Flag("Retry the one subtask with these arguments, as a JSON object.", "JSON")] = None,
    yes: Annotated[bool, Flag("Retry even if a subtask made, or may have made, an irreversible call.")] = False,
    limits: NewLimitFlags = NewLimitFlags(),
    driver: Driver = Driver(),
    store: DriverFlags = DriverFlags(),
) -> int:
    """Retry subtasks and everything that depends on them.

    Other finished subtasks are kept. A run that has ended is reopened and writes a new answer; earlier answers stay
    in its log. If another process is driving the run, that process does the work; otherwise this one does.
    """
    request = operator.retry(by=user(), subtasks=subtask, args=json_value("--args", args), confirmed=yes)
    what = ", ".join(subtask) or "the failed subtasks"
    done = f"retrying {what}{' with your arguments' if args is not None else ''}"
    return await driver.steer(store, run_id, request, done, limits.limits)


async def runs_skip(
    run_id: RunId = None,
    /,
    *,
    subtask: Subtask,
    reason: Annotated[str | None, Flag("Give a reason. The answer shows it with the gap.", "TEXT")] = None,
    driver: Driver = Driver(),
    store: DriverFlags = DriverFlags(),
) -> int:
    """Skip a subtask.

    A running subtask cannot be skipped; one that is waiting for approval can. The answer lists it as a gap.
    """
    request = operator.skip(by=user(), subtask=subtask, reason=reason or "")
    return await driver.steer(store, run_id, request, f"{subtask} is skipped")


async def runs_supply(
    run_id: RunId = None,
    /,
    *,
    subtask: Subtask,
    summary: Annotated[str, Flag("The result, in words.", "TEXT")],
    result: Annotated[str | None, Flag("The result as JSON, for subtasks that use its values.", "JSON")] = None,
    driver: Driver = Driver(),
    store: DriverFlags = DriverFlags(),
) -> int:
    """Enter the result of a subtask by hand.

    Works for a subtask that failed or has not started. The log records that you supplied the result, and subtasks
    that depend on it continue. A run that has ended is reopened and writes a new answer.
    """
    request = operator.supply(by=user(), subtask=subtask, summary=summary, raw=json_value("--result", result))
    return await driver.steer(store, run_id, request, f"{subtask} has your result")


async def runs_fork(
    run_id: RunId = None,
    /,
    *,
    at: Annotated[int, Flag("The last event to keep, by its number. leadhand runs export lists the events.", "SEQ")],
    yes: Annotated[bool, Flag("Fork even if the run made irreversible calls after that event.")] = False,
    limits: NewLimitFlags = NewLimitFlags(),
    driver: Driver = Driver(),
    store: DriverFlags = DriverFlags(),
) -> int:
    """Start a new run from an event of an earlier one.

    The earlier run does not change. If it made irreversible calls after that event, the fork may repeat them: they
    are listed, and you are asked to confirm.
    """
    async with open_reader(store) as runtime:
        listing = await find_run(runtime.store, run_id)
        cut = await operator.cut(runtime, listing.run_id, at)
    if cut.done:
        say(f"After event {at} the run made irreversible calls, and the fork may repeat them:")
        for each in cut.done:
            say(f"  {one_line(f'event {each.seq}: {each.tool} {json.dumps(each.args, ensure_ascii=False)}')}")
        if not yes and not can_prompt():
            raise UsageError("the fork may repeat irreversible calls", "Add --yes to fork anyway.")
        if not yes and not confirmed("Continue? (yes or no)"):
            say("Not forked.")
            return Exit.USAGE

    async def take(lead: Leadhand) -> Run:
        run = await lead.fork(listing.run_id, at, confirmed=True, limits=limits.limits)
        say(f"{run.run_id} is a fork of {listing.run_id} at event {at}.")
        return run

    return await driver.drive(store, cut.state, take) or Exit.ANSWERED
