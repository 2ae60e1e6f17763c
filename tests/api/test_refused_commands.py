"""A refused command changes nothing: neither the log of its run nor the list of runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from leadhand import ConfigurationError, Leadhand, Limits, Run, RunStatus, ToolReturn, UsageError, tool
from leadhand.core.errors import RunOwned
from leadhand.ports.models import ModelProfile


@tool
async def shop(n: int) -> ToolReturn:
    """Ask a shop that has only one thing, and never answers about the third."""
    if n == 3:
        await asyncio.Event().wait()
    if n > 1:
        raise ValueError("sold out")
    return ToolReturn(raw=n, summary=f"got {n}")


@tool(effect="once")
async def pay(amount: int) -> ToolReturn:
    """Pay an amount."""
    return ToolReturn(summary=f"paid {amount}")


@tool
async def other() -> str:
    """Do something else."""
    return "done"


async def ended(lead: Leadhand) -> Run:
    run = await lead.start("both")
    assert (await run.answer()).status is RunStatus.PARTIAL
    return run


async def paused(lead: Leadhand) -> Run:
    run = await lead.start("the third")
    async for entry in run:
        if entry.event.type == "tool_call_began":
            await run.pause()
            break
    assert (await run.answer()).status is RunStatus.PAUSED
    return run


async def waiting(lead: Leadhand) -> Run:
    run = await lead.start("pay")
    assert (await run.answer()).status is RunStatus.WAITING
    return run


async def planned(lead: Leadhand) -> Run:
    run = await lead.start("both", plan_only=True)
    assert (await run.answer()).status is RunStatus.WAITING
    return run


MORE = {"limits": Limits(max_requests=77)}
Command = Callable[[Leadhand, Run], Awaitable[Any]]
COMMANDS: dict[str, Command] = {
    "resume": lambda lead, run: lead.resume(run.run_id),
    "resume with a limit": lambda lead, run: lead.resume(run.run_id, **MORE),
    "retry": lambda _, run: run.retry(),
    "retry with a limit": lambda _, run: run.retry(**MORE),
    "fork with a limit": lambda lead, run: lead.fork(run.run_id, 3, **MORE),
    "follow up with a limit": lambda _, run: run.follow_up("again", **MORE),
    "skip nothing": lambda _, run: run.skip("wo-001.9"),
    "supply nothing": lambda _, run: run.supply("wo-001.9", "x"),
    "approve all with wrong arguments": lambda _, run: run.approve("RUN:x", args={"m": 1}, always=True),
}


async def seen(lead: Leadhand, run: Run) -> tuple[Any, ...]:
    """The whole log of a run, and all runs."""
    store = (await lead.runtime()).store
    return await store.read(run.run_id), await lead.runs()


@pytest.mark.parametrize(
    ("state", "command"),
    [
        pytest.param(state, command, id=f"{state.__name__}: {name}")
        for state in (ended, paused, waiting, planned)
        for name, command in COMMANDS.items()
        if not (state is paused and name.startswith("retry"))  # it is granted when the run is resumed
    ],
)
async def test_a_command_refused_for_a_missing_tool_changes_nothing(
    home: Path, lead_of: Any, state: Callable[[Leadhand], Awaitable[Run]], command: Command
) -> None:
    plans = {waiting: ("pay", [{"amount": 1}]), paused: ("shop", [{"n": 3}])}
    models = lead_of(*plans.get(state, ("shop", [{"n": 1}, {"n": 2}])))
    async with Leadhand(models=models, tools=[shop, pay], home=home, limits=Limits(budget=None)) as lead:
        run_id = (await state(lead)).run_id

    async with Leadhand(models=models, tools=[other], home=home, limits=Limits(budget=None)) as lead:
        run = await lead.get(run_id)
        before = await seen(lead, run)
        with pytest.raises((ConfigurationError, UsageError)):
            await command(lead, run)
        assert await seen(lead, run) == before


WRONG: dict[str, Command] = {
    "a limit that is used up": lambda lead, run: lead.resume(run.run_id, limits=Limits(max_requests=1)),
    "turns without a lead": lambda lead, run: lead.resume(run.run_id, limits=Limits(max_requests=77, max_turns=3)),
    "no subtask": lambda _, run: run.retry(["wo-001.9"], **MORE),
    "arguments that do not fit": lambda _, run: run.retry(["wo-001.1"], {"m": 1}, **MORE),
    "an accepted subtask": lambda _, run: run.retry(["wo-001.0"], **MORE),
    "a budget without a price": lambda lead, run: lead.resume(run.run_id, limits=Limits(max_requests=77, budget=2.0)),
    "a retry on such a budget": lambda _, run: run.retry(limits=Limits(budget=2.0)),
    "a fork on such a budget": lambda lead, run: lead.fork(run.run_id, 3, limits=Limits(budget=2.0)),
}


@pytest.mark.parametrize("command", WRONG.values(), ids=WRONG)
async def test_a_command_with_a_wrong_value_changes_nothing(home: Path, lead_of: Any, command: Command) -> None:
    models = lead_of("shop", [{"n": 1}, {"n": 2}])
    async with Leadhand(models=_Unpriced(models), tools=[shop], home=home, limits=Limits(budget=None)) as lead:
        run = await ended(lead)
        before = await seen(lead, run)
        with pytest.raises((ConfigurationError, UsageError)):
            await command(lead, run)
        assert await seen(lead, run) == before


class _Unpriced:
    """A model whose price is not known."""

    def __init__(self, models: Any) -> None:
        self.ask, self.aclose = models.ask, models.aclose

    def profile(self, model: str) -> Any:
        return ModelProfile(name=model)


@pytest.mark.parametrize("limits", [{}, MORE], ids=["", "with a limit"])
async def test_a_run_that_another_process_drives_is_not_resumed_and_keeps_its_limits(
    home: Path, lead_of: Any, limits: Any
) -> None:
    gate = asyncio.Event()

    @tool
    async def wait(n: int) -> ToolReturn:
        """Wait for the gate."""
        await gate.wait()
        return ToolReturn(summary=f"waited {n}")

    models = lead_of("wait", [{"n": 1}])
    async with (
        Leadhand(models=models, tools=[wait], home=home) as driving,
        Leadhand(models=models, tools=[wait], home=home) as lead,
    ):
        run = await driving.start("wait")
        async for entry in run:
            if entry.event.type == "tool_call_began":
                break
        here = await lead.get(run.run_id)
        before = await seen(lead, here)
        with pytest.raises(RunOwned):
            await lead.resume(run.run_id, **limits)
        assert await seen(lead, here) == before
        gate.set()
        assert (await run.answer()).status is RunStatus.SUCCEEDED


async def test_stopping_a_run_that_has_ended_changes_nothing(home: Path, lead_of: Any) -> None:
    async with Leadhand(models=lead_of("shop", [{"n": 1}, {"n": 2}]), tools=[shop], home=home) as lead:
        run = await ended(lead)
        before = await seen(lead, run)
        for stop in (run.pause(), run.cancel()):
            await stop
        assert await seen(lead, run) == before
