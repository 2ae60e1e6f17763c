"""``leadhand report``: stages from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.conftest import CommandLine

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


def test_a_class_of_a_file_takes_part_and_settings_of_stages_are_kept(
    leadhand: CommandLine, checks: str, tmp_path: Path
):
    style = tmp_path / "style.md"
    style.write_text("Write short sentences.\n")
    words = ("report", "--offline", "--json", "--agent", f"{checks}:FactChecker", "--max-revisions", "0", "--no-review")
    given = ("--stage", f"writer.instructions=@{style}", "--stage", "fact-checker.after=researcher")
    made = leadhand(*words, *given, TOPIC).json
    stages = [each["name"] for each in made["task"]["stages"]]
    assert stages == ["planner", "researcher", "fact-checker", "writer"]
    assert made["task"]["revisions"] == 0

    shown = leadhand("runs", "show", made["run_id"], "--json").json
    assert shown["task"]["stages"] == made["task"]["stages"], "a process without the class shows less"


@pytest.mark.parametrize(
    ("words", "field", "named"),
    [
        (["--agent", "{checks}:FactCheker"], "", ("FactChecker, Other",)),
        (["--agent", "nothing.py"], "", ("nothing.py",)),
        (["--stage", "writer"], "", ("--stage", "'writer'")),
        (["--stage", "writer.agent=os:system"], "", ("--stage",)),
        (["--stage", "writer.instructions=@nothing.md"], "", ("nothing.md",)),
        (["--stage", "writter.model=x"], "", ("writter", "planner, researcher, writer")),
        (["--stage", "researcher.modle=x"], "options.agents.0.modle", ("agents.0.modle", "name, after,", "model?")),
        (["--stage", "writer.model=3"], "options.agents.0.model", ("agents.0.model", "3")),
        (["--stage", "reviewer.model=openai:gpt-5"], "", ("reviewer", "openai:gpt-5")),
        (["--stage", 'researcher.tools=["web_serch"]'], "", ("researcher", "'web_serch'", "web_search")),
        (["--option", "agents=[]"], "", ("--option", "--agent")),
        (["--max-revisions", "-1"], "options.max_revisions", ("max_revisions", "-1", "0")),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(
    leadhand: CommandLine,
    checks: str,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    field: str,
    named: tuple[str, ...],
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody")
    result = leadhand("report", "--offline", *(word.replace("{checks}", checks) for word in words), TOPIC)
    result.refused(*named)
    assert getattr(result.error, "field", None) == field
