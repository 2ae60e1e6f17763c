"""A run as a page and as Markdown: the verdict on every claim, citations that lead to sources and passages, gaps."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from exports.pages import Page, exported
from flows.report.reports import APPROVED, BROKEN, PASSAGES, SOUND, TOPIC, WRONG, in_turn, lead, model, report
from golden import check_golden, normalized

from leadhand import Leadhand, RunStatus, Source, ToolError, ToolReturn, tool
from leadhand.testing.scripted_model import ScriptedModel, calls, judges, plans, reviews, says, subtask

EVIL = "<script>alert(1)</script> [x](javascript:alert(2)) <img src=x onerror=alert(3)>"
GOLDEN = Path(__file__).parent / "golden"


def test_the_page_of_a_revised_report_shows_everything(tmp_path: Path) -> None:
    false = {"part": "25 kW", "why": "The passage says 9.", "evidence": "p1", "quote": "needs 9 kW"}
    open_ = {"part": "18,000", "verdict": "unconfirmed", "why": f"Nobody checked. {EVIL}"}
    scripted = model(writer=in_turn(WRONG, SOUND), judge=judges(false, open_))
    answer = lead(tmp_path, scripted, check="judge").run_sync(TOPIC, flow="report")
    html = exported(tmp_path, answer.run_id, "html")
    page = Page(html)

    page.check_harmless()
    assert [len(each["findings"]) for each in answer.document["task"]["drafts"]] == [1, 0]
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {"source-1", "source-2"} <= set(ids)
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(ids)
    signs = [kind for attrs in page.of("span") if (kind := attrs.get("class") or "").startswith("sign ")]
    assert {*signs} == {"sign confirmed", "sign unconfirmed"}
    assert len(signs) == len(answer.document["claims"])
    assert {"#source-1", "#source-2"} <= set(page.links)
    assert PASSAGES["bbbbbbbb.1"] in page.text
    assert any(link.startswith("https://example.org/b#:~:text=") for link in page.links)


def test_a_report_that_stays_contradicted_is_delivered_with_its_doubts(tmp_path: Path) -> None:
    false = {"part": "25 kW", "why": "The passage says 9.", "evidence": "p1", "quote": "needs 9 kW"}
    scripted = model(writer=WRONG, judge=judges(false))
    answer = lead(tmp_path, scripted, check="judge").run_sync(TOPIC, flow="report")
    page = Page(exported(tmp_path, answer.run_id, "html"))
    text = exported(tmp_path, answer.run_id, "md")

    assert answer.status is RunStatus.PARTIAL
    assert [attrs for attrs in page.of("span") if attrs.get("class") == "sign contradicted"]
    assert text.startswith(f"# {TOPIC}\n")
    assert "25 kW [1]." in text
    assert "https://example.org/a" in text
    for door in (text, page.text, str(answer)):
        assert "The passage says 9." in door


def test_a_draft_is_approved_once_a_second_opinion_takes_its_contradiction_back(tmp_path: Path) -> None:
    false = {"part": "25 kW", "why": "The passage says 9.", "evidence": "p1", "quote": "needs 9 kW"}
    scripted = model(writer=WRONG, judge=in_turn(judges(false), judges()))
    answer = lead(tmp_path, scripted, check="judge").run_sync(TOPIC, flow="report", max_revisions=0)

    (draft,) = answer.document["task"]["drafts"]
    assert {claim["verdict"] for claim in draft["claims"]} == {"confirmed"}
    assert (draft["verdict"], draft["findings"], answer.status) == ("APPROVED", [], RunStatus.SUCCEEDED)


def test_the_json_is_the_run_document(tmp_path: Path) -> None:
    answer = report(tmp_path)
    document = json.loads(exported(tmp_path, answer.run_id, "json"))

    assert document["run_id"] == answer.run_id
    assert document["task"]["final_report"] in exported(tmp_path, answer.run_id, "md")
    assert exported(tmp_path, answer.run_id, "jsonl").endswith(json.dumps({"type": "run", "document": document}) + "\n")


@tool
async def search(query: str) -> ToolReturn:
    """Find sources."""
    passage = {"id": "aaaaaaaa.1", "text": f"A pump needs 9 kW. {EVIL}"}
    found = {
        "title": f"{EVIL}](javascript:1)",
        "url": "javascript:alert(4)",
        "source": "aaaaaaaa",
        "passages": [passage],
    }
    return ToolReturn.model_validate({"raw": {"results": [found]}, "summary": EVIL})


def test_hostile_sources_and_models_add_no_markup(tmp_path: Path) -> None:
    found = {"summary": EVIL, "findings": [{"statement": EVIL, "passages": ["aaaaaaaa.1"]}]}
    finding = {"sentence": None, "problem": EVIL}

    def research(request: Any) -> Any:
        return calls("search", query="size") if len(request.messages) == 2 else found

    scripted = model(
        planner={"title": EVIL, "sections": [{"heading": EVIL, "question": EVIL}]},
        researcher=research,
        writer=f"# {EVIL}\n\nA pump needs 9 kW [p1]. {EVIL}. [see [p1]](https://example.org/) [p1](javascript:a(5))",
        review_1={"verdict": "NEEDS_REVISION", "findings": [finding]},
        reviewer=APPROVED,
    )
    lead = Leadhand(home=tmp_path, models=scripted, tools=[search])
    answer = lead.run_sync(f"{EVIL} {'long ' * 50}", flow="report", max_revisions=0)

    page = Page(exported(tmp_path, answer.run_id, "html"))
    page.check_harmless()
    assert not page.of("script")
    assert "alert(1)" in page.text
    markdown = exported(tmp_path, answer.run_id, "md")
    assert "](javascript:alert(4)" not in markdown
    assert "\\](javascript:1)" in markdown  # the title of the source: its bracket is escaped


def test_a_report_without_a_draft_shows_its_findings(tmp_path: Path) -> None:
    answer = report(tmp_path, model(writer=BROKEN))
    page = Page(exported(tmp_path, answer.run_id, "html"))

    page.check_harmless()
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(ids)
    assert PASSAGES["aaaaaaaa.1"] in page.text
    assert PASSAGES["aaaaaaaa.1"] in exported(tmp_path, answer.run_id, "md").replace("\\", "")


def test_any_answer_is_rendered_and_its_citations_lead_to_its_sources(tmp_path: Path) -> None:
    """The golden files keep the wording of the exports and of the answer as text."""

    @tool
    async def measure(place: str) -> ToolReturn:
        """Measure the noise at a place."""
        return ToolReturn(summary=f"{place}: 60 dB", sources=(Source(title="Meter", url="https://example.org/meter"),))

    @tool(effect="once")
    async def book(place: str) -> ToolReturn:
        """Book a room."""
        return ToolReturn(summary=f"a room in {place} is booked")

    @tool
    async def count(place: str) -> ToolReturn:
        """Count the trees at a place."""
        raise ToolError("no count for Paris", type="not_found", class_="unavailable")

    said = "**Paris**: 60 dB [1], and a room in Paris is booked."
    planned = plans(*(subtask(each.name, each.name, place="Paris") for each in (measure, book, count)))
    review = reviews(accept=["wo-001.0", "wo-001.1"], drop={"wo-001.2": "not known"})
    scripted = ScriptedModel(plan=planned, review=review, compose=says(said))
    lead = Leadhand(home=tmp_path, models=scripted, tools=[measure, book, count], approve="auto")
    answer = lead.run_sync("How loud is Paris?", name="Noise")
    html, text = (exported(tmp_path, answer.run_id, format) for format in ("html", "md"))
    page = Page(html)

    page.check_harmless()
    assert {"#source-1", "https://example.org/meter"} <= set(page.links)
    assert re.findall(r"<strong>(\w+)</strong>", html) == ["Paris", "count"]  # of the answer, and the name of the gap
    assert text.startswith(said)
    cut = {"(?s)<style>.*?</style>": "<style></style>"}
    check_golden(GOLDEN / "answer.html", normalized(html, cut))
    check_golden(GOLDEN / "answer.md", normalized(text))
    check_golden(GOLDEN / "answer.txt", normalized(str(answer)))
