"""A flow awaits only what its run gives, and does not block: whatever else it does is refused or reported by line."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from flows.seam.lives import Lives, a, finished, log_of
from leadhand import RunStatus
from leadhand.flows import FlowContext, flow
from leadhand.flows.seam import passes
from leadhand.testing.scripted_model import says


async def sleep(run: FlowContext) -> Any:
    await run.ask(a, n=1)
    await asyncio.sleep(1)  # here


async def sleep_zero(run: FlowContext) -> Any:
    await asyncio.sleep(0)  # here


async def gather(run: FlowContext) -> Any:
    return str(await asyncio.gather(run.ask(a, n=1), run.ask(a, n=2)))  # here


async def create_task(run: FlowContext) -> Any:
    async def part() -> Any:
        return await run.ask(a, n=1)

    part_of_it = part()
    try:
        return await asyncio.create_task(part_of_it)  # here
    finally:
        part_of_it.close()


async def timeout(run: FlowContext) -> Any:
    async with asyncio.timeout(0.05):  # here
        return await run.ask(a, n=1)


async def wait_for(run: FlowContext) -> Any:
    return await asyncio.wait_for(run.ask(a, n=1), 0.05)  # here


async def to_thread(run: FlowContext) -> Any:
    return await asyncio.to_thread(time.sleep, 0.01)  # here


async def task_group(run: FlowContext) -> Any:
    async with asyncio.TaskGroup() as group:  # here
        group.create_task(asyncio.sleep(0))


async def http(run: FlowContext) -> Any:
    async with httpx.AsyncClient() as client:  # here
        return str(await client.get("http://127.0.0.1:9/"))


async def future(run: FlowContext) -> Any:
    loop = asyncio.new_event_loop()
    try:
        await loop.create_future()  # here
    finally:
        loop.close()


async def of_anyio(run: FlowContext) -> Any:
    await anyio.sleep(1)  # here


async def in_a_branch(run: FlowContext) -> Any:
    async def branch() -> Any:
        await asyncio.sleep(1)  # here

    return await run.gather([branch(), run.ask(a, n=1)], return_failures=True)


FOREIGN = [
    sleep,
    sleep_zero,
    gather,
    create_task,
    timeout,
    wait_for,
    to_thread,
    task_group,
    http,
    future,
    of_anyio,
    in_a_branch,
]


def line_of(function: Callable[..., Any]) -> str:
    """The line with the comment in it."""
    first, lines = function.__code__.co_firstlineno, Path(__file__).read_text().splitlines()
    number = next(n for n, text in enumerate(lines[first - 1 :], first) if text.endswith("# here"))
    return f"line {number} of {Path(__file__).name}"


@pytest.mark.parametrize("function", FOREIGN, ids=lambda each: each.__name__)
async def test_a_foreign_await_ends_the_run_with_its_line_and_what_is_allowed(
    function: Callable[..., Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = flow(function)
    with caplog.at_level(logging.ERROR, "asyncio"):
        async with Lives(tmp_path).life(made) as lead:
            _, answer = await finished(lead, made)
    failure = answer.document["failure"]
    assert answer.status in (RunStatus.FAILED, RunStatus.PARTIAL)
    assert failure["type"] == "flow_error"
    assert line_of(function) in failure["message"]
    assert "run" in failure["next_action"]
    assert not caplog.records


async def test_the_loop_of_the_process_goes_on_after_a_foreign_await(tmp_path: Path) -> None:
    """One that a flow swallows has waited for nothing, so the flow goes on."""

    @flow
    async def swallowed(run: FlowContext) -> Any:
        with contextlib.suppress(Exception):
            await asyncio.sleep(1)
        return await run.ask(a, n=3)

    async with Lives(tmp_path).life(swallowed) as lead:
        _, answer = await finished(lead, swallowed)
        await asyncio.sleep(0)
    assert answer.status is RunStatus.SUCCEEDED


@pytest.mark.parametrize("whose", ["a user", "Leadhand"])
async def test_a_function_of_a_user_that_blocks_for_more_than_a_second_is_reported_by_line(
    tmp_path: Path, whose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if whose == "Leadhand":
        monkeypatch.setattr(passes, "OURS", str(Path(__file__).parent))

    @flow
    async def blocking(run: FlowContext) -> Any:
        time.sleep(1.1)  # noqa: ASYNC251 (that is the point)
        found = await run.ask(a, n=1)
        return f"{found}"

    first = blocking.function.__code__.co_firstlineno
    async with Lives(tmp_path, lambda worker, given: says("x")).life(blocking) as lead:
        run, answer = await finished(lead, blocking)
        log = await log_of(lead, run.run_id)
    assert answer.status is RunStatus.SUCCEEDED
    notes = [each.event.message for each in log if each.event.type == "note_emitted"]
    assert len(notes) == (whose == "a user")
    assert all(f"line {first + 3} of test_foreign_awaits.py" in note for note in notes)


async def test_what_has_no_stable_form_is_refused_by_the_name_of_the_argument(tmp_path: Path) -> None:
    @flow
    async def unstable(run: FlowContext, kind: str = "") -> Any:
        values: dict[str, Any] = {"a set": {"x"}, "bytes": b"x", "a step": run.ask(a), "an object": object()}
        return await run.ask(a, the_input=values[kind])

    async with Lives(tmp_path).life(unstable) as lead:
        for kind in ("a set", "bytes", "a step", "an object"):
            run = await lead.start("go", flow="unstable", kind=kind)
            failure = (await run.answer()).document["failure"]
            assert failure["type"] == "flow_error"
            assert "`the_input`" in failure["message"], kind


@pytest.mark.parametrize(
    "misuse",
    [
        lambda run: run.ask("a", n=1),
        lambda run: run.flow("a", "go"),
        lambda run: run.do("a"),
        lambda run: run.gather([1]),
        lambda run: run.ask(a, tools="search"),
    ],
    ids=["ask", "flow", "do", "gather", "tools"],
)
async def test_what_is_given_a_wrong_value_says_so_with_the_line_of_the_flow(
    tmp_path: Path, misuse: Callable[[Any], Any]
) -> None:
    @flow
    async def wrong(run: FlowContext) -> Any:
        return await misuse(run)

    async with Lives(tmp_path).life(wrong) as lead:
        _, answer = await finished(lead, wrong)
    failure = answer.document["failure"]
    assert failure["type"] == "flow_error"
    assert "TypeError at line " in failure["message"]
    assert Path(__file__).name in failure["message"]
