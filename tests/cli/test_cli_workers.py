"""Projects on the command line: ``leadhand init``, the workers that runs make, and how one is promoted."""

from __future__ import annotations

import errno
import os
import re
import runpy
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.terminals import Terminal, rest_of

from leadhand.app.project import manifest
from leadhand.app.project.worker_files import load_worker_file

EXAMPLE = Path(__file__).parents[2] / "examples" / "pitchdeck_eval"
EVALUATE = ("run", "--offline", "--worker", "orchestrator", "Evaluate the pitch decks")
POET = "---\nname: poet\n---\nWrite.\n"
MODULES = ("tools", "offline", "test_project")


@pytest.fixture(autouse=True)
def _own_modules() -> Iterator[None]:
    """Forget the modules of other projects: each test has a copy of its own."""
    for name in MODULES:
        sys.modules.pop(name, None)
    yield
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example project, in which commands are given."""
    left = shutil.ignore_patterns("generated", "__pycache__")
    project = Path(shutil.copytree(EXAMPLE, tmp_path / "project", ignore=left))
    monkeypatch.chdir(project)
    return project


def evaluated(leadhand: Any) -> str:
    """The id of a run that made an evaluator."""
    result = leadhand(*EVALUATE, "--approve", "auto", "--json")
    assert result.code == 0, result.err
    return result.json["run_id"]


@pytest.mark.parametrize("door", ["flag", "manifest"])
def test_a_rule_can_name_the_tool_that_makes_workers(leadhand: Any, example: Path, door: str) -> None:
    rule = ("--approve", "tool:worker_create=auto")
    if door == "manifest":
        with (example / "leadhand.toml").open("a") as file:
            file.write('\n[approve]\n"tool:worker_create" = "auto"\n')
    result = leadhand(*EVALUATE, *(rule if door == "flag" else ()), "--json")
    assert result.code == 0, result.err
    assert result.json["approvals"] == []

    wrong = leadhand(*EVALUATE, "--approve", "tool:worker_creat=never")
    assert (wrong.code, "worker_creat" in wrong.err) == (2, True)


# --- a new project ---------------------------------------------------------------------------------------------------


def test_a_new_project_works_at_once(leadhand: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written = leadhand("init", "support")
    assert (written.code, written.out.split()) == (
        0,
        ["support/leadhand.toml", "support/tools.py", "support/workers/receptionist.worker", "support/test_project.py"],
    )
    assert "cd support" in written.err
    monkeypatch.chdir(tmp_path / "support")
    assert manifest.load_project(Path()).manifest.name == "support"
    for lead in ((), ("--worker", "receptionist")):
        answered = leadhand("run", "--offline", *lead, "opening hours on Saturday")
        assert (answered.code, "10:00 to 14:00" in answered.out) == (0, True), answered.err
    tests = [test for name, test in runpy.run_path("test_project.py").items() if name.startswith("test_")]
    assert len(tests) == 2
    for number, test in enumerate(tests):
        test(tmp_path / f"home{number}")


@pytest.mark.parametrize("there", ["leadhand.toml", "tools.py", "workers/receptionist.worker", "test_project.py"])
def test_a_new_project_replaces_no_file(leadhand: Any, tmp_path: Path, there: str) -> None:
    (tmp_path / there).parent.mkdir(exist_ok=True)
    (tmp_path / there).write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    leadhand("init", str(tmp_path)).refused(str(tmp_path / there))
    assert (tmp_path / there).read_text() == "mine"
    assert sorted(tmp_path.rglob("*")) == before


def test_a_directory_that_cannot_be_written_is_named(leadhand: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    leadhand("init", str(tmp_path / "file")).refused(str(tmp_path / "file"))
    leadhand("init", str(tmp_path / "file" / "project")).refused(str(tmp_path / "file"), code="configuration")


# --- promotion -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_worker_that_a_run_made_is_known_to_later_runs_once_it_is_promoted(leadhand: Any, example: Path) -> None:
    run_id = evaluated(leadhand)
    listed = [line.split() for line in leadhand("workers", "list").out.splitlines()[1:]]
    assert [(name, source) for name, source, *_ in listed] == [
        ("orchestrator", "project"),
        ("deck_evaluator", "generated"),
    ]
    alone = ("run", "--offline", "--worker", "deck_evaluator", "decks/solar.md")
    leadhand(*alone).refused("'deck_evaluator'")
    leadhand("workers", "promote", "deck_evaluator", "--run", "nope").refused("nope")

    unasked = leadhand("workers", "promote", "deck_evaluator")
    assert (unasked.code, "--yes" in unasked.err) == (2, True)
    assert not (example / "workers" / "deck_evaluator.worker").exists()

    promoted = leadhand("workers", "promote", "deck_evaluator", "--yes")
    assert promoted.code == 0, promoted.err
    assert "+++ b/workers/deck_evaluator.worker" in promoted.err
    generated = example / "generated" / run_id / "deck_evaluator.worker"
    assert (example / "workers" / "deck_evaluator.worker").read_text() == generated.read_text()
    assert [line.split()[:2] for line in leadhand("workers", "list").out.splitlines()[1:]] == [
        ["deck_evaluator", "project"],
        ["orchestrator", "project"],
        ["deck_evaluator", "generated"],
    ]
    known = leadhand(*alone, "--json")
    assert known.json["steps"][0]["worker"] == "deck_evaluator"
    assert leadhand("workers", "promote", "deck_evaluator").code == 0, "they are the same: nothing is to do"
    reused = leadhand(*EVALUATE, "--json")
    assert (reused.code, "decks/solar.md" in reused.json["answer"]) == (0, True)


def made(example: Path, text: str) -> Path:
    """A worker poet of a run."""
    file = example / "generated" / "run_1" / "poet.worker"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return file


def test_a_worker_with_a_declared_worker_among_its_tools_is_promoted(leadhand: Any, example: Path) -> None:
    made(example, "---\nname: poet\ntools: [orchestrator]\n---\nWrite.\n")
    assert leadhand("workers", "promote", "poet", "--yes").code == 0
    assert (example / "workers" / "poet.worker").is_file()


@pytest.mark.parametrize("named", ["workers/*.worker", "workers/orchestrator.worker"])
def test_a_promotion_that_cannot_be_written_changes_nothing(
    leadhand: Any, example: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    file = example / "leadhand.toml"
    file.write_text(file.read_text().replace("workers/*.worker", named))
    made(example, POET)
    promote, refused = ("workers", "promote", "poet"), "poet.worker"
    if "*" in named:
        promote = (*promote, "--yes")
    before = {path: path.read_bytes() for path in example.rglob("*.*") if path.is_file() and path.suffix != ".pyc"}

    def failing(_source: Path, target: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))

    monkeypatch.setattr(os, "replace", failing)
    leadhand(*promote).refused(refused, code="configuration")
    assert {
        path: path.read_bytes() for path in example.rglob("*.*") if path.is_file() and path.suffix != ".pyc"
    } == before


def test_promotion_is_asked_for_on_a_terminal(leadhand: Any, example: Path, terminal: Terminal) -> None:
    made(example, POET)
    for answer, exists in (("no", False), ("yes", True)):
        child = terminal("workers", "promote", "poet")
        child.expect(re.escape("+Write."))
        child.expect(r"workers/poet.worker\?")
        child.sendline(answer)
        written = rest_of(child)
        assert (child.exitstatus, (example / "workers" / "poet.worker").exists()) == (0, exists), written


def test_workers_are_listed_with_what_is_wrong_with_them(leadhand: Any, example: Path) -> None:
    (listed,) = leadhand("workers", "list", "--json").json
    assert (listed["name"], listed["path"]) == ("orchestrator", "workers/orchestrator.worker")
    assert listed["text"] == (example / "workers" / "orchestrator.worker").read_text()
    assert listed["problem"] is None
    made(example, "---\nname: poet\ntool: []\n---\nWrite.\n")
    (example / "workers" / "bard.worker").write_text("---\nname: bard\ntools: [list_deks]\n---\nWrite.\n")
    broken = leadhand("workers", "list")
    assert str(example / "leadhand.toml") in broken.err
    assert "generated/run_1/poet.worker:3:" in broken.out
    assert all(name in broken.out for name in ("'tool'", "'list_deks'", "list_decks"))


# --- the project of a command ----------------------------------------------------------------------------------------


def test_a_command_reads_the_project_once(leadhand: Any, example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []

    def load(path: Path, **options: Any) -> Any:
        read.append(path)
        return load_worker_file(path, **options)

    monkeypatch.setattr(manifest, "load_worker_file", load)
    assert leadhand(*EVALUATE, "--approve", "auto").code == 0
    assert [file.name for file in read] == ["orchestrator.worker"]


@pytest.mark.slow
def test_a_run_in_the_background_has_the_project_of_its_command(
    leadhand: Any, example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = ("--project", str(example / "leadhand.toml"))
    started = leadhand(*EVALUATE, "--approve", "auto", "--detach", *place)
    assert started.code == 0, started.err
    leadhand.wait(lambda: leadhand.listing()["status"] != "running", "the run in the background")
    assert leadhand.listing()["status"] == "succeeded"
    assert (example / "generated" / started.out.strip() / "deck_evaluator.worker").is_file()


def test_the_line_that_resumes_a_run_names_the_project_that_was_given(
    leadhand: Any, example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    waiting = leadhand(*EVALUATE, "--project", str(example))
    assert waiting.code == 4
    assert f"--project {example}" in waiting.err


# --- a process that dies ---------------------------------------------------------------------------------------------

HOLD = """
import os
import time

