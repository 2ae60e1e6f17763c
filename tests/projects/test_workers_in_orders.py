"""Workers of the project that a lead names in its orders: their instructions, tools, limits, input and output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from projects.conftest import declare, lead_of, requests_of

from leadhand import Limits, RunStatus, tool
from leadhand.testing.scripted_model import ScriptedModel, brief_of, calls, gives, says, subtask

GRADER = """---
name: grader
description: Grades a pitch deck.
model: offline
tools: [growth]
limits: {max_turns: 4, max_requests: 3}
input: {type: object, properties: {deck: {type: string}}, required: [deck]}
output: {type: object, properties: {percent: {type: integer}}, required: [percent]}
---
Grade the deck.
"""


@tool
def growth(deck: str) -> str:
    """Return the growth that a deck claims."""
    return f"{deck} grows by 80 %"


@tool
def other(deck: str) -> str:
    """Do something else."""
    return deck


def plan(**given: Any) -> Any:
    return gives({"goal": "grade", "subtasks": [{"name": "grade_solar", "args": {"deck": "solar.md"}, **given}]})


async def asked(folder: Path, script: ScriptedModel) -> Any:
    async with lead_of(folder, script, tools=[growth, other], limits=Limits(max_steps=1)) as lead:
        return await lead.run("Grade solar.md")


@pytest.fixture(autouse=True)
def grader(project: Path) -> None:
    (project / "workers" / "grader.worker").write_text(GRADER)


async def test_a_subtask_is_carried_out_by_the_worker_that_it_names(project: Path) -> None:
    script = ScriptedModel(plan=[plan(worker="grader")], lenient=True)
    script.on(lambda request: request.worker == "grader", calls("growth", deck="solar.md"), gives({"percent": 80}))
    answer = await asked(project, script)
    assert answer.status is RunStatus.SUCCEEDED, answer.gaps
    first = requests_of(script, "grader")[0]
    assert first.messages[0].text == "Grade the deck."
    assert first.model == "offline"
    assert [each.name for each in first.tools] == ["growth", "give_up"]
    assert first.output is not None
    assert brief_of(first)["subtask"]["args"] == {"deck": "solar.md"}
    (event,) = answer.document["context_store"]["events"]
    assert (event["agent"], event["content"]["value"]) == ("grader", {"percent": 80})
    assert answer.document["work_orders"][0]["subtasks"][0]["worker"] == "grader"


async def test_the_limits_of_the_worker_hold(project: Path) -> None:
    script = ScriptedModel(plan=[plan(worker="grader")], lenient=True)
    turns = [calls("growth", deck=f"{number}.md") for number in range(9)]
    script.on(lambda request: request.worker == "grader", *turns)
    answer = await asked(project, script)
    assert answer.status is RunStatus.FAILED
    assert len(requests_of(script, "grader")) == 3


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"worker": "gradr"}, "'gradr'"),
        ({"worker": "grader", "tool": "other"}, "other"),
        ({"worker": "grader", "args": {"file": "x"}}, '"deck"'),
    ],
    ids=["unknown", "tool", "input"],
)
async def test_what_cannot_be_carried_out_is_refused_and_planned_again(
    project: Path, given: dict[str, Any], why: str
) -> None:
    script = ScriptedModel(plan=[plan(**given), plan(worker="grader")], lenient=True)
    script.on(lambda request: request.worker == "grader", calls("growth", deck="solar.md"), gives({"percent": 80}))
    answer = await asked(project, script)
    assert answer.status is RunStatus.SUCCEEDED, answer.gaps
    again = script.asked("plan")[1].messages[-1].text
    assert why in again
    assert not any(request.worker == "grader" for request in script.requests[:2])


async def test_a_lead_learns_of_workers_only_where_there_are_any(project: Path) -> None:
    simple = subtask("look", "growth", deck="solar.md")
    bare, full = (ScriptedModel(plan=[gives({"goal": "x", "subtasks": [simple]})], lenient=True) for _ in range(2))
    await asked(project, full)
    (project / "leadhand.toml").write_text("")
    await asked(project, bare)
    without, with_ = bare.asked("plan")[0], full.asked("plan")[0]
    grader = next(each for each in brief_of(with_)["workers"] if each["name"] == "grader")
    assert (grader["name"], grader["description"]) == ("grader", "Grades a pitch deck.")
    assert grader["parameters"]["required"] == ["deck"]
    assert "workers" not in brief_of(without)
    assert without.messages[0].text in with_.messages[0].text


async def test_a_worker_without_an_input_schema_is_given_a_task(project: Path) -> None:
    declare(project, "poet", "description: Writes.", does="Write verse.")
    script = ScriptedModel(plan=[plan(worker="poet", args={"task": "roses"})], lenient=True)
    script.on(lambda request: request.worker == "poet", says("Roses are red."))
    answer = await asked(project, script)
    assert "Roses are red." in answer.text
    (sent,) = requests_of(script, "poet")
    assert brief_of(sent)["subtask"]["args"] == {"task": "roses"}
