"""What the command line shows of a run whose flow a user wrote, and how that run is continued."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import CommandLine, Result

from leadhand.cli.dispatch import Exit
from leadhand.cli.terminal.progress import took

TEAM = '''
"""A caller that keeps a list and a file, delegates to two helpers, and may then pay."""
from leadhand import ToolReturn, Worker, tool
from leadhand.core.tool import Delegate, SetTodos, Todo, WriteArtifact
from leadhand.flows import Call, FlowContext, flow


@tool
def note() -> ToolReturn:
    """Take notes."""
    todos = (Todo(id="1", content="Ask the helpers", status="completed"), Todo(id="2", content="Pay"))
    files = (WriteArtifact(path="notes.md", content="a"), WriteArtifact(path="notes.md", content="ab"))
    return ToolReturn(summary="noted", asks=(SetTodos(todos=todos), *files))


@tool
def share() -> ToolReturn:
    """Share the work."""
    children = (Delegate(worker="helper", title=title, input={"part": title}) for title in ("North", "South"))
    return ToolReturn(summary="shared", asks=tuple(children))


@tool(effect="once")
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def call(facts, request):
    last = request.results[-1].content if request.results else ""
    if not last:
        return Call("note", {})
    if "noted" in last:
        return Call("share", {})
    return Call("pay", {"amount": 3}) if facts["pay"] and "paid" not in last else f"done after {last}"


def help(facts, request):
    return f"{facts['part']} is done"


caller = Worker("caller", "Call.", tools=("note", "share", "pay"))
helper = Worker("helper", "Help.", tools=())


@flow(offline={caller: call, helper: help})
async def team(run: FlowContext, pay: bool = False, places: list[str] = []):
    workers = [caller, helper]
    return await run.ask(workers[0], key="lead", pay=pay)
'''


@pytest.fixture
def team(leadhand: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file with a flow and its tools, in the working directory."""
    monkeypatch.chdir(leadhand.folder)
    path = leadhand.folder / "team.py"
    path.write_text(TEAM)
    yield path
    sys.modules.pop("team", None)


def run(leadhand: CommandLine, *flags: str) -> Result:
    return leadhand("run", "--offline", "--flow", "team", "--flows", "team.py", "--tools", "team.py", *flags, "Go")


def waiting(leadhand: CommandLine) -> str:
    """Start a run that waits for an approval; its id."""
    assert run(leadhand, "--option", "pay=true").code == Exit.WAITING
    return leadhand.listing()["run_id"]


def test_a_run_of_a_flow_of_ones_own_shows_its_steps_todos_and_artifacts(leadhand: CommandLine, team: Path):
    done = run(leadhand)
    assert done.code == Exit.ANSWERED
    for part in ("North", "South"):
        starts, ends = (line.split() for line in done.err.splitlines() if part in line)
        assert ("lead)" in starts, "lead)" in ends) == (True, True), "it is told for whom the work is done"
    shown = leadhand("runs", "show", leadhand.listing()["run_id"]).out
    assert "work order" not in shown
    lines = [line.split() for line in shown.splitlines()]
    assert ["3", "steps"] in lines
    assert ["✓", "lead", "lead", "·", "caller"] in lines
    assert [line[2:] for line in lines if line[:1] == ["✓"] and "helper" in line] == [
        ["North", "·", "helper"],
        ["South", "·", "helper"],
    ]
    assert [line[1:3] for line in lines if line[:1] in (["todo"], ["artifact"])] == [
        ["✓", "Ask"],
        ["·", "Pay"],
        ["notes.md", "2"],
    ]

    document = leadhand("runs", "show", leadhand.listing()["run_id"], "--json").json
    lead, north, south = document["steps"]
    assert {**lead, "summary": ""} == {
        "id": "lead",
        "worker": "caller",
        "title": "lead",
        "status": "completed",
        "counts": True,
        "attempts": 3,
        "summary": "",
        "failure": None,
    }
    assert lead["summary"].startswith("done after")
    assert [(each["title"], each["parent"], each["summary"]) for each in (north, south)] == [
        ("North", "lead", "North is done"),
        ("South", "lead", "South is done"),
    ]
    assert document["work_orders"] == []


def test_every_next_step_names_the_file_of_the_flow(leadhand: CommandLine, team: Path):
    run_id = waiting(leadhand)
    resume = f"leadhand runs resume {run_id} --tools team.py --flows team.py"
    assert resume in leadhand("runs", "show", run_id).out
    (pending,) = leadhand("approvals", "list", "--json").json
    assert resume in leadhand("approvals", "approve", pending["approval_id"]).err
    without = leadhand("runs", "resume", run_id, "--tools", "team.py")
    without.refused("team", f"--flows {team}", code="configuration")
    resumed = leadhand(*shlex.split(resume)[1:])
    assert (resumed.code, "paid 3" in resumed.out) == (Exit.ANSWERED, True), resumed.err


@pytest.mark.parametrize("answer", ["approve", "deny"])
def test_commands_that_act_on_a_run_take_the_file_of_its_flow(leadhand: CommandLine, team: Path, answer: str):
    run_id = waiting(leadhand)
    (pending,) = leadhand("approvals", "list", "--json").json
    flows = ("--flows", str(team))
    assert f"--flows {team}" in leadhand("approvals", answer, pending["approval_id"], *flows).err
    assert leadhand("runs", "cancel", run_id, *flows).code == Exit.ANSWERED
    assert "cancelled" in leadhand("runs", "show", run_id).out


def test_a_list_that_is_not_valid_json_is_named(leadhand: CommandLine, team: Path):
    refused = run(leadhand, "--option", "places=[Paris")
    refused.refused("team", "'[Paris'", "places", "list")
    assert getattr(refused.error, "field", "") == "options.places"


@pytest.mark.parametrize(("outcome", "seconds"), [("parked", 12.0), ("failed", 2.0)])
def test_the_time_of_work_includes_its_waits_for_answers(outcome: str, seconds: float):
    waited = {"scheduled_at": "2026-01-01T10:00:00Z", "started_at": "2026-01-01T10:00:00Z", "outcome": outcome}
    times = {"started_at": "2026-01-01T10:00:10Z", "ended_at": "2026-01-01T10:00:12Z"}
    after = {"scheduled_at": "", **times, "continues": "lead/a1"}
    part: Any = {"attempts": {"1": waited, "2": after}}
    assert took(part, datetime.now(UTC)) == seconds


TONE = '''
from leadhand.flows import FlowContext, flow


@flow
async def tone(run: FlowContext):
    """Say in which tone."""
    return await run.person("In which tone?", choices=["friendly", "formal"])
'''


@pytest.mark.parametrize(("said", "text"), [("2", "formal"), ("Friendly", "friendly")])
def test_the_number_of_a_choice_answers_a_question(leadhand: CommandLine, tmp_path: Path, said: str, text: str):
    file = tmp_path / f"tone_{said}.py"  # a module of its own
    flows = ("--flows", str(file))
    file.write_text(TONE)
    waiting = leadhand("run", "--offline", *flows, "--flow", "tone", "hello")
    assert waiting.code == Exit.WAITING
    run_id = leadhand("runs", "list", "--json").json[0]["run_id"]
    answered = leadhand("answer", run_id, said, *flows)
    assert (answered.code, answered.out.strip()) == (0, text)
