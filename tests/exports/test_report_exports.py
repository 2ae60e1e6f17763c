"""A report as a page and as Markdown: the status of every sentence, citations that lead to passages, drafts, gaps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from exports.pages import Page, exported
from flows.report.reports import APPROVED, BROKEN, PASSAGES, SOUND, TOPIC, WRONG, in_turn, model, report

from leadhand import Leadhand, Source, ToolReturn, tool
from leadhand.testing.scripted_model import ScriptedModel, calls, plans, reviews, subtask


def test_the_page_of_a_revised_report_shows_everything(tmp_path: Path) -> None:
    answer = report(tmp_path, model(writer=in_turn(WRONG, SOUND)))
    html = exported(tmp_path, answer.run_id, "html")
    page = Page(html)

    page.check_harmless()
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {"passage-aaaaaaaa.1", "passage-bbbbbbbb.1", "source-1", "source-2"} <= set(ids)
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(ids)
    assert "needs 9 kW [1].✓" in page.text.replace("\n", "")
    assert "✓supported by the passages that it cites (2)" in page.text
    assert "✗not supported (0)" in page.text
    assert "○own reasoning, cites no source (0)" in page.text, "a heading states nothing"
    assert "Draft 1: needs revision" in page.text
    assert "Draft 2: approved" in page.text
    signs = [attrs for attrs in page.of("span") if "title" in attrs]
    refuted = [attrs["title"] or "" for attrs in signs if attrs["class"] == "sign unsupported"]
    assert len(refuted) == 1  # of the first draft, which is folded
    assert refuted[0].startswith("Not supported: 25: not in [1]")
    assert all(attrs["aria-label"] == attrs["title"] for attrs in signs)
    assert PASSAGES["bbbbbbbb.1"] in page.text
    assert any(link.startswith("https://example.org/b#:~:text=") for link in page.links)
    assert page.of("details")
    assert not [attrs for attrs in page.of("details") if "open" in attrs]


def test_a_report_that_stays_unsupported_is_marked_and_its_gaps_are_listed(tmp_path: Path) -> None:
    answer = report(tmp_path, model(writer=WRONG), max_revisions=0)
    page = Page(exported(tmp_path, answer.run_id, "html"))
    text = exported(tmp_path, answer.run_id, "md")

    assert "✗not supported (1)" in page.text
    assert [attrs for attrs in page.of("span") if attrs.get("class") == "unsupported"]
    assert page.text.index("Gaps") < page.text.index("Drafts and reviews")
    assert text.startswith(f"# {TOPIC}\n")
    assert "needs 25 kW [1]. *(not confirmed by its source)*" in text
    assert "1. [Source a](https://example.org/a)" in text
    assert "## Gaps\n\n- **“A heat pump in a house of 1930 needs 25 kW.”**" in text


def test_the_json_is_the_run_document(tmp_path: Path) -> None:
    answer = report(tmp_path)
    document = json.loads(exported(tmp_path, answer.run_id, "json"))

    assert document["run_id"] == answer.run_id
    assert document["task"]["final_report"] in exported(tmp_path, answer.run_id, "md")
    assert exported(tmp_path, answer.run_id, "jsonl").endswith(json.dumps({"type": "run", "document": document}) + "\n")


EVIL = "<script>alert(1)</script> [x](javascript:alert(2)) <img src=x onerror=alert(3)>"


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
    @tool
    async def measure(place: str) -> ToolReturn:
        """Measure the noise at a place."""
        return ToolReturn(
            summary="The noise in Paris is 60 dB", sources=(Source(title="Meter", url="https://example.org/meter"),)
        )

    said = "The noise in **Paris** is 60 dB [1]."
    planned = plans(subtask("noise", "measure", place="Paris"))
    scripted = ScriptedModel(plan=planned, review=reviews(accept=["wo-001.0"], answer=said))
    answer = Leadhand(home=tmp_path, models=scripted, tools=[measure]).run_sync("Noise in Paris?")
    page = Page(exported(tmp_path, answer.run_id, "html"))

    page.check_harmless()
    assert {"#source-1", "https://example.org/meter"} <= set(page.links)
    assert "The noise in **Paris**" not in page.text.partition("Sources")[0]
    text = exported(tmp_path, answer.run_id, "md")
    assert text.startswith(f"{said}\n\n## Sources\n\n1. [Meter](https://example.org/meter)\n")
