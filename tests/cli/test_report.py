"""``leadhand report``: stages from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leadhand.cli.app import main

TOPIC = "Heat pumps in old houses"
CHECKS = """
from leadhand.report import Agent, AgentResult, Task, Verdict

class FactChecker(Agent):
    async def run(self, task: Task) -> AgentResult:
        self.emit("checking")
        return AgentResult(verdict=Verdict.APPROVED)

class Other(FactChecker):
    pass
"""


@pytest.fixture
def checks(tmp_path: Path) -> str:
    path = tmp_path / f"{tmp_path.name}.py"  # a module of its own
    path.write_text(CHECKS)
    return str(path)


def report(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["report", "--offline", *words])
    out, err = capsys.readouterr()
    return code, out, err


def document(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    code, out, err = report(capsys, "--json", *words)
    assert code in (0, 3), err
    return json.loads(out)


def test_a_class_of_a_file_takes_part_and_settings_of_stages_are_kept(
    capsys: pytest.CaptureFixture[str], checks: str, tmp_path: Path
):
    style = tmp_path / "style.md"
    style.write_text("Write short sentences.\n")
    home = ("--home", str(tmp_path / "home"))
    words = ("--agent", f"{checks}:FactChecker", "--max-revisions", "0", "--no-review", *home)
    given = ("--stage", f"writer.instructions=@{style}", "--stage", "fact-checker.after=researcher")
    made = document(capsys, *words, *given, "--stage", "researcher.max-requests=9", TOPIC)
    stages = [each["name"] for each in made["task"]["stages"]]
    assert stages == ["planner", "researcher", "fact-checker", "writer"]
    assert made["task"]["revisions"] == 0

    assert main(["runs", "show", made["run_id"], "--json", *home]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["task"]["stages"] == made["task"]["stages"], "a process without the class shows less"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--agent", "{checks}:FactCheker"],
            "It defines: FactChecker, Other. Did you mean",
        ),
        (["--agent", "nothing.py"], "no Python file nothing.py"),
        (["--stage", "writer"], "invalid value for --stage: 'writer'"),
        (["--stage", "writer.agent=os:system"], "invalid value for --stage"),
        (["--stage", "writer.instructions=@nothing.md"], "cannot read nothing.md"),
        (["--stage", "writter.model=x"], "there is no stage writter The built-in stages are: planner"),
        (
            ["--stage", "researcher.modle=x"],
            "researcher (option agents.0) of the flow report has no field 'modle' Choose from: name, off,",
        ),
        (["--stage", "writer.modell=x"], "max_tokens, budget. Did you mean model?"),
        (["--stage", "writer.max-turns=many"], "invalid value for the field max_turns of writer (option agents.0)"),
        (["--option", "agents=[]"], "--option agents is not for this command"),
        (["--max-revisions", "-1"], "max_revisions"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(
    capsys: pytest.CaptureFixture[str], checks: str, tmp_path: Path, words: list[str], said: str
):
    home = ("--home", str(tmp_path / "home"))
    code, _, err = report(capsys, *home, *(word.replace("{checks}", checks) for word in words), TOPIC)
    assert (code, said in " ".join(err.split())) == (2, True), err


@pytest.mark.parametrize(
    ("stage", "what", "how"),
    [
        ("reviewer.model=openai:gpt-5", "uses the model openai:gpt-5, and the run is offline", "Leave out its model"),
        (
            'researcher.tools=["web_serch"]',
            "names the tool 'web_serch', which does not exist",
            "Did you mean web_search?",
        ),
    ],
)
def test_a_stage_that_cannot_work_is_refused_before_the_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, stage: str, what: str, how: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody")
    code, out, err = report(capsys, "--stage", stage, TOPIC)
    assert (code, out) == (2, "")
    assert what in err
    assert how in err
