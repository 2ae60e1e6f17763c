"""Reports that are offline, lack sections, get more research, or have a writer with a small window."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from leadhand import Leadhand, RunStatus
from leadhand.domain.conversation import ModelProfile
from leadhand.testing.scripted_model import ScriptedModel, brief_of

from .reports import (
    BROKEN,
    PASSAGES,
    SOUND,
    TOPIC,
    answering,
    assignment_of,
    in_turn,
    lead,
    model,
    report,
    research,
)


@pytest.mark.slow
def test_offline_the_check_finds_wrong_citations_and_the_revision_corrects_them(home: Path) -> None:
    answer = Leadhand(offline=True, home=home).run_sync(TOPIC, flow="report")

    assert answer.status is RunStatus.SUCCEEDED
    assert "rule-based" in answer.text
    assert "ample data" in answer.text
    assert "leadhand:docs" not in answer.text, "a report on the topic that the documentation names rests on the samples"
    first, second = answer.document["task"]["drafts"]
    assert (first["verdict"], second["verdict"]) == ("NEEDS_REVISION", "APPROVED")
    assert first["findings"]
    assert first["text"] != second["text"]
    sections = second["text"].split("## ")[1:]
    assert [each.splitlines()[0] for each in sections] == ["What is known", "Costs", "Limits"]
    for section in sections:
        cited = re.findall(r"\[(p\d+)\]", section)
        assert 2 <= len(cited) <= 5
        assert len({each.split(".")[0] for each in _passages(answer, section)}) > 1
    assert "#" not in "".join(each["text"] for each in second["statements"])


def _passages(answer: Any, section: str) -> list[str]:
    statements = answer.document["task"]["drafts"][-1]["statements"]
    return [passage for each in statements if each["text"] in section for passage in each["passages"]]


@pytest.mark.slow
def test_offline_a_section_without_a_sentence_of_its_own_says_so(home: Path) -> None:
    answer = Leadhand(offline=True, home=home).run_sync("Mould on walls of damp cellars", flow="report")

    for section in answer.document["task"]["drafts"][-1]["text"].split("## ")[1:]:
        assert "[p" in section or "Nothing more was found for this section." in section


@pytest.mark.slow
def test_offline_a_stage_without_a_rule_costs_that_stage_only(home: Path) -> None:
    check = {"name": "fact-checker", "after": "writer", "instructions": "Check the facts."}
    answer = Leadhand(offline=True, home=home).run_sync(TOPIC, flow="report", agents=[check])

    assert answer.status is RunStatus.PARTIAL
    assert [draft["status"] for draft in answer.document["task"]["drafts"]] == ["completed", "completed"]
    assert [gap["name"] for gap in answer.gaps] == ["the review of the draft", "the stage fact-checker"]
    for gap in answer.gaps:
        assert gap["reason"].endswith("the built-in rule-based model has no rule for the role 'fact-checker'")
        assert gap["next_action"] == "choose a model with --model"


@pytest.mark.parametrize(
    ("draft", "missing"),
    [
        pytest.param(SOUND.split("\n\n## Costs")[0], ["Costs"], id="left out"),
        pytest.param(SOUND.replace("## Costs", "## What it costs"), [], id="longer heading"),
        pytest.param(SOUND.replace("## Costs", "## 2. Costs"), [], id="numbered heading"),
        pytest.param(SOUND.replace("## Costs", "Costs\n-----"), [], id="underlined heading"),
        pytest.param(SOUND.replace("## Costs\n\n", "## Costs\n\n### Parts\n\n"), [], id="with parts"),
        pytest.param(SOUND.replace("## Size\n", "## Size\n\n## Costs\n"), ["Size"], id="without text"),
    ],
)
def test_a_planned_section_that_the_draft_lacks_is_a_finding_of_code(
    home: Path, draft: str, missing: list[str]
) -> None:
    answer = report(home, model(writer=draft), max_revisions=0)

    findings = answer.document["task"]["feedback"]["findings"]
    assert [each["problem"] for each in findings if "of the plan" in each["problem"]] == [
        f"the section “{heading}” of the plan is missing or has no text" for heading in missing
    ]
    assert answer.status is (RunStatus.PARTIAL if missing else RunStatus.SUCCEEDED)


@pytest.mark.parametrize("by", ["retry", "supply"])
async def test_research_that_is_added_to_a_finished_report_leads_to_a_new_draft(home: Path, by: str) -> None:
    scripted = model(research_2=in_turn(BROKEN, research))
    async with lead(home, scripted) as opened:
        run = await opened.start(TOPIC, flow="report")
        assert (await run.answer()).status is RunStatus.PARTIAL
        if by == "retry":
            await run.retry(["research-2"])
        else:
            await run.supply("research-2", PASSAGES["bbbbbbbb.1"])
        answer = await run.answer()

    assert answer.status is RunStatus.SUCCEEDED
    drafts = answer.document["task"]["drafts"]
    assert drafts[-1]["research"] == ["research-1", "research-2"]
    assert drafts[-1]["revises"] is None
    assert drafts[-1]["verdict"] == "APPROVED"
    assert "18,000 euros [2]." in answer.text


class Small(ScriptedModel):
    """A model with a small window."""

    def profile(self, model: str) -> ModelProfile:
        return super().profile(model).evolve(window=4_096)


def test_a_revision_in_a_small_window_gets_the_first_problems_and_the_passages(home: Path) -> None:
    long = SOUND.replace("[p2].", "[p2]. " + "The costs are 19,000 euros [p2]. " * 12)
    scripted = Small().on(lambda _: True, always=answering(draft_1=long))
    answer = report(home, scripted)

    brief = next(brief_of(each) for each in scripted.requests if assignment_of(each) == "draft-2")
    found = len(answer.document["task"]["drafts"][0]["findings"])
    assert 1 < len(brief["problems"]) < found == 12
    assert set(brief["passages"]) == {"p1", "p2"}, "they have the other half"
    assert answer.status is RunStatus.SUCCEEDED


def test_a_writer_with_a_small_window_gets_the_first_findings_of_each_section_and_their_passages(home: Path) -> None:
    def many(request: Any) -> Any:
        said = research(request)
        return {**said, "findings": said["findings"] * 40} if isinstance(said, dict) else said

    scripted = Small().on(lambda _: True, always=answering(researcher=many))
    assert report(home, scripted).status is RunStatus.SUCCEEDED
    brief = next(brief_of(each) for each in scripted.requests if assignment_of(each) == "draft-1")
    assert [0 < len(each["statements"]) < 40 for each in brief["findings"]] == [True, True]
    assert set(brief["passages"]) == {"p1", "p2"}
    assert len(str(brief)) < 2_500
