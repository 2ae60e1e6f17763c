"""People step in from the command line: subtasks are done again, left out or answered by hand."""

from __future__ import annotations

import asyncio
import re
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest
from cli.power import Planned, Power, failed_in_part, newest

from leadhand.cli.terminal.progress import Progress
from leadhand.core import events as ev
from leadhand.core.approval import Approval, args_hash
from leadhand.core.run import ModelChoice, RunDefinition, RunStatus
from leadhand.core.words.failures import skipped
from leadhand.core.work_order import OpenCall, Step, Subtask, WorkOrder
from leadhand.flows.work_order.roles import RoleName
from leadhand.testing.faults import served_by
from leadhand.testing.model_server import ScriptedServer

ARGS = {"amount": 30, "to": "Bob"}
CALL = OpenCall(call_id="c0", kind="effect", tool="pay_tool", args=ARGS)
QUESTION = Approval.model_validate(
    {"approval_id": "wo-001.0/t0/c0", "attempt": "wo-001.0/a1", "tool": "pay_tool", "args": ARGS, "effect": "once"}
)
SLOWLY = "Measure the noise in Rome and in Oslo"


def driven(leadhand: Any, power: Power) -> tuple[str, Any]:
    """A run that a process drives: it failed in Oslo, and Rome waits for the gate."""
    driving = leadhand.start("run", "--offline", "--tools", power.tools, SLOWLY)
    leadhand.wait(lambda: leadhand.calls["Rome"] and leadhand.listing()["failed"] == 1, "the failure in Oslo")
    return leadhand.listing()["run_id"], driving


def test_what_failed_is_done_again_after_the_end_once_it_is_mended(leadhand: Any, power: Power) -> None:
    run_id = failed_in_part(leadhand, power)
    power.at("Oslo")

    result = leadhand("runs", "retry", run_id, "--tools", power.tools)

    assert result.code == 0
    assert "Lyon: 40 dB" in result.out
    assert "Oslo: 40 dB" in result.out
    assert leadhand.calls == {"Lyon": 1, "Oslo": 2}, "what was finished was done again"
    document = leadhand("runs", "show", run_id, "--json").json
    assert [(answer["number"], answer["status"]) for answer in document["earlier_answers"]] == [(1, "partial")]
    assert [order["work_order_id"] for order in document["work_orders"]] == ["wo-001"], "it was done again in place"


def test_one_subtask_is_done_again_with_other_arguments(leadhand: Any, power: Power) -> None:
    run_id = failed_in_part(leadhand, power)
    retry = ["runs", "retry", run_id, "--tools", power.tools]
    for flags, named in (
        (["--args", '{"place": "Rome"}'], run_id),
        (["--subtask", "wo-001.1", "--args", "[1]"], "JSON"),
        (["--subtask", "wo-001.1", "--args", '{"town": "Rome"}'], "measure_tool"),
    ):
        leadhand(*retry, *flags).refused(named)
    leadhand.open_gate()

    result = leadhand(*retry, "--subtask", "wo-001.1", "--args", '{"place": "Rome"}', "--json")

    assert result.code == 0
    assert leadhand.calls == {"Lyon": 1, "Oslo": 1, "Rome": 1}
    line = leadhand.listing()
    assert (line["completed"], line["subtasks"], line["failed"]) == (2, 2, 0), "it was not done again in place"


FINE = '''
"""A tool that fails after it has done what cannot be taken back, but for the second time."""
import os

from leadhand import FailureClass, ToolError, tool


@tool(effect="once", retries=0)
def fine_tool(amount: float, to: str) -> str:
    """Fine somebody an amount of money."""
    with open(os.environ["CALLS"], "a+") as file:
        file.seek(0)
        before = file.read()
        file.write(f"fined {to}\\n")
    if not before:
        raise ToolError("fined, and no receipt came", type="broken", class_=FailureClass.UNAVAILABLE)
    return f"fined {to}"
'''