from leadhand import tool


@tool
def hold() -> str:
    \"\"\"Wait for the gate.\"\"\"
    open(os.environ["GATE"] + ".waiting", "w").close()
    while not os.path.exists(os.environ["GATE"]):
        time.sleep(0.01)
    return "open"
"""
RULES = """
from leadhand.flows import Call

MADE = {"name": "poet", "instructions": "Write.", "description": "Writes."}
TURNS = [Call("worker_create", MADE), Call("hold", {}), Call("worker_call", {"worker": "poet", "input": "Write."})]


def orchestrate(facts, request):
    made = sum(message.role == "tool" for message in request.messages)
    return TURNS[made] if made < len(TURNS) else request.messages[-1].content


OFFLINE = {"orchestrator": orchestrate, "poet": lambda facts, request: "a verse"}
"""


def test_a_worker_that_was_made_is_called_by_the_process_that_takes_over(
    leadhand: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / "workers").mkdir(parents=True)
    for name, text in {
        "leadhand.toml": (
            'tools = ["hold_tools.py"]\noffline_rules = ["hold_rules.py"]\n'
            'worker_files = ["workers/*.worker"]\ngenerated_workers_dir = "generated"\n'
        ),
        "hold_tools.py": HOLD,
        "hold_rules.py": RULES,
        "workers/orchestrator.worker": (
            "---\nname: orchestrator\ntools: [hold]\ntoolsets: [dynamic_workers]\n---\nWork.\n"
        ),
    }.items():
        (project / name).write_text(text)
    monkeypatch.chdir(project)
    first = leadhand.start("run", "--offline", "--approve", "auto", "--worker", "orchestrator", "Go")
    leadhand.wait(Path(f"{tmp_path / 'gate'}.waiting").exists, "the call between creation and call")
    first.kill()
    first.wait()
    run_id = leadhand.listing()["run_id"]
    leadhand.open_gate()
    resumed = leadhand.process("runs", "resume", run_id, "--json")
    assert resumed.code == 0, resumed.err
    assert "a verse" in resumed.json["answer"]
    assert [file.name for file in (project / "generated" / run_id).iterdir()] == ["poet.worker"], "it is made once"
    events = leadhand("runs", "export", run_id, "--jsonl").out
    assert events.count('"worker_defined"') == 1


def test_tools_are_listed_with_those_of_the_project(leadhand: Any, example: Path) -> None:
    assert "list_decks" in leadhand("tools", "list").out
    assert "list_decks" not in leadhand("tools", "list", "--project", "none").out
    assert leadhand("tools", "show", "list_decks").out.startswith("list_decks")


def test_an_unknown_toolset_is_named_with_its_line(leadhand: Any, example: Path) -> None:
    manifest = example / "leadhand.toml"
    manifest.write_text(manifest.read_text() + 'toolsets = ["web", "dynamc_workers"]\n')
    line = len(manifest.read_text().splitlines())
    leadhand(*EVALUATE).refused(f"leadhand.toml:{line}:", "dynamc_workers", "dynamic_workers", code="configuration")


def test_workers_are_listed_even_if_their_tools_cannot_be_loaded(leadhand: Any, example: Path) -> None:
    (example / "tools.py").write_text("raise ValueError('broken')\n")
    broken = leadhand("workers", "list")
    assert (broken.code, "orchestrator" in broken.out, "tools.py" in broken.err) == (0, True, True)
