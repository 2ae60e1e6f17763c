"""Flows and models of one's own, as the examples write them: with public names only, through every door."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import processes
import pytest

from leadhand.core.run import RunStatus

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def loaded(name: str) -> Any:
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{Path(name).stem}", EXAMPLES / name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


FLOWS = sorted(path.relative_to(EXAMPLES).as_posix() for path in (EXAMPLES / "flows").glob("*.py"))


def run(*command: str, home: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LEADHAND_")}
    environment = {**kept, "LEADHAND_HOME": str(home), "NO_COLOR": "1"}
    return processes.run([sys.executable, *command], env=environment)


@pytest.mark.parametrize(
    ("example", "printed"),
    [
        ("flows/approve_plan.py", "Lille, Hauts-de-France"),
        ("flows/ask_first.py", "In which tone shall I reply?"),
        ("flows/compare_weather.py", "is the warmest."),
        ("flows/critic.py", "A poem about the sea, draft 2."),
        ("flows/orders.py", "A-2 is sent."),
        ("flows/translate.py", "Dutch: Good morning"),
        ("own_model.py", "gninrom dooG succeeded 0.0"),
    ],
)
def test_an_example_runs_as_a_program(example: str, printed: str, tmp_path: Path):
    ran = run(str(EXAMPLES / example), home=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert printed in ran.stdout


def started(tmp_path: Path, *arguments: str, code: int = 0) -> Mapping[str, Any]:
    flow = ("--flows", str(EXAMPLES / "flows/translate.py"), "--flow", "translate")
    ran = run("-m", "leadhand", "run", "--offline", "--json", *flow, *arguments, "Good morning", home=tmp_path)
    assert ran.returncode == code, ran.stderr
    return json.loads(ran.stdout) if code == 0 else {"error": ran.stderr}


def test_a_flow_of_a_file_runs_from_the_command_line_with_its_options(tmp_path: Path):
    document = started(tmp_path, "--option", 'languages=["French", "Dutch"]')
    assert document["status"] == RunStatus.SUCCEEDED
    assert document["flow"] == "translate"
    assert [line.split(":")[0] for line in document["answer"].splitlines()] == ["French", "Dutch"]
    evidence = [event["refs"]["step"] for event in document["context_store"]["events"]]
    assert sorted(evidence) == ["translator", "translator-2"], "every result that counts is evidence of its own"


def test_a_wrong_option_is_refused_before_anything_runs(tmp_path: Path):
    for name in ("langs", "languages"):
        assert name in started(tmp_path, "--option", f"{name}=1", code=2)["error"]


def test_a_run_of_a_flow_of_ones_own_is_continued_by_other_processes_that_have_the_flow(tmp_path: Path):
    flows = ("--flows", str(EXAMPLES / "flows/translate.py"))
    words = ("run", "--offline", "--detach", "--flow", "translate", *flows, "Good morning")
    run_id = run("-m", "leadhand", *words, home=tmp_path).stdout.strip()
    watched = run("-m", "leadhand", "runs", "watch", run_id, home=tmp_path)
    assert watched.stdout.startswith("French: Good morning"), watched.stderr

    fork = ("-m", "leadhand", "runs", "fork", run_id, "--at", "5", "--json")
    without = run(*fork, home=tmp_path)
    assert (without.returncode, without.stdout) == (6, "")
    assert "translate" in without.stderr
    assert f"--flows {EXAMPLES / 'flows/translate.py'}" in without.stderr
    again = run(*fork, *flows, home=tmp_path)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["answer"].startswith("French: Good morning")


def test_a_person_answers_the_question_of_a_flow(tmp_path: Path):
    flows = ("--flows", str(EXAMPLES / "flows/ask_first.py"))
    asked = run("-m", "leadhand", "run", "--offline", "--json", "--flow", "reply", *flows, "It is late.", home=tmp_path)
    assert asked.returncode == 4, asked.stderr
    run_id = json.loads(asked.stdout)["run_id"]
    answered = run("-m", "leadhand", "answer", run_id, "formal", *flows, home=tmp_path)
    assert answered.returncode == 0, answered.stderr
    assert "In a formal tone" in answered.stdout


def test_a_plan_that_is_denied_is_followed_by_another_one(tmp_path: Path):
    flows = ("--flows", str(EXAMPLES / "flows/approve_plan.py"))
    words = ("run", "--offline", "--json", "--approve-plan", "--flow", "trip", *flows, "Paris, Lille")
    run_id = json.loads(run("-m", "leadhand", *words, home=tmp_path).stdout)["run_id"]
    shown = run("-m", "leadhand", "approvals", "list", "--json", home=tmp_path).stdout
    asked = json.loads(shown)[0]
    run("-m", "leadhand", "approvals", "deny", asked["approval_id"], "--reason", "not Paris", home=tmp_path)
    run("-m", "leadhand", "runs", "resume", run_id, *flows, home=tmp_path)
    again = json.loads(run("-m", "leadhand", "approvals", "list", "--json", home=tmp_path).stdout)[0]
    assert again["args"] == {"towns": ["Lille"]}
    run("-m", "leadhand", "approvals", "approve", again["approval_id"], home=tmp_path)
    ended = run("-m", "leadhand", "runs", "resume", run_id, "--json", *flows, home=tmp_path)
    document = json.loads(ended.stdout)
    assert (document["status"], "Lille" in document["answer"], "Paris" in document["answer"]) == (
        "succeeded",
        True,
        False,
    )


@pytest.mark.parametrize("example", FLOWS)
def test_flows_of_ones_own_are_short_and_need_public_names_only(example: str):
    text = (EXAMPLES / example).read_text()
    assert len(text.splitlines()) < 40
    imported = {node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    ours = {module for module in imported if module is not None and module.startswith("leadhand")}
    assert ours <= {"leadhand", "leadhand.flows"}
