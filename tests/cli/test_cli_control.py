"""People step in from the command line: subtasks are done again, left out or answered by hand."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest
from cli.power import Planned, Power, failed_in_part, newest

from leadhand.cli.terminal.progress import Progress
from leadhand.domain import events as ev
from leadhand.domain.approval import Approval, args_hash
from leadhand.domain.run import ModelChoice, RunDefinition
from leadhand.domain.work_order import Assignment, OpenCall, Subtask, WorkOrder
from leadhand.flows.work_order.roles import RoleName
from leadhand.testing.model_server import ScriptedServer, served_by

ARGS = {"amount": 30, "to": "Bob"}
CALLED = "pay_tool · 30, Bob"
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
    assert re.search(r"^Run reopened         by \w+$", result.err, re.MULTILINE)
    assert re.search(r"^Retry accepted       wo-001.1, by \w+$", result.err, re.MULTILINE)
    assert re.search(
        r"^Repair order issued  wo-002: 1 subtask: .* \(repairs wo-001, requested by \w+\)$", result.err, re.MULTILINE
    )
    document = leadhand("runs", "show", run_id, "--json").json
    assert [(answer["number"], answer["status"]) for answer in document["earlier_answers"]] == [(1, "partial")]
    page = leadhand("runs", "show", run_id).out
    assert "answer   number 2; earlier: 1 (partial); see earlier_answers in --json\n" in page
    assert re.search(r"^wo-002  1 subtask, repairs wo-001, requested by \w+$", page, re.MULTILINE)


def test_one_subtask_is_done_again_with_other_arguments(leadhand: Any, power: Power) -> None:
    run_id = failed_in_part(leadhand, power)
    retry = ["runs", "retry", run_id, "--tools", power.tools]
    for flags, told in (
        (["--args", '{"place": "Rome"}'], "new arguments apply to one subtask: name it"),
        (["--subtask", "wo-001.1", "--args", "[1]"], "the arguments are not a JSON object"),
        (["--subtask", "wo-001.1", "--args", '{"town": "Rome"}'], "invalid arguments for measure_tool"),
    ):
        refused = leadhand(*retry, *flags)
        assert (refused.code, refused.out) == (2, "")
        assert told in refused.err
    leadhand.open_gate()

    result = leadhand(*retry, "--subtask", "wo-001.1", "--args", '{"place": "Rome"}', "--json")

    assert result.code == 0
    assert result.json["work_orders"][1]["subtasks"][0]["args"] == {"place": "Rome"}
    assert leadhand.calls == {"Lyon": 1, "Oslo": 1, "Rome": 1}
    line = leadhand.listing()
    assert (line["completed"], line["subtasks"], line["failed"]) == (2, 2, 0), "the subtask and its repair are one"


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

    refused = leadhand("runs", "retry", run_id, *tools)
    assert (refused.code, refused.out) == (2, "")
    assert "an irreversible call" in refused.err
    assert "--yes" in refused.err
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
    assert re.search(r"^Result accepted      wo-001.0, by \w+$", result.err, re.MULTILINE)
    page = (await asyncio.to_thread(leadhand.process, "runs", "show", run_id)).out
    assert re.search(r"✓ wo-002.0  first · result supplied by \w+$", page, re.MULTILINE)


def test_what_waits_for_a_yes_is_left_out(leadhand: Any, power: Power) -> None:
    asked = "Pay 30 to Bob and pay 20 to Ann and measure the noise in Lyon"
    assert leadhand("run", "--offline", "--tools", power.tools, asked).code == 4
    run_id = leadhand.listing()["run_id"]

    first = leadhand("runs", "skip", run_id, "--subtask", "wo-001.0", "--tools", power.tools)
    assert first.code == 4, "another one waits"
    assert re.search(r"^Skipped              wo-001.0 pay_bob · 30.0, Bob: by \w+$", first.err, re.MULTILINE)
    skip = ["runs", "skip", run_id, "--subtask", "wo-001.1", "--reason", "too dear", "--tools", power.tools]
    second = leadhand(*skip)

    assert second.code == 3
    assert "Lyon: 40 dB" in second.out
    assert "skipped it: too dear" in second.out + second.err
    assert leadhand.calls == {"Lyon": 1}
    late = leadhand(*skip)
    assert (late.code, late.out) == (2, "")
    assert late.err.startswith("leadhand: wo-001.1 is dropped and cannot be skipped\n  See its subtasks: ")


def test_the_process_that_drives_the_run_does_what_another_one_asks_for(leadhand: Any, power: Power) -> None:
    run_id, driving = driven(leadhand, power)
    running = leadhand("runs", "skip", run_id, "--subtask", "wo-001.0")
    assert running.code == 2
    assert "wo-001.0 is running: pause the run first, or wait" in running.err

    result = leadhand("runs", "supply", run_id, "--subtask", "wo-001.1", "--summary", "30 dB, by ear")

    assert (result.code, result.out) == (0, "")
    watch = f"{run_id} continues in another process: leadhand runs watch {run_id}\n"
    assert result.err == f"Done: wo-001.1 has your result.\n{watch}"
    leadhand.open_gate()
    out, err = driving.communicate(timeout=90)
    assert driving.returncode == 0
    assert "30 dB, by ear" in out
    assert ": 30 dB, by ear" in err
    assert leadhand.calls == {"Rome": 1, "Oslo": 1}


def test_what_waits_for_a_yes_is_left_out_of_a_run_that_another_process_drives(leadhand: Any, power: Power) -> None:
    driving = leadhand.start("run", "--offline", "--tools", power.tools, "Pay 30 to Bob and measure the noise in Rome")
    leadhand.wait(lambda: leadhand.calls["Rome"] and leadhand("approvals", "list", "--json").json, "the question")
    run_id = leadhand.listing()["run_id"]

    result = leadhand("runs", "skip", run_id, "--subtask", "wo-001.0", "--reason", "too dear")

    assert (result.code, result.out) == (0, "")
    assert result.err.startswith("Done: wo-001.0 is skipped.\n")
    assert leadhand("approvals", "list", "--json").json == []
    leadhand.open_gate()
    out, err = driving.communicate(timeout=90)
    assert driving.returncode == 3
    assert "skipped it: too dear" in out + err
    assert leadhand.calls == {"Rome": 1}


def test_a_retry_from_another_process_goes_as_soon_as_the_order_is_over(leadhand: Any, power: Power) -> None:
    run_id, driving = driven(leadhand, power)
    power.at("Oslo", "Rome")

    result = leadhand("runs", "retry", run_id)

    assert (result.code, result.out) == (0, "")
    assert result.err.startswith("Done: retrying the failed subtasks.\n")
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
    first, second = result.err.splitlines()
    assert first == "Recorded: wo-001.1 has your result, once the paused run is resumed."
    leadhand.open_gate()
    resumed = leadhand(*second.partition(": leadhand ")[2].split())

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


def test_a_tool_that_is_missing_is_said_before_anything_is_on_record(leadhand: Any, power: Power) -> None:
    run_id = failed_in_part(leadhand, power)
    before = leadhand.listing()["last_seq"]

    for command in (["retry"], ["fork", "--at", "3"]):
        result = leadhand("runs", command[0], run_id, *command[1:])
        assert (result.code, result.out) == (6, "")
        assert "the run needs the tool measure_tool" in result.err
    assert [(run["run_id"], run["last_seq"]) for run in leadhand("runs", "list", "--json").json] == [(run_id, before)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["retry", "RUN", "--subtask", "wo-001.9"], "no subtask wo-001.9; the run has 2"),
        (["retry", "RUN", "--subtask", "first"], "is not a subtask key"),
        (["retry", "RUN", "--subtask", "wo-001.0"], "wo-001.0 was accepted"),
        (["skip", "RUN"], "--subtask is missing"),
        (["skip", "RUN", "--subtask"], "--subtask needs a value"),
        (["supply", "RUN", "--subtask", "wo-001.1", "--summary", " "], "the summary is empty"),
        (["supply", "RUN", "--subtask", "wo-001.1", "--summary", "x", "--result", "{"], "invalid JSON in --result"),
        (["supply", "RUN", "--subtask", "wo-001.0", "--summary", "x"], "wo-001.0 is already completed"),
        (["fork", "RUN"], "--at is missing"),
        (["fork", "RUN", "--at", "0"], "cannot be forked at 0"),
        (["fork", "RUN", "--at", "9999"], "cannot be forked at 9999"),
        (["retry", "run_nobody"], "no run matches 'run_nobody'"),
    ],
)
def test_what_cannot_be_is_refused_in_two_lines(leadhand: Any, power: Power, line: list[str], told: str) -> None:
    run_id = failed_in_part(leadhand, power)

    result = leadhand("runs", *(word.replace("RUN", run_id) for word in line))

    assert (result.code, result.out) == (2, "")
    what, how = result.err.splitlines()
    assert told in what
    assert how.strip()


CONFIRMATION = (
    "Waiting for confirmation  wo-001.0 find · Rome: a person has to say whether this call was made: pay_tool · 30, Bob"
)
ASSIGNED_FIRST = ev.AssignmentIssued(assignment=Assignment(assignment_id="wo-001.0", role=RoleName.WORK))


@pytest.mark.parametrize(
    ("events", "line"),
    [
        (
            [ev.EffectQuestioned(attempt="wo-001.0/a1", open_calls=(CALL,))],
            CONFIRMATION,
        ),
        (
            [ev.ApprovalRequested(approval=QUESTION), ev.ApprovalExpired(approval_id="wo-001.0/t0/c0")],
            "Approval expired     wo-001.0 find · Rome: nobody answered in time, so it is denied",
        ),
        (
            [ev.RequestDeclined(request="skip_requested", reason="wo-001.0 is under way")],
            "Request declined     skip: wo-001.0 is under way",
        ),
        (
            [ev.RetryGranted(subtasks=("wo-001.0",), args={"place": "Rome"}, by="Ann")],
            "Retry accepted       wo-001.0 with other arguments, by Ann",
        ),
        ([ev.SubtaskResolved(subtask="wo-001.0", by="Ann")], "Skipped              wo-001.0 find · Rome: by Ann"),
    ],
)
def test_what_people_and_silence_decide_is_told_in_a_line(events: list[ev.AnyEvent], line: str) -> None:
    assert steps(ASSIGNED_FIRST, *events)[-1] == line


# --- workers that work for workers -------------------------------------------------------------------------------


ASSIGNED = ev.AssignmentIssued(
    assignment=Assignment(
        assignment_id="wo-001.0/t0/c0",
        role=RoleName.WORK,
        parent="wo-001.0/a1",
        title="research_tool",
        input={"topic": "noise"},
    )
)
ORDERED = ev.WorkOrderIssued(
    order=WorkOrder(work_order_id="wo-001", goal="x", subtasks=(Subtask(name="find", args={"town": "Rome"}),))
)


def parked(attempt: str, *kinds: Literal["approval", "child", "effect"]) -> ev.AttemptParked:
    return ev.AttemptParked(attempt=attempt, open_calls=tuple(CALL.evolve(kind=kind) for kind in kinds))


def steps(*events: ev.AnyEvent) -> list[str]:
    """The lines of these events, in a run with one subtask."""
    definition = RunDefinition(request="x", flow="work-order", models=ModelChoice(default="offline"))
    progress = Progress()
    every = [ev.RunStarted(definition=definition), ORDERED, *events]
    entries = [ev.Entry(seq=n, at=datetime.now(UTC), epoch=1, event=event) for n, event in enumerate(every, 1)]
    return [str(progress.take(entry)) for entry in entries][2:]


def test_what_a_worker_waits_for_is_told_by_its_kind() -> None:
    own, other = "wo-001.0/a1", "wo-001.0/t0/c0/a1"
    told = steps(
        ASSIGNED_FIRST,
        ev.AttemptStarted(attempt=own, host="here"),
        parked(own, "child"),
        ASSIGNED,
        ev.AttemptStarted(attempt=other, host="here"),
        parked(other, "approval"),
        ev.AttemptScheduled(attempt="wo-001.0/t0/c0/a2", continues=other),
        parked("wo-001.0/t0/c0/a2", "effect", "child"),
        ev.AttemptScheduled(attempt="wo-001.0/a2", continues=own),
    )
    child = "research_tool (for find)"
    assert told[1:3] == [
        "Attempt 1 started    wo-001.0 find · Rome",
        "None",  # the work that it waits for has lines of its own
    ]
    assert [line for line in told[3:] if line != "None"] == [
        f"Attempt 1 started    {child}",
        f"Waiting              {child}: for approval: pay_tool · 30, Bob",
        f"Waiting              {child}: for confirmation of a call and for another worker: {CALLED}, {CALLED}",
    ]


def test_only_questions_are_counted_as_waiting_for_an_answer() -> None:
    second = QUESTION.evolve(approval_id="wo-001.0/t0/c1")
    asked = [ASSIGNED_FIRST, ev.ApprovalRequested(approval=QUESTION), ev.ApprovalRequested(approval=second)]
    waits = ev.RunWaiting(reason="3 waiting for an answer")
    name = QUESTION.approval_id
    yes = ev.ApprovalAnswered(approval_id=name, approve=True, args_hash=args_hash(ARGS), by="Ann")

    assert steps(*asked, waits)[-1] == "Waiting for approval  2 pending approvals"
    assert steps(*asked, yes, waits)[-1] == "Waiting for approval  1 pending approval"
    assert steps(*asked, yes.evolve(args_hash="other"), waits)[-1] == "Waiting for approval  2 pending approvals"
    left = ev.SubtaskResolved(subtask="wo-001.0", by="Ann")
    for none_left in ([yes.evolve(always=True)], [left]):
        assert steps(*asked, *none_left, waits)[-1] == "Waiting for approval  3 waiting for an answer"
