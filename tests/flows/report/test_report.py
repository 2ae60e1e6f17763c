"""Reports with a scripted model: approved, revised, never satisfied, and with everything that can fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from flows.judges import briefs, judge, step_of
from leadhand import Leadhand, RunStatus, tool
from leadhand.core.work_result import ClaimVerdict
from leadhand.testing.scripted_model import brief_of, calls, fails, says

from .reports import (
    APPROVED,
    BROKEN,
    BROKEN_MESSAGE,
    CONTRADICTED,
    PASSAGES,
    REVISE,
    SOUND,
    TOPIC,
    WRONG,
    in_turn,
    lead,
    model,
    report,
    search,
)

WITHOUT_COSTS = SOUND.split("\n\n## Costs")[0]
ONLY_COSTS = f"# Costs\n\n{PASSAGES['bbbbbbbb.1'][:-1]} [p1]."
CUT = fails("invalid", "cut_answer", "the answer did not fit into 2000 tokens", next_action="raise --max-output-tokens")


def keys(scripted: Any) -> list[str]:
    """The steps for which the model was asked, without the order of what runs in parallel."""
    return sorted({step_of(request) for request in scripted.requests})


def test_a_sound_draft_is_approved_at_once_and_its_sources_are_numbered(home: Path) -> None:
    scripted = model()
    answer = report(home, scripted)

    assert answer.status is RunStatus.SUCCEEDED
    assert keys(scripted) == ["draft-1", "plan", "research-1", "research-2", "review-1"]
    assert len(scripted.requests) == 7  # two for each researcher: its call, and its findings
    assert answer.text == SOUND.replace("[p1]", "[1]").replace("[p2]", "[2]")
    assert [(each.title, each.url) for each in answer.sources] == [
        ("Source a", "https://example.org/a"),
        ("Source b", "https://example.org/b"),
    ]
    task = answer.document["task"]
    assert task["revisions"] == 0
    assert task["feedback"] == {"verdict": "APPROVED", "findings": []}
    assert [each.get("cites") for each in task["claims"]] == [None, None, ["aaaaaaaa.1"], None, ["bbbbbbbb.1"]]
    assert {each["verdict"] for each in task["claims"]} == {ClaimVerdict.NOT_CHECKED}
    assert task["final_report"] == answer.text
    assert "https://example.org/b#:~:text=The%20installation%20costs" in task["passages"]["bbbbbbbb.1"]["link"]


def test_what_the_reviewer_asks_for_is_corrected_by_a_revision(home: Path) -> None:
    scripted = model(review_1=REVISE, draft_1=WRONG)
    answer = report(home, scripted)

    assert answer.status is RunStatus.SUCCEEDED
    first, second = answer.document["task"]["drafts"]
    assert (first["verdict"], second["verdict"]) == ("NEEDS_REVISION", "APPROVED")
    assert (first["text"], second["text"], second["number"]) == (WRONG, SOUND, 2)
    (brief,) = briefs(scripted, "draft-2")
    assert brief["draft"] == WRONG
    (problem,) = brief["problems"]
    assert (problem["statement"], problem["problem"]) == (first["claims"][2]["text"], "name the year")


def test_a_reviewer_who_is_never_satisfied_ends_in_the_last_draft_with_its_findings_as_a_gap(home: Path) -> None:
    scripted = model(reviewer=REVISE, draft_3=f"{SOUND}\n\nThe end.")
    answer = report(home, scripted, max_revisions=2)

    assert answer.status is RunStatus.PARTIAL
    assert answer.document["task"]["revisions"] == 2
    assert answer.text.endswith("The end.")
    (gap,) = answer.gaps
    assert "name the year" in gap.reason
    assert "max_revisions" in gap.next_action


# --- with a judge ----------------------------------------------------------------------------------------------------


def test_a_contradicted_claim_is_revised_once_and_the_reviewer_is_told_of_it(home: Path) -> None:
    scripted = model(draft_1=WRONG, judge=judge(CONTRADICTED))
    answer = report(home, scripted, check="judge")

    assert answer.status is RunStatus.SUCCEEDED
    told, told_again = briefs(scripted, "reviewer")
    assert [(each["judge"], each["why"]) for each in told["claims"] if "judge" in each] == [
        ("contradicted", CONTRADICTED.quote)
    ]
    assert not any("judge" in each for each in told_again["claims"])
    (revision,) = briefs(scripted, "draft-2")
    (problem,) = revision["problems"]
    assert CONTRADICTED.words in problem["statement"]
    assert CONTRADICTED.quote in problem["problem"]
    first, second = briefs(scripted, "judge")
    assert len(first["claims"]) == 5
    assert [each["text"] for each in second["claims"]] == [f"{PASSAGES['aaaaaaaa.1'][:-1]} [p1]."]
    assert first["evidence"].keys() == {"p1", "p2"}
    assert (answer.evidence.confirmed, answer.evidence.contradicted, answer.doubts) == (5, 0, ())


@pytest.mark.parametrize(("max_revisions", "drafts"), [(1, 2), (0, 1)], ids=["kept by the writer", "no revision left"])
def test_what_two_judgements_contradict_makes_a_report_partial_and_stays_as_it_was_written(
    home: Path, max_revisions: int, drafts: int
) -> None:
    scripted = model(writer=WRONG, judge=judge(CONTRADICTED))
    answer = report(home, scripted, check="judge", max_revisions=max_revisions)

    assert (answer.status, answer.gaps) == (RunStatus.PARTIAL, ())
    assert answer.text == WRONG.replace("[p1]", "[1]").replace("[p2]", "[2]")
    assert len(answer.document["task"]["drafts"]) == drafts
    assert [len(each["claims"]) for each in briefs(scripted, "judge")] == [5, 1]
    (doubt,) = answer.doubts
    assert (doubt.verdict, doubt.evidence, doubt.quote) == (ClaimVerdict.CONTRADICTED, "aaaaaaaa.1", "needs 9 kW")
    assert doubt.part in doubt.claim
    assert doubt.claim in answer.text


def test_a_contradiction_that_the_second_judgement_does_not_share_counts_no_more(home: Path) -> None:
    scripted = model(writer=WRONG, judge=in_turn(judge(CONTRADICTED), judge()))
    answer = report(home, scripted, check="judge")

    assert (answer.status, answer.evidence.confirmed) == (RunStatus.SUCCEEDED, 5)


def test_revisions_of_the_judge_and_of_the_reviewer_count_together(home: Path) -> None:
    scripted = model(draft_1=WRONG, review_2=REVISE, judge=judge(CONTRADICTED))
    answer = report(home, scripted, check="judge", max_revisions=1)

    assert len(answer.document["task"]["drafts"]) == 2
    assert (answer.status, len(answer.gaps)) == (RunStatus.PARTIAL, 1)


def test_without_the_review_a_judge_still_judges_and_causes_a_revision(home: Path) -> None:
    scripted = model(draft_1=WRONG, judge=judge(CONTRADICTED))
    answer = report(home, scripted, check="judge", review=False)

    assert answer.status is RunStatus.SUCCEEDED
    assert [len(each) for each in (briefs(scripted, "reviewer"), briefs(scripted, "draft-2"))] == [0, 1]


def test_a_draft_is_judged_once_the_stages_before_the_review_have_changed_it(home: Path) -> None:
    polisher = {"name": "polisher", "after": "writer", "instructions": "Polish it.", "gives": ["draft"]}
    scripted = model(draft_1=WRONG, polisher=SOUND, judge=judge(CONTRADICTED))
    answer = report(home, scripted, check="judge", agents=[polisher])

    assert (answer.status, answer.evidence.confirmed) == (RunStatus.SUCCEEDED, 5)
    assert len(briefs(scripted, "judge")) == 1


def test_a_judge_that_fails_leaves_the_claims_not_checked_and_the_report_succeeds(home: Path) -> None:
    answer = report(home, model(judge=BROKEN), check="judge")

    assert answer.status is RunStatus.SUCCEEDED
    assert (answer.evidence.not_checked, answer.evidence.judged_by) == (5, None)


# --- what fails ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(BROKEN, id="crashes"),
        pytest.param(says("APPROVED. Publish it!"), id="approves in free text"),
        pytest.param(says("§$%&"), id="garbage"),
        pytest.param({"verdict": "LOOKS GOOD", "findings": []}, id="another verdict"),
    ],
)
def test_a_reviewer_that_gives_no_verdict_leaves_the_report_unreviewed(home: Path, said: Any) -> None:
    answer = report(home, model(review_1=said))

    assert (answer.status, len(answer.gaps)) == (RunStatus.PARTIAL, 1)
    task = answer.document["task"]
    assert (task["feedback"]["verdict"], answer.gaps[0].step) == (None, "review-1")
    assert len(task["drafts"]) == 1


@pytest.mark.parametrize(
    ("findings", "problem"),
    [([], "the reviewer asks for a revision"), ([{"claim": 99, "problem": "no year"}], "no year")],
    ids=["nothing", "no claim"],
)
def test_a_reviewer_that_asks_for_a_revision_and_names_no_claim_means_the_draft(
    home: Path, findings: list[Any], problem: str
) -> None:
    scripted = model(review_1={"verdict": "NEEDS_REVISION", "findings": findings}, draft_1=WRONG)
    assert report(home, scripted).status is RunStatus.SUCCEEDED

    (brief,) = briefs(scripted, "draft-2")
    assert brief["problems"] == [{"statement": None, "problem": problem}]
    assert len(briefs(scripted, "reviewer")) == 2, "the reviewer was not asked again"


def test_a_researcher_that_fails_costs_its_section(home: Path) -> None:
    scripted = model(research_2=BROKEN, writer=WITHOUT_COSTS, judge=judge())
    answer = report(home, scripted, check="judge")

    assert answer.status is RunStatus.PARTIAL
    assert [gap.name for gap in answer.gaps] == ["Costs"]
    assert briefs(scripted, "judge")[0]["context"]["gaps"] == briefs(scripted, "draft-1")[0]["missing"]
    assert "9 kW [1]" in answer.text
    (brief,) = briefs(scripted, "draft-1")
    (missing,) = brief["missing"]
    assert missing.startswith("Which costs?")
    assert BROKEN_MESSAGE in missing


@pytest.mark.parametrize("searches", [False, True])
def test_a_researcher_that_names_passages_no_tool_returned_is_refused(home: Path, *, searches: bool) -> None:
    passage = {"id": "99999999.1", "text": "It needs 99 kW."}
    finding = {"statement": "It needs 99 kW.", "passages": ["99999999.1"]}
    claimed = {"summary": "99 kW", "findings": [finding], "passages": [passage]}
    said = in_turn(*([calls("search", query="Which size?")] if searches else []), claimed)
    scripted = model(research_1=said, writer=ONLY_COSTS)
    answer = report(home, scripted)

    assert answer.status is RunStatus.PARTIAL
    (gap,) = answer.gaps
    assert (gap.name, gap.class_) == ("Size", "invalid")
    assert "99999999.1" in gap.reason
    assert "99999999.1" not in answer.document["task"]["passages"]
    asked = [request for request in scripted.requests if step_of(request) == "research-1"]
    assert "99999999.1" in asked[-1].messages[-1].text


def test_the_text_of_a_passage_comes_from_the_tool_and_never_from_the_model(home: Path) -> None:
    def invented(request: Any) -> Any:
        if len(request.messages) == 2:
            return calls("search", query=brief_of(request)["question"])
        passages = [{"id": "aaaaaaaa.1", "text": "It needs 99 kW."}]
        finding = {"statement": "It needs 99 kW.", "passages": ["aaaaaaaa.1"]}
        return {"summary": "99 kW", "findings": [finding], "passages": passages}

    answer = report(home, model(research_1=invented, writer=ONLY_COSTS))

    (passage,) = answer.document["task"]["research"][0]["findings"][0]["passages"]
    assert answer.document["task"]["passages"][passage]["text"] == PASSAGES["aaaaaaaa.1"]


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

    scripted = model(research_1=obeys, writer=ONLY_COSTS)
    answer = Leadhand(home=home, models=scripted, tools=[search, pay]).run_sync(TOPIC, flow="report")

    asked = [request for request in scripted.requests if step_of(request) == "research-1"]
    offered = {"search", "web_search", "web_fetch", "give_up"}
    assert {spec.name for request in asked for spec in request.tools} == offered
    assert "pay" in str(asked[2].messages[-1])
    assert paid == []
    assert [gap.name for gap in answer.gaps] == ["Size"]


def test_without_any_research_the_run_fails_and_nothing_is_written(home: Path) -> None:
    scripted = model(researcher=BROKEN)
    answer = report(home, scripted)

    assert answer.status is RunStatus.FAILED
    assert [gap.name for gap in answer.gaps] == ["Size", "Costs"]
    assert keys(scripted) == ["plan", "research-1", "research-2"]


@pytest.mark.parametrize(("searches", "class_"), [(True, "insufficient"), (False, "invalid")])
def test_research_that_finds_nothing_is_a_gap_and_without_a_search_it_is_refused(
    home: Path, class_: str, *, searches: bool
) -> None:
    nothing = {"summary": "No costs.", "findings": []}
    said = in_turn(*([calls("search", query="Which costs?")] if searches else []), nothing)
    answer = report(home, model(research_2=said, writer=WITHOUT_COSTS))

    assert answer.status is RunStatus.PARTIAL
    (gap,) = answer.gaps
    assert (gap.name, gap.class_) == ("Costs", class_)
    assert (nothing["summary"] in gap.reason) is searches


def test_without_a_plan_the_run_fails(home: Path) -> None:
    answer = report(home, model(planner=BROKEN))

    assert answer.status is RunStatus.FAILED
    assert answer.failure is not None
    assert answer.failure.type == "bad_request"
    assert answer.document["task"]["plan"] is None


@pytest.mark.parametrize(("said", "advice"), [(BROKEN, ""), (CUT, "--max-output-tokens")], ids=["away", "always cut"])
def test_without_a_writer_the_findings_are_listed_with_their_sources(home: Path, said: Any, advice: str) -> None:
    answer = report(home, model(writer=said))

    assert answer.status is RunStatus.PARTIAL
    assert f"## Costs\n\n- {PASSAGES['bbbbbbbb.1']} [2]" in answer.text
    (gap,) = answer.gaps
    assert advice in gap.next_action
    assert len(answer.sources) == 2


def test_a_draft_that_is_cut_at_its_limit_is_written_shorter(home: Path) -> None:
    scripted = model(draft_1=in_turn(CUT, SOUND))
    answer = report(home, scripted)

    assert answer.status is RunStatus.SUCCEEDED
    assert [each["most_words"] for each in briefs(scripted, "draft-1")] == [1_000, 1_000]


def test_a_revision_that_fails_falls_back_to_the_draft_before_it(home: Path) -> None:
    answer = report(home, model(draft_1=WRONG, draft_2=BROKEN, review_1=REVISE))

    assert answer.status is RunStatus.PARTIAL
    assert "25 kW [1]." in answer.text
    assert [gap.class_ for gap in answer.gaps] == ["invalid", "insufficient"]


def test_a_stage_with_instructions_judges_each_draft_and_its_failure_costs_that_stage(home: Path) -> None:
    check = {"name": "fact-checker", "after": "writer", "instructions": "Check the facts."}
    answer = report(home, model(**{"fact-checker": in_turn(REVISE, APPROVED)}), agents=[check])
    assert answer.status is RunStatus.SUCCEEDED
    assert answer.document["task"]["drafts"][0]["findings"][0]["by"] == "fact-checker"

    answer = report(home, model(**{"fact-checker": BROKEN}), agents=[check])
    assert answer.status is RunStatus.PARTIAL
    assert any("fact-checker" in gap.name for gap in answer.gaps)


def test_each_worker_receives_only_what_it_uses(home: Path) -> None:
    scripted = model(review_1=REVISE, judge=judge())
    report(home, scripted, check="judge")

    names = ((each.worker if each.worker == "judge" else step_of(each), each) for each in scripted.requests)
    given = {name: set(brief_of(each)) for name, each in names}
    assert given == {
        "plan": {"topic", "today", "most"},
        "research-1": {"topic", "today", "question"},
        "research-2": {"topic", "today", "question"},
        "draft-1": {"topic", "today", "most_words", "title", "sections", "findings", "passages"},
        "draft-2": {"topic", "today", "most_words", "draft", "problems", "passages"},
        "judge": {"request", "claims", "evidence", "calls", "context"},
        "review-1": {"topic", "today", "title", "sections", "claims"},
        "review-2": {"topic", "today", "title", "sections", "claims"},
    }
    assert sum(sum(len(str(message)) for message in each.messages) for each in scripted.requests) < 30_000


async def test_what_a_researcher_found_is_shown_while_another_one_is_at_work(home: Path) -> None:
    async with lead(home, model(research_2=says("late").after(60))) as opened:
        run = await opened.start(TOPIC, flow="report")
        async for entry in run:
            if entry.event.type == "step_settled" and entry.event.step == "research-1":
                break
        first, second = (await run.document())["task"]["research"]
        await run.cancel()
        await run.answer()

    assert (first["findings"][0]["passages"], second["findings"]) == (["aaaaaaaa.1"], [])


async def test_a_cancelled_report_keeps_what_was_finished(home: Path) -> None:
    scripted = model(reviewer=says("late").after(60))
    async with lead(home, scripted) as opened:
        run = await opened.start(TOPIC, flow="report")
        async for entry in run:
            if entry.event.type == "step_issued" and entry.event.step.step_id == "review-1":
                await run.cancel()
        answer = await run.answer()

    assert answer.status is RunStatus.CANCELLED
    assert "9 kW [1]" in answer.text
    assert answer.document["task"]["drafts"][0]["verdict"] is None


def test_a_second_judgement_counts_also_if_a_stage_follows_it(home: Path) -> None:
    late = {"name": "late", "after": "reviewer", "instructions": "Note what is left to do."}
    answer = report(home, model(writer=WRONG, judge=judge(CONTRADICTED), late=APPROVED), check="judge", agents=[late])

    assert (answer.status, answer.evidence.contradicted) == (RunStatus.PARTIAL, 1)
