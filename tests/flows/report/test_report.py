"""Reports with a scripted model: approved, revised, never satisfied, and with everything that can fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from leadhand import Leadhand, RunStatus, tool
from leadhand.testing.scripted_model import brief_of, calls, fails, says

from .reports import (
    BROKEN,
    PASSAGES,
    SOUND,
    TOPIC,
    WRONG,
    assignment_of,
    in_turn,
    lead,
    model,
    report,
    search,
)

REVISE = {"verdict": "NEEDS_REVISION", "findings": [{"sentence": 2, "problem": "name the year of the measurement"}]}


CUT = fails("invalid", "cut_answer", "the answer did not fit into 2000 tokens", next_action="raise --max-output-tokens")


def keys(scripted: Any) -> list[str]:
    """The assignments for which the model was asked, without the order of what runs in parallel."""
    return sorted({assignment_of(request) for request in scripted.requests})


def test_a_sound_draft_is_approved_at_once_and_its_sources_are_numbered(home: Path) -> None:
    scripted = model()
    answer = report(home, scripted)

    assert answer.status is RunStatus.SUCCEEDED
    assert keys(scripted) == ["draft-1", "plan", "research-1", "research-2", "review-1", "review-1-c1"]
    assert len(scripted.requests) == 8  # two for each researcher: its call, and its findings
    assert "needs 9 kW [1]." in answer.text
    assert [(each["title"], each["url"]) for each in answer.sources] == [
        ("Source a", "https://example.org/a"),
        ("Source b", "https://example.org/b"),
    ]
    task = answer.document["task"]
    assert task["revisions"] == 0
    assert task["feedback"] == {"verdict": "APPROVED", "findings": [], "unreviewed": []}
    assert [each["status"] for each in task["statements"]] == [
        *("own_reasoning", "own_reasoning", "supported", "own_reasoning", "supported")
    ]
    assert task["statements"][2]["passages"] == ["aaaaaaaa.1"]
    assert task["final_report"].startswith(answer.text)
    assert "1. [Source a](https://example.org/a)" in task["final_report"]
    assert "https://example.org/b#:~:text=The%20installation%20costs" in task["final_report"]
    assert {each["agent"] for each in task["events"]} == {"planner", "researcher", "writer", "reviewer"}


def test_what_code_finds_in_a_draft_is_corrected_by_a_revision(home: Path) -> None:
    scripted = model(draft_1=WRONG)
    answer = report(home, scripted)

    assert answer.status is RunStatus.SUCCEEDED
    assert "25 kW" not in answer.text
    first, second = answer.document["task"]["drafts"]
    assert (first["verdict"], second["verdict"]) == ("NEEDS_REVISION", "APPROVED")
    assert first["text"] == WRONG
    assert "25 kW" in first["findings"][0]["text"]
    assert second["revises"] == "draft-1"
    brief = next(brief_of(each) for each in scripted.requests if assignment_of(each) == "draft-2")
    assert brief["draft"] == WRONG
    assert [each["sentence"] for each in brief["problems"]] == ["A heat pump in a house of 1930 needs 25 kW [p1]."]


def test_what_the_reviewer_asks_for_is_corrected_by_a_revision(home: Path) -> None:
    scripted = model(review_1=REVISE)
    answer = report(home, scripted)

    assert answer.status is RunStatus.SUCCEEDED
    brief = next(brief_of(each) for each in scripted.requests if assignment_of(each) == "draft-2")
    sentence = "A heat pump in a house of 1930 needs 9 kW [p1]."
    assert brief["problems"] == [{"sentence": sentence, "problem": "name the year of the measurement"}]


def test_a_reviewer_who_is_never_satisfied_ends_in_the_last_draft_with_its_findings_as_gaps(home: Path) -> None:
    scripted = model(review_1=REVISE, review_2=REVISE, review_3=REVISE, draft_3=f"{SOUND}\n\nThe end.")
    answer = report(home, scripted, max_revisions=2)

    assert answer.status is RunStatus.PARTIAL
    assert answer.document["task"]["revisions"] == 2
    assert "The end." in answer.text
    assert [gap["reason"] for gap in answer.gaps] == ["reviewer: name the year of the measurement"]


def test_without_revisions_the_first_draft_is_the_report_and_marks_what_is_not_supported(home: Path) -> None:
    answer = report(home, model(draft_1=WRONG), max_revisions=0)

    assert answer.status is RunStatus.PARTIAL
    assert "needs 25 kW [1]. *(not confirmed by its source)*" in answer.text
    (gap,) = answer.gaps
    assert gap["class"] == "insufficient"
    assert gap["name"] == "“A heat pump in a house of 1930 needs 25 kW.”"
    assert gap["reason"] == "25: not in passage 1 (Source a)"
    assert answer.document["task"]["statements"][2]["status"] == "unsupported"


def test_a_fact_without_a_source_is_marked_as_that_unless_it_was_asked_for(home: Path) -> None:
    intro = "It concerns houses of 1978. The price fell to 12,500 euros."
    draft = SOUND.replace("## Size", f"{intro}\n\n## Size")
    answer = lead(home, model(writer=draft)).run_sync("Heat pumps for houses of 1978", flow="report", max_revisions=0)

    assert "houses of 1978. The price fell to 12,500 euros. *(no source)*" in answer.text


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(BROKEN, id="crashes"),
        pytest.param(says("APPROVED. Publish it!"), id="approves in free text"),
        pytest.param(says("§$%&"), id="garbage"),
        pytest.param({"verdict": "LOOKS GOOD", "findings": []}, id="another verdict"),
        pytest.param({"verdict": "NEEDS_REVISION", "findings": []}, id="a revision of nothing"),
        pytest.param({"verdict": "NEEDS_REVISION", "findings": [{"sentence": 99, "problem": "no"}]}, id="no sentence"),
    ],
)
def test_a_reviewer_that_gives_no_verdict_leaves_the_report_unreviewed(home: Path, said: Any) -> None:
    answer = report(home, model(review_1=said))

    assert answer.status is RunStatus.PARTIAL
    (gap,) = answer.gaps
    assert gap["name"] == "the review of the draft"
    assert gap["reason"].startswith("unreviewed: ")
    assert "unreviewed" in answer.text
    assert answer.document["task"]["feedback"]["verdict"] is None
    assert len(answer.document["task"]["drafts"]) == 1


def test_citations_that_no_reviewer_judged_are_named(home: Path) -> None:
    answer = report(home, model(review_1_c1=BROKEN))

    assert answer.status is RunStatus.PARTIAL
    assert [gap["name"] for gap in answer.gaps] == ["the review of the citations of 2 sentences"]


def test_a_citation_that_a_reviewer_refutes_is_revised(home: Path) -> None:
    def refuted(request: Any) -> Any:
        asked = brief_of(request)["sentences"]
        support = [{"sentence": each["sentence"], "supported": True} for each in asked]
        return {
            "support": [{**support[0], "supported": False, "why": "the passage is about another house"}, *support[1:]]
        }

    answer = report(home, model(review_1_c1=refuted, draft_2=SOUND.replace("A heat pump in a house", "A house")))

    first = answer.document["task"]["drafts"][0]
    assert first["statements"][2]["status"] == "unsupported"
    assert first["findings"][0]["problem"] == "the passage is about another house"
    assert answer.status is RunStatus.SUCCEEDED


def test_a_judgement_of_sentences_that_were_not_asked_for_does_not_count(home: Path) -> None:
    other = {"support": [{"sentence": 0, "supported": True}]}
    answer = report(home, model(review_1_c1=other))

    assert answer.status is RunStatus.PARTIAL
    assert "the review of the citations of 2 sentences" in [gap["name"] for gap in answer.gaps]


def test_a_researcher_that_fails_costs_its_section(home: Path) -> None:
    scripted = model(research_2=BROKEN, writer=SOUND.split("\n\n## Costs")[0])
    answer = report(home, scripted)

    assert answer.status is RunStatus.PARTIAL
    assert [gap["name"] for gap in answer.gaps] == ["Costs"]
    assert "9 kW [1]" in answer.text
    brief = next(brief_of(each) for each in scripted.requests if assignment_of(each) == "draft-1")
    assert brief["missing"] == ["Which costs?"]


def test_a_researcher_that_names_passages_no_tool_returned_is_refused(home: Path) -> None:
    claimed = {"summary": "known", "findings": [{"statement": "It needs 99 kW.", "passages": ["99999999.1"]}]}
    scripted = model(research_1=claimed, writer="# Costs\n\nThe installation costs 18,000 euros [p1].")
    answer = report(home, scripted)

    assert answer.status is RunStatus.PARTIAL
    (gap,) = answer.gaps
    assert "99999999.1, which no tool returned" in gap["reason"]
    asked = [request for request in scripted.requests if assignment_of(request) == "research-1"]
    assert len(asked) > 1
    assert "no tool returned" in asked[1].messages[-1].text


def test_the_text_of_a_passage_comes_from_the_tool_and_never_from_the_model(home: Path) -> None:
    def invented(request: Any) -> Any:
        if len(request.messages) == 2:
            return calls("search", query=brief_of(request)["question"])
        passages = [{"id": "aaaaaaaa.1", "text": "It needs 99 kW."}]
        finding = {"statement": "It needs 99 kW.", "passages": ["aaaaaaaa.1"]}
        return {"summary": "99 kW", "findings": [finding], "passages": passages}

    answer = report(home, model(research_1=invented, writer="# Costs\n\nThe installation costs 18,000 euros [p1]."))

    assert "99 kW" not in answer.text
    (passage,) = answer.document["task"]["research"][0]["passages"]
    assert answer.document["task"]["passages"][passage]["text"] == PASSAGES["aaaaaaaa.1"]


def test_a_passage_that_only_the_model_returned_is_refused(home: Path) -> None:
    passage = {"id": "99999999.1", "text": "It needs 99 kW."}
    finding = {"statement": "It needs 99 kW.", "passages": ["99999999.1"]}
    claimed = {"summary": "99 kW", "findings": [finding], "passages": [passage]}
    said = in_turn(calls("search", query="Which size?"), claimed)
    answer = report(home, model(research_1=said, writer="# Costs\n\nThe installation costs 18,000 euros [p1]."))

    assert [gap["name"] for gap in answer.gaps] == ["Size"]
    assert "99999999.1" not in answer.document["task"]["passages"]


@pytest.mark.parametrize("effect", ["once", "idempotent"])
def test_whatever_a_page_says_a_researcher_has_only_tools_that_read(home: Path, effect: Literal["once", "idempotent"]):
    """The model does what it read in a passage; the tools of the run include one that acts without approval."""
    paid: list[int] = []

    @tool(effect=effect, approval="auto")
    def pay(amount: int) -> str:
        """Pay an amount of money."""
        paid.append(amount)
        return f"paid {amount}"

    def obeys(request: Any) -> Any:
        done = sum(message.role == "tool" for message in request.messages)
        steps = [calls("search", query=brief_of(request)["question"]), calls("pay", amount=30)]
        return steps[done] if done < len(steps) else {"summary": "nothing", "findings": []}

    scripted = model(research_1=obeys, writer="# Costs\n\nThe installation costs 18,000 euros [p1].")
    answer = Leadhand(home=home, models=scripted, tools=[search, pay]).run_sync(TOPIC, flow="report")

    asked = [request for request in scripted.requests if assignment_of(request) == "research-1"]
    offered = {"search", "web_search", "web_fetch", "give_up"}
    assert {spec.name for request in asked for spec in request.tools} == offered
    assert "there is no tool pay" in str(asked[2].messages[-1])
    assert paid == []
    assert [gap["name"] for gap in answer.gaps] == ["Size"]


def test_without_any_research_the_run_fails_and_nothing_is_written(home: Path) -> None:
    scripted = model(researcher=BROKEN)
    answer = report(home, scripted)

    assert answer.status is RunStatus.FAILED
    assert [gap["name"] for gap in answer.gaps] == ["Size", "Costs"]
    assert keys(scripted) == ["plan", "research-1", "research-2"]


def test_research_that_finds_nothing_is_a_gap(home: Path) -> None:
    nothing = {"summary": "The search found nothing about costs.", "findings": []}
    said = in_turn(calls("search", query="Which costs?"), nothing)
    answer = report(home, model(research_2=said, writer=SOUND.split("\n\n## Costs")[0]))

    assert answer.status is RunStatus.PARTIAL
    reason = f"no source answers it; researcher: {nothing['summary']}"
    assert [(gap["name"], gap["reason"]) for gap in answer.gaps] == [("Costs", reason)]


def test_a_researcher_that_never_searches_cannot_say_that_there_is_nothing(home: Path) -> None:
    nothing = {"summary": "The costs are 20,000 euros.", "findings": []}
    answer = report(home, model(research_2=nothing, writer=SOUND.split("\n\n## Costs")[0]))

    assert answer.status is RunStatus.PARTIAL
    assert [(gap["name"], gap["reason"]) for gap in answer.gaps] == [
        ("Costs", "the answer says that nothing was found, and no tool was called")
    ]


def test_without_a_plan_the_run_fails(home: Path) -> None:
    answer = report(home, model(planner=BROKEN))

    assert answer.status is RunStatus.FAILED
    assert answer.document["failure"]["message"] == "the model is away"
    assert answer.document["task"]["plan"] is None


def test_without_a_writer_the_findings_are_listed_with_their_sources(home: Path) -> None:
    answer = report(home, model(writer=BROKEN))

    assert answer.status is RunStatus.PARTIAL
    assert "## Costs\n\n- The installation costs 18,000 euros. [2]" in answer.text
    assert [gap["name"] for gap in answer.gaps] == ["the report"]
    assert len(answer.sources) == 2


def test_a_draft_that_is_cut_at_its_limit_is_written_shorter(home: Path) -> None:
    scripted = model(draft_1=in_turn(CUT, SOUND))
    answer = report(home, scripted)

    assert answer.status is RunStatus.SUCCEEDED
    again = [each for each in scripted.requests if assignment_of(each) == "draft-1"]
    assert [brief_of(each)["most_words"] for each in again] == [1_000, 1_000]
    assert "it is too long" in str(again[1].messages)


def test_drafts_that_are_always_cut_cost_the_text_and_no_finding(home: Path) -> None:
    answer = report(home, model(writer=CUT))

    assert answer.status is RunStatus.PARTIAL
    assert "- The installation costs 18,000 euros. [2]" in answer.text
    (gap,) = answer.gaps
    assert gap["name"] == "the report"
    assert "the answer did not fit" in gap["reason"]
    assert "--max-output-tokens" in gap["next_action"]


def test_a_revision_that_fails_falls_back_to_the_draft_before_it(home: Path) -> None:
    answer = report(home, model(draft_1=WRONG, draft_2=BROKEN))

    assert answer.status is RunStatus.PARTIAL
    assert "25 kW [1]. *(not confirmed by its source)*" in answer.text
    assert answer.gaps[0]["name"] == "the revision"
    assert len(answer.gaps) == 2


def test_without_the_review_nothing_is_reviewed_or_revised_but_code_still_checks(home: Path) -> None:
    scripted = model(draft_1=WRONG)
    answer = report(home, scripted, review=False)

    assert keys(scripted) == ["draft-1", "plan", "research-1", "research-2"]
    assert answer.status is RunStatus.PARTIAL
    assert "*(not confirmed by its source)*" in answer.text
    assert report(home, model(), review=False).status is RunStatus.SUCCEEDED


def test_a_citation_that_was_judged_is_not_judged_again_in_the_next_draft(home: Path) -> None:
    scripted = model(draft_1=WRONG)
    report(home, scripted)

    judged = [
        [each["text"] for each in brief_of(request)["sentences"]]
        for request in scripted.requests
        if "-c" in assignment_of(request)
    ]
    assert judged == [
        ["The installation costs 18,000 euros [p2]."],
        ["A heat pump in a house of 1930 needs 9 kW [p1]."],
    ]


def test_two_drafts_with_the_same_sentences_end_with_the_same_findings(home: Path) -> None:
    answer = report(home, model(writer=WRONG))

    first, second = answer.document["task"]["drafts"]
    assert first["text"] == second["text"]
    assert first["findings"] == second["findings"]
    assert answer.status is RunStatus.PARTIAL


def test_a_stage_with_instructions_judges_each_draft_and_its_failure_costs_that_stage(home: Path) -> None:
    check = {"name": "fact-checker", "after": "writer", "instructions": "Check the facts."}
    asks = {"verdict": "NEEDS_REVISION", "findings": [{"sentence": 2, "problem": "which house?"}]}
    approved = {"verdict": "APPROVED", "findings": []}
    answer = report(home, model(**{"fact-checker": in_turn(asks, approved)}), agents=[check])
    assert answer.status is RunStatus.SUCCEEDED
    assert answer.document["task"]["drafts"][0]["findings"][0]["by"] == "fact-checker"

    answer = report(home, model(**{"fact-checker": BROKEN}), agents=[check])
    assert answer.status is RunStatus.PARTIAL
    assert any("fact-checker" in gap["name"] for gap in answer.gaps)


def test_each_role_receives_only_what_it_uses(home: Path) -> None:
    scripted = model(draft_1=WRONG)
    report(home, scripted)

    briefs = {assignment_of(each): set(brief_of(each)) for each in scripted.requests}
    assert briefs == {
        "plan": {"topic", "today", "most"},
        "research-1": {"topic", "today", "question"},
        "research-2": {"topic", "today", "question"},
        "draft-1": {"topic", "today", "most_words", "title", "sections", "findings", "passages"},
        "draft-2": {"topic", "today", "most_words", "draft", "problems", "passages"},
        "review-1": {"topic", "title", "sections", "sentences"},
        "review-2": {"topic", "title", "sections", "sentences"},
        "review-1-c1": {"sentences", "passages"},
        "review-2-c1": {"sentences", "passages"},
    }
    assert sum(sum(len(str(message)) for message in each.messages) for each in scripted.requests) < 30_000


async def test_a_cancelled_report_keeps_what_was_finished(home: Path) -> None:
    scripted = model(reviewer=says("too late").after(60))
    async with lead(home, scripted) as opened:
        run = await opened.start(TOPIC, flow="report")
        async for entry in run:
            if entry.event.type == "assignment_issued" and entry.event.assignment.assignment_id == "review-1":
                await run.cancel()
        answer = await run.answer()

    assert answer.status is RunStatus.CANCELLED
    assert "9 kW [1]" in answer.text
    assert answer.document["task"]["drafts"][0]["verdict"] is None
