"""Runs with the tools of an MCP server: what they pin, what a lost server costs, and what servers ask people."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from mcp_servers import lead_with, notes, ours, servers_of, until

from leadhand import Leadhand, RunStatus, mcp
from leadhand.core.errors import FailureClass
from leadhand.runs import Run

pytestmark = pytest.mark.slow

PAY: dict[str, Any] = {"tool": "pay", "args": {"amount": 3}}
LOOK: dict[str, Any] = {"tool": "look"}
BOOK: dict[str, Any] = {"tool": "book", "args": {"day": "Monday"}}


async def approved(lead: Leadhand, run: Run[Any]) -> None:
    """Approve the one call that a run waits for."""
    await run.wait()
    (asked,) = await lead.approvals()
    await run.approve(asked)


def open_gate(folder: Path) -> None:
    (folder / "gate").touch()


async def test_a_run_records_each_tool_as_the_server_gave_it_and_the_protocol(tmp_path: Path, home: Path) -> None:
    open_gate(tmp_path)
    async with lead_with(home, ours(str(tmp_path)), PAY, LOOK) as lead:
        run = await lead.start("Pay 3 and look")
        answer = await run.answer()
        pinned = {each.name: each for each in run.state.definition.tools}
    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, "paid 3\nseen")
    assert [each.tool for each in answer.done] == ["pay"], "what only reads has done nothing"
    pay = pinned["pay"]
    assert (pay.effect, pinned["look"].effect, pay.origin) == ("once", "pure", "mcp:ours")
    assert pay.parameters["properties"] == {"amount": {"title": "Amount", "type": "integer"}}
    assert pay.version.startswith("MCP 2026-07-28")
    assert not servers_of(), "the server ends with the program"


async def test_a_tool_that_changed_since_the_plan_is_not_called(tmp_path: Path, home: Path) -> None:
    async with lead_with(home, ours(str(tmp_path)), PAY, approve="ask") as lead:
        run_id = (await lead.run("Pay 3")).run_id
        (asked,) = await lead.approvals()
        assert asked.approval.called == "pay"
        assert asked.approval.target.startswith("pay of the MCP server ours (")
        assert asked.approval.summary == "Pay an amount; half of it is gone if this process dies meanwhile."
    async with lead_with(home, ours(str(tmp_path), "changed"), PAY) as lead:
        run = await lead.resume(run_id)
        await approved(lead, run)
        answer = await run.answer()
        failure = run.state.steps["wo-001.0"].failure
    assert failure is not None
    assert (failure.class_, failure.type) == (FailureClass.UNAVAILABLE, "tool_changed")
    assert failure.not_made
    assert (answer.status, answer.done) == (RunStatus.FAILED, ())
    assert [each.next_action for each in answer.gaps] == [failure.next_action], "there is nothing to find out"
    assert not notes(tmp_path, "pay")


async def test_nobody_is_asked_to_approve_a_tool_that_has_changed_meanwhile(tmp_path: Path, home: Path) -> None:
    pay = {**PAY, "args": {**PAY["args"], "needs": [0]}}
    async with lead_with(home, ours(str(tmp_path)), {"tool": "stop_payments"}, pay, approve="ask") as lead:
        run = await lead.start("Stop payments, then pay 3")
        answer = await run.answer()
        failure = run.state.steps["wo-001.1"].failure
    assert (answer.status, run.state.approvals) == (RunStatus.PARTIAL, {})
    assert failure is not None
    assert (failure.type, failure.not_made, answer.done) == ("tool_changed", True, ())
    assert not notes(tmp_path, "pay")


@pytest.mark.parametrize(
    ("call", "effects", "made"), [(LOOK, {}, 2), (PAY, {"pay": "idempotent"}, 2), (PAY, {}, 1)], ids=str
)
async def test_a_server_that_dies_costs_one_call_which_is_made_again_if_that_is_safe(
    tmp_path: Path, home: Path, call: dict[str, Any], effects: dict[str, str], made: int
) -> None:
    async with lead_with(home, ours(str(tmp_path), effects=effects), call) as lead:
        run = await lead.start("Do it")
        await until(lambda: notes(tmp_path, call["tool"]))
        for each in servers_of():
            each.kill()
        open_gate(tmp_path)
        answer = await run.answer()
        assert len(notes(tmp_path, call["tool"])) == made
        if made == 2:
            assert answer.status is RunStatus.SUCCEEDED
            return
        (asked,) = await lead.approvals()
        assert asked.approval.kind == "effect", "a person says whether it happened"
        await run.settle_effect(asked, happened=False)
        assert (await run.answer()).status is RunStatus.SUCCEEDED
    assert len(notes(tmp_path, call["tool"])) == 2


async def test_a_call_waits_for_a_server_that_is_away_for_a_while_and_none_is_lost(tmp_path: Path, home: Path) -> None:
    """Between its listing and the call, the server dies, and cannot be started for a moment: nothing was sent."""
    open_gate(tmp_path)
    program = tmp_path / "mcp-program"
    program.write_text(f"#!/bin/sh\nexec {shlex.join(ours(str(tmp_path)).command)}\n")
    program.chmod(0o755)
    server = mcp(str(program), name="ours")
    async with lead_with(home, server, PAY, approve="ask") as lead:
        run = await lead.start("Pay 3")
        await run.wait()
        for each in servers_of():
            each.kill()
        await until(lambda: not servers_of())
        program.rename(tmp_path / "hidden")
        await approved(lead, run)
        asyncio.get_running_loop().call_later(1, (tmp_path / "hidden").rename, program)
        answer = await run.answer()
    assert (answer.status, answer.text, len(notes(tmp_path, "pay"))) == (RunStatus.SUCCEEDED, "paid 3", 1)


async def test_a_result_that_does_not_fit_its_schema_is_a_failure(tmp_path: Path, home: Path) -> None:
    async with lead_with(home, ours(str(tmp_path)), {"tool": "wrong"}) as lead:
        run = await lead.start("Look")
        await run.wait()
        calls = run.state.steps["wo-001.0"].made
    assert [each.failure and each.failure.type for each in calls] == ["bad_result"]


async def test_a_list_that_grows_is_used_by_the_next_run(tmp_path: Path, home: Path) -> None:
    open_gate(tmp_path)
    async with lead_with(home, ours(str(tmp_path)), {"tool": "add_tool"}) as lead:
        first = await lead.start("Add a tool")
        await first.wait()
        second = await lead.start("Add a tool")
        await second.wait()
    names = [{each.name for each in run.state.definition.tools} for run in (first, second)]
    assert names[1] - names[0] == {"another"}


async def test_a_server_that_ignores_its_end_is_ended_with_its_children(tmp_path: Path, home: Path) -> None:
    open_gate(tmp_path)
    async with lead_with(home, ours(str(tmp_path), "stubborn"), LOOK) as lead:
        await lead.run("Look")
        there = servers_of()
        assert len(there) == 2
    assert not [each for each in there if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


async def test_cancelling_a_run_stops_its_call(tmp_path: Path, home: Path) -> None:
    async with lead_with(home, ours(str(tmp_path)), LOOK) as lead:
        run = await lead.start("Look")
        await until(lambda: notes(tmp_path, "look"))
        await run.cancel()
        assert (await run.answer()).status is RunStatus.CANCELLED


@pytest.mark.parametrize(
    ("tool", "given", "asks"),
    [
        ("replace", {}, True),
        ("confirm", {}, False),
        ("replace", {"effects": {"replace": "idempotent"}}, False),
        ("replace", {"approve": {"tool:replace": "auto"}}, False),
        ("replace", {"approve": "auto"}, False),
    ],
    ids=["destructive", "not said to be", "the project gives the effect", "a rule allows it", "the run asks nobody"],
)
async def test_a_call_that_its_server_says_is_destructive_asks_unless_the_project_says_otherwise(
    tmp_path: Path, home: Path, tool: str, given: dict[str, Any], asks: bool
) -> None:
    call = {"tool": tool, "args": {"day": "Monday"}}
    server = ours(str(tmp_path), effects=given.get("effects"))
    async with lead_with(home, server, call, approve=given.get("approve", "ask")) as lead:
        run = await lead.start("Do it")
        await run.wait()
        assert run.state.tools[tool].effect == "idempotent"
        assert [each.approval.tool for each in await lead.approvals()] == [tool] * asks
        if asks:
            await approved(lead, run)
        assert (await run.answer()).status is RunStatus.SUCCEEDED


# --- questions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "booked"), [("large", ["booked large Monday"]), ("decline", [])], ids=["answered", "declined"]
)
async def test_what_a_server_asks_parks_its_call_until_a_person_answers_in_any_process(
    tmp_path: Path, home: Path, reply: str, booked: list[str]
) -> None:
    async with lead_with(home, ours(str(tmp_path)), BOOK, approve="ask") as lead:
        run = await lead.start("Book a room for Monday")
        await approved(lead, run)
        waiting = await run.answer()
        assert (waiting.status, await lead.approvals()) == (RunStatus.WAITING, []), "nobody approves it again"
        assert waiting.question is not None
        assert waiting.question.choices == ("small", "large", "decline")
    assert not servers_of(), "nothing of it is kept in a process"
    async with lead_with(home, ours(str(tmp_path)), BOOK, approve="ask") as lead:
        await lead.reply(run.run_id, reply)
        answer = await (await lead.get(run.run_id)).answer()
    assert notes(tmp_path, "booked") == booked
    assert (answer.status is RunStatus.SUCCEEDED) == bool(booked)
    assert [(each.tool, each.ok) for each in answer.done] == [("book", bool(booked))]
    assert answer.question is None


# --- what ends ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [(), ("stubborn",)], ids=["ends with its input", "ignores the end of its input"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
async def test_no_server_outlives_leadhand(
    tmp_path: Path, number: int, words: tuple[str, ...], leadhand_process: Callable[..., Any]
) -> None:
    async with leadhand_process(tmp_path, *words) as process:
        await until(lambda: notes(tmp_path, "look"))
        there = servers_of(process.pid)
        assert there
        os.kill(process.pid, number)
        open_gate(tmp_path)
        await until(lambda: not [each for each in there if each.is_running() and each.status() != "zombie"])
