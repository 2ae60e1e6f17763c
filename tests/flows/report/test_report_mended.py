"""Reports that are offline, lack sections, get more research, or have a writer with a small window."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from flows.judges import briefs
from leadhand import Leadhand, RunStatus
from leadhand.flows.report.offline import NOTHING_ELSE, SECTIONS
from leadhand.ports.models import ModelProfile
from leadhand.testing.scripted_model import ScriptedModel

from .reports import BROKEN, PASSAGES, TOPIC, answering, in_turn, lead, model, report, research


def test_offline_each_section_copies_sentences_of_several_sources(home: Path) -> None:
    answer = Leadhand(model="offline", home=home).run_sync(TOPIC, flow="report")

    assert answer.status is RunStatus.SUCCEEDED
    assert answer.document["sample"]
    assert all(each.url.startswith("leadhand:samples/") for each in answer.sources), "the documentation names the topic"
    (draft,) = answer.document["task"]["drafts"]
    assert draft["verdict"] == "APPROVED"
    sections = answer.text.split("## ")[1:]
    assert [each.splitlines()[0] for each in sections] == [heading for heading, _ in SECTIONS]
    for section in sections:
        cited = re.findall(r"\[(\d+)\]", section)
        assert 2 <= len(cited) <= 5
        assert len(set(cited)) > 1


@pytest.mark.slow
def test_offline_a_section_without_a_sentence_of_its_own_says_so(home: Path) -> None:
    answer = Leadhand(model="offline", home=home).run_sync("Mould on walls of damp cellars", flow="report")

    for section in answer.document["task"]["drafts"][-1]["text"].split("## ")[1:]:
        assert ("[p" in section) is (NOTHING_ELSE not in section)


def test_offline_a_stage_without_a_rule_costs_that_stage_only(home: Path) -> None:
    check = {"name": "fact-checker", "after": "writer", "instructions": "Check the facts."}
    answer = Leadhand(model="offline", home=home).run_sync(TOPIC, flow="report", agents=[check])

    assert answer.status is RunStatus.PARTIAL
    assert len(answer.document["task"]["drafts"]) == 1
    for gap in answer.gaps:
        assert gap.class_ == "unavailable"
        assert "'fact-checker'" in gap.reason
        assert "--model" in gap.next_action


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
    assert [(each["number"], each["verdict"]) for each in drafts] == [(1, "APPROVED")]
    assert len(briefs(scripted, "reviewer")) == 2, "what was missing is not missing any more"
    assert "18,000 euros [2]." in answer.text


class Small(ScriptedModel):
    """A model with a small window."""

    def profile(self, model: str) -> ModelProfile:
        return super().profile(model).evolve(window=4_096)


def test_a_revision_in_a_small_window_gets_the_first_problems_and_the_passages(home: Path) -> None:
    findings = [{"claim": 3, "problem": "name the year " * 12} for _ in range(12)]
    review = {"verdict": "NEEDS_REVISION", "findings": findings}
    scripted = Small().on(lambda _: True, always=answering(review_1=review))
    answer = report(home, scripted)

    (brief,) = briefs(scripted, "draft-2")
    assert 1 < len(brief["problems"]) < len(answer.document["task"]["drafts"][0]["findings"]) == 12
    assert set(brief["passages"]) == {"p1", "p2"}, "they have the other half"
    assert answer.status is RunStatus.SUCCEEDED


def test_a_writer_with_a_small_window_gets_the_first_findings_of_each_section_and_their_passages(home: Path) -> None:
    def many(request: Any) -> Any:
        said = research(request)
        return {**said, "findings": said["findings"] * 40} if isinstance(said, dict) else said

    scripted = Small().on(lambda _: True, always=answering(researcher=many))
    assert report(home, scripted).status is RunStatus.SUCCEEDED
    (brief,) = briefs(scripted, "draft-1")
    assert [0 < len(each["statements"]) < 40 for each in brief["findings"]] == [True, True]
    assert set(brief["passages"]) == {"p1", "p2"}
    assert len(str(brief)) < 2_500