def test_what_cannot_be_taken_back_is_done_again_once_it_is_confirmed(leadhand: Any, tmp_path: Path) -> None:
    path = tmp_path / "fine_tools.py"
    path.write_text(FINE)
    tools = ["--tools", str(path)]
    assert leadhand("run", "--offline", "--approve", "auto", *tools, "Fine 30 to Bob").code == 1
    run_id = leadhand.listing()["run_id"]

    leadhand("runs", "retry", run_id, *tools).refused("--yes")
    assert leadhand.calls == {"fined Bob": 1}

    assert leadhand("runs", "retry", run_id, "--yes", *tools).code == 0
    assert leadhand.calls == {"fined Bob": 2}


async def test_a_result_given_by_hand_takes_what_needs_it_further(
    leadhand: Any, power: Power, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Planned(
        {"name": "first", "tool": "measure_tool", "args": {"place": "Oslo"}},
        {
            "name": "second",
            "tool": "measure_tool",
            "args": {"place": {"$result": {"subtask": "0", "path": "/raw/next"}}},
            "needs": [0],
        },
    )
    async with ScriptedServer(served_by(models)) as server:
        monkeypatch.setenv("LEADHAND_BASE_URL", server.base_url)
        run = ["run", "--model", "openai_compatible:scripted", "--tools", power.tools, "Measure"]
        assert (await asyncio.to_thread(leadhand.process, *run)).code == 1
        run_id = newest(await asyncio.to_thread(leadhand.process, "runs", "list", "--json"))
        power.at("Lyon")
        supply = ["runs", "supply", run_id, "--subtask", "wo-001.0", "--tools", power.tools]
        given = ["--summary", "I measured it: 30 dB", "--result", '{"next": "Lyon"}']
        result = await asyncio.to_thread(leadhand.process, *supply, *given)

    assert result.code == 0
    assert "I measured it: 30 dB" in result.out
    assert "Lyon: 40 dB" in result.out
    assert leadhand.calls == {"Oslo": 1, "Lyon": 1}
    page = (await asyncio.to_thread(leadhand.process, "runs", "show", run_id)).out
    assert re.search(r"✓ wo-001.0  first .* by \w+$", page, re.MULTILINE)


def test_what_waits_for_a_yes_is_left_out(leadhand: Any, power: Power) -> None:
    asked = "Pay 30 to Bob and pay 20 to Ann and measure the noise in Lyon"
    assert leadhand("run", "--offline", "--tools", power.tools, asked).code == 4
    run_id = leadhand.listing()["run_id"]

    first = leadhand("runs", "skip", run_id, "--subtask", "wo-001.0", "--tools", power.tools)
    assert first.code == 4, "another one waits"
    assert "wo-001.0 pay_30_bob · 30, Bob" in first.err
    skip = ["runs", "skip", run_id, "--subtask", "wo-001.1", "--reason", "too dear", "--tools", power.tools]
    second = leadhand(*skip)

    assert second.code == 3
    assert "Lyon: 40 dB" in second.out
    assert "too dear" in second.out + second.err
    assert leadhand.calls == {"Lyon": 1}
    leadhand(*skip).refused("wo-001.1", "leadhand runs show")


def test_the_process_that_drives_the_run_does_what_another_one_asks_for(leadhand: Any, power: Power) -> None:
    run_id, driving = driven(leadhand, power)
    leadhand("runs", "skip", run_id, "--subtask", "wo-001.0").refused("wo-001.0", "running")

    result = leadhand("runs", "supply", run_id, "--subtask", "wo-001.1", "--summary", "30 dB, by ear")

    assert (result.code, result.out) == (0, "")
    assert "wo-001.1" in result.err
    assert result.command("runs watch") == ["runs", "watch", run_id]
    leadhand.open_gate()
    out, err = driving.communicate(timeout=90)
    assert driving.returncode == 0
    assert "30 dB, by ear" in out
    assert "30 dB, by ear" in err
    assert leadhand.calls == {"Rome": 1, "Oslo": 1}


def test_what_waits_for_a_yes_is_left_out_of_a_run_that_another_process_drives(leadhand: Any, power: Power) -> None:
    driving = leadhand.start("run", "--offline", "--tools", power.tools, "Pay 30 to Bob and measure the noise in Rome")
    leadhand.wait(lambda: leadhand.calls["Rome"] and leadhand("approvals", "list", "--json").json, "the question")
    run_id = leadhand.listing()["run_id"]

    result = leadhand("runs", "skip", run_id, "--subtask", "wo-001.0", "--reason", "too dear")

    assert (result.code, result.out) == (0, "")
    assert "wo-001.0" in result.err
    assert leadhand("approvals", "list", "--json").json == []
    leadhand.open_gate()
    out, err = driving.communicate(timeout=90)
    assert driving.returncode == 3
    assert "too dear" in out + err
    assert leadhand.calls == {"Rome": 1}


def test_a_retry_from_another_process_goes_as_soon_as_the_order_is_over(leadhand: Any, power: Power) -> None:
    run_id, driving = driven(leadhand, power)
    power.at("Oslo", "Rome")

    result = leadhand("runs", "retry", run_id)

    assert (result.code, result.out) == (0, "")
    leadhand.open_gate()
    out, _ = driving.communicate(timeout=90)
    assert driving.returncode == 0
    assert "Oslo: 40 dB" in out
    assert leadhand.calls == {"Rome": 1, "Oslo": 2}


def test_a_parked_run_does_it_when_it_is_resumed(leadhand: Any, power: Power) -> None:
    run_id, driving = driven(leadhand, power)
    assert leadhand("runs", "pause", run_id).code == 0
    driving.communicate(timeout=90)

    result = leadhand("runs", "supply", run_id, "--subtask", "wo-001.1", "--summary", "30 dB, by ear")
    assert (result.code, result.out) == (0, "")
    assert "wo-001.1" in result.err
    leadhand.open_gate()
    resumed = leadhand(*result.command("runs resume"))

    assert resumed.code == 0
    assert "30 dB, by ear" in resumed.out


def test_a_run_whose_process_died_is_taken_up_by_who_wants_something_of_it(leadhand: Any, power: Power) -> None:
    run_id, driving = driven(leadhand, power)
    driving.kill()
    driving.communicate(timeout=90)
    power.at("Oslo", "Rome")
    leadhand.open_gate()

    result = leadhand("runs", "retry", run_id, "--tools", power.tools)

    assert result.code == 0
    assert leadhand.calls == {"Rome": 2, "Oslo": 2}


IMPOSSIBLE = (
    ("runs retry RUN --subtask wo-001.9", "wo-001.9", "2"),
    ("runs retry RUN --subtask first", "'first'"),
    ("runs retry RUN --subtask wo-001.0", "wo-001.0"),
    ("runs supply RUN --subtask wo-001.1 --summary ' '",),
    ("runs supply RUN --subtask wo-001.1 --summary x --result {", "--result"),
    ("runs supply RUN --subtask wo-001.0 --summary x", "wo-001.0", "completed"),
    ("runs fork RUN --at 0", "0"),
    ("runs fork RUN --at 9999", "9999"),
)
"""What cannot be done to a run whose subtask wo-001.1 failed, and what the error names."""


def test_what_cannot_be_done_is_said_before_anything_is_on_record(leadhand: Any, power: Power) -> None:
    run_id = failed_in_part(leadhand, power)
    for line, *named in IMPOSSIBLE:
        leadhand(*shlex.split(line.replace("RUN", run_id))).refused(*named)
    before = leadhand.listing()["last_seq"]

    more = ["--max-requests", "99"]
    for command in (
        ["retry"],
        ["retry", *more],
        ["resume", *more],
        ["fork", "--at", "3"],
        ["fork", "--at", "3", *more],
    ):
        leadhand("runs", command[0], run_id, *command[1:]).refused("measure_tool", code="configuration")
    assert [(run["run_id"], run["last_seq"]) for run in leadhand("runs", "list", "--json").json] == [(run_id, before)]


ASSIGNED_FIRST = ev.StepIssued(step=Step(step_id="wo-001.0", worker=RoleName.WORK))


DECISIONS = (
    [ev.AttemptParked(attempt="wo-001.0/a1", open_calls=(CALL,))],
    [
        ev.ApprovalRequested(approval=QUESTION),
        ev.ApprovalAnswered(approval_id="wo-001.0/t0/c0", approve=False, expired=True),
    ],
    [ev.RequestDecided(what="skip", declined="it is under way")],
    [ev.RequestDecided(what="retry", steps=("wo-001.0",), args={"place": "Rome"}, by="Ann")],
    [ev.StepSettled(step="wo-001.0", ok=False, by="Ann", failure=skipped("Ann", ""))],
)
"""What people and silence decide; the golden file has the line of progress of each."""


# --- workers that work for workers -------------------------------------------------------------------------------


ASSIGNED = ev.StepIssued(
    step=Step(
        step_id="wo-001.0/t0/c0",
        worker=RoleName.WORK,
        parent="wo-001.0/a1",
        title="research_tool",
        input={"topic": "noise"},
    )
)
ORDERED = ev.OrderIssued(
    order=WorkOrder(work_order_id="wo-001", goal="x", subtasks=(Subtask(name="find", args={"town": "Rome"}),))
)


def parked(attempt: str, *kinds: Literal["approval", "asks", "effect"]) -> ev.AttemptParked:
    return ev.AttemptParked(attempt=attempt, open_calls=tuple(CALL.evolve(kind=kind) for kind in kinds))


def steps(*events: ev.AnyEvent) -> list[str]:
    """The lines of these events, in a run with one subtask."""
    definition = RunDefinition(request="x", flow="work-order", models=ModelChoice(default="offline"))
    progress = Progress()
    every = [ev.RunStarted(definition=definition), ORDERED, *events]
    entries = [ev.Entry(seq=n, at=datetime.now(UTC), epoch=1, event=event) for n, event in enumerate(every, 1)]
    return [str(progress.take(entry)) for entry in entries][2:]


WAITS = (
    ASSIGNED_FIRST,
    ev.AttemptStarted(attempt="wo-001.0/a1", host="here"),
    parked("wo-001.0/a1", "asks"),
    ASSIGNED,
    ev.AttemptStarted(attempt="wo-001.0/t0/c0/a1", host="here"),
    parked("wo-001.0/t0/c0/a1", "approval"),
    ev.AttemptScheduled(attempt="wo-001.0/t0/c0/a2", continues="wo-001.0/t0/c0/a1"),
    parked("wo-001.0/t0/c0/a2", "effect", "asks"),
    ev.AttemptScheduled(attempt="wo-001.0/a2", continues="wo-001.0/a1"),
)


TOLD = "what the run itself says"


def test_only_questions_are_counted_as_waiting_for_an_answer() -> None:
    second = QUESTION.evolve(approval_id="wo-001.0/t0/c1")
    calls = tuple(OpenCall(call_id=each.approval_id, kind="approval", tool="pay_tool") for each in (QUESTION, second))
    asked = [
        ASSIGNED_FIRST,
        ev.AttemptScheduled(attempt=QUESTION.attempt),
        ev.AttemptStarted(attempt=QUESTION.attempt, host="h"),
        ev.AttemptParked(attempt=QUESTION.attempt, open_calls=calls),
        ev.ApprovalRequested(approval=QUESTION),
        ev.ApprovalRequested(approval=second),
    ]
    yes = ev.ApprovalAnswered(approval_id=QUESTION.approval_id, approve=True, args_hash=args_hash(ARGS), by="Ann")
    left = ev.StepSettled(step="wo-001.0", ok=False, by="Ann", failure=skipped("Ann", ""))
    answers = {(): 2, (yes,): 1, (yes.evolve(args_hash="other"),): 2, (yes.evolve(always=True),): None, (left,): None}
    for given, pending in answers.items():
        line = steps(*asked, *given, ev.RunStatusSet(status=RunStatus.WAITING, reason=TOLD))[-1]
        assert (f" {pending} " in line, TOLD in line) == (pending is not None, pending is None), line
