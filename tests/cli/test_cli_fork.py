"""Runs are forked, and cancelled, from the command line."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from cli.power import Planned, Power, failed_in_part, newest
from cli.terminals import Terminal, rest_of

from leadhand.testing.faults import fault, served_by
from leadhand.testing.model_server import ScriptedServer


def paid(leadhand: Any, power: Power) -> tuple[str, int]:
    """A run that paid and is over; its id, and the event of its plan."""
    asked = "Pay 30 to Bob and measure the noise in Lyon"
    result = leadhand("run", "--offline", "--approve", "auto", "--tools", power.tools, "--stream-json", asked)
    assert result.code == 0
    events = [json.loads(line) for line in result.out.splitlines()]
    run_id = events[-1]["document"]["run_id"]
    return run_id, next(event["seq"] for event in events if event["type"] == "order_issued")


def test_a_fork_that_may_do_again_what_cannot_be_taken_back_is_confirmed(leadhand: Any, power: Power) -> None:
    run_id, planned = paid(leadhand, power)
    fork = ["runs", "fork", run_id, "--at", str(planned), "--tools", power.tools]
    refused = leadhand(*fork)
    refused.refused("--yes")
    assert re.search(r'\d+: pay_tool {"amount": 30, "to": "Bob"}$', refused.err, re.MULTILINE)
    assert leadhand.calls == {"paid Bob": 1, "Lyon": 1}

    result = leadhand(*fork, "--yes")

    assert result.code == 0
    assert "paid 30 to Bob" in result.out
    assert leadhand.calls == {"paid Bob": 2, "Lyon": 2}
    new = leadhand.listing()["run_id"]
    for told in (result.err, leadhand("runs", "show", new).out):
        assert re.search(rf"fork .*{run_id} .*\b{planned}\b", told)
    assert [order["work_order_id"] for order in leadhand("runs", "show", new, "--json").json["work_orders"]] == [
        "wo-001"
    ], "the plan was there"


def test_a_fork_is_asked_about_on_a_terminal(leadhand: Any, power: Power, terminal: Terminal) -> None:
    run_id, planned = paid(leadhand, power)
    for typed, code in (("no", 2), ("yes", 0)):
        child = terminal("runs", "fork", run_id, "--at", str(planned), "--tools", power.tools)
        child.expect(re.escape('pay_tool {"amount": 30, "to": "Bob"}'))
        child.expect("\\?")
        child.sendline(typed)
        rest_of(child)
        assert child.exitstatus == code
    assert leadhand.calls == {"paid Bob": 2, "Lyon": 2}


def test_a_fork_after_all_that_cannot_be_taken_back_needs_no_yes(leadhand: Any, power: Power) -> None:
    run_id = failed_in_part(leadhand, power)
    power.at("Lyon", "Oslo")

    result = leadhand("runs", "fork", run_id, "--at", "2", "--tools", power.tools, "--json")

    assert result.code == 0
    assert result.json["run_id"] != run_id
    assert leadhand.calls == {"Lyon": 2, "Oslo": 2}
    assert leadhand("runs", "show", run_id, "--json").json["status"] == "partial"


async def test_a_cancel_from_another_process_ends_hanging_tools_and_requests_long_before_they_end(
    leadhand: Any, power: Power, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Planned(
        {"name": "sleeps", "tool": "sleep_tool", "args": {"how": "deep"}},
        {"name": "waits", "tool": "wait_tool", "args": {"how": "long"}},
        {"name": "thinks", "tool": None, "args": {"of": "nothing"}},
    )
    server = ScriptedServer(served_by(models)).inject(fault("hang").serve(), worker="work")
    async with server:
        monkeypatch.setenv("LEADHAND_BASE_URL", server.base_url)
        driving = leadhand.start(
            "run", "--model", "openai_compatible:scripted", "--tools", power.tools, "--stream-json", "Hang"
        )
        await asyncio.to_thread(leadhand.wait, lambda: leadhand.calls == {"asleep": 1, "waiting": 1}, "the calls")
        await server.until(lambda: len(server.requests) >= 2)
        run_id = newest(await asyncio.to_thread(leadhand.process, "runs", "list", "--json"))

        cancelled = await asyncio.to_thread(leadhand.process, "runs", "cancel", run_id)
        assert cancelled.code == 0
        await server.until(lambda: server.abandoned >= 1, within_s=60)
        out, _ = await asyncio.to_thread(driving.communicate, timeout=90)
        # the tools would end after ten minutes, the request never

    events = [json.loads(line) for line in out.splitlines()]
    assert "cancel" in [event["what"] for event in events if event["type"] == "run_requested"]
    assert "run_finished" in [event["type"] for event in events]
    assert events[-1]["document"]["status"] == "cancelled"
