"""A report in the console: its stages are set, it is started, and its sentences, citations and revisions are shown."""

from __future__ import annotations

import pytest
from flows.report.reports import APPROVED, WRONG, in_turn, model, search
from playwright.async_api import Page, expect

from browser.conftest import OpenServer, Visit
from browser.judging import PHONE, check_accessible, check_width
from leadhand.report import Agent, AgentResult, Task, Verdict

UNSURE = {"verdict": "NEEDS_REVISION", "findings": [{"sentence": 2, "problem": "25 kW is the power of a boiler"}]}


@pytest.mark.slow
async def test_stages_are_set_and_a_report_shows_its_sentences_and_its_revision(
    serve: OpenServer, visit: Visit
) -> None:
    scripted = model(draft_1=WRONG, **{"fact-checker": in_turn(UNSURE, APPROVED)})
    served = await serve(models=scripted, tools=[search])
    visitor = await visit(served.url)
    visitor.watch.allow(r"\b422\b")
    page = await visitor.open("/agents?role=report.reviewer")

    await page.get_by_role("button", name="Switch off report.reviewer").click()
    await expect(page.get_by_role("button", name="Switch on report.reviewer")).to_be_visible()
    await page.get_by_role("button", name="Add stage…").click()
    form = page.get_by_role("form", name="New stage")
    await form.get_by_label("Name").fill("fact-checker")
    await form.get_by_label("Instructions").fill("Check that every date is in a cited passage.")
    await form.get_by_role("button", name="Add stage").click()
    stages = page.get_by_role("region", name="Report").get_by_role("list").first.locator("> li > details > summary")
    await expect(stages).to_contain_text(["planner", "researcher", "writer", "fact-checker", "reviewer"])
    await expect(page.get_by_role("button", name="Remove report.fact-checker")).to_be_visible()

    await page.get_by_role("link", name="Runs").click()
    await page.get_by_label("Flow", exact=True).select_option(label="Report")
    await page.get_by_label("Topic").fill("Heat pumps in old houses")
    await page.get_by_label("Max. revisions").fill("1")
    await page.get_by_role("button", name="Add stage").click()
    stage = page.get_by_role("group", name="Stage 1")
    await stage.get_by_label("Name").fill("Editor in chief")
    await stage.get_by_label("Instructions").fill("Judge the style.")
    await page.get_by_role("button", name="Start").click()
    await expect(stage.get_by_label("Name")).to_have_attribute("aria-invalid", "true")
    await page.get_by_role("button", name="Remove stage 1").click()
    await page.get_by_role("button", name="Start").click()

    await expect(page.get_by_role("list", name="Stages").get_by_role("listitem")).to_contain_text(
        ["Plan", "Research", "Draft", "fact-checker", "Revision 1", "fact-checker", "Final report"]
    )
    await _check_report(page)
    await _check_revision(page)


async def _check_report(page: Page) -> None:
    report = page.get_by_role("article", name="Final report")
    await expect(report).to_contain_text("approved")
    await expect(report.get_by_role("img", name="Supported").first).to_be_visible()
    await expect(report.get_by_role("list", name="Support of the sentences")).to_contain_text(
        "Supported the cited passages hold it; 2 sentences"
    )
    citation = report.get_by_role("button", name="Source 1").first
    await citation.click()
    passages = page.get_by_role("complementary", name="Cited passages")
    await expect(passages).to_be_focused()
    await expect(passages.get_by_role("blockquote")).to_have_text("A heat pump in a house of 1930 needs 9 kW.")
    await check_accessible(page)
    await page.keyboard.press("Escape")
    await expect(citation).to_be_focused()
    await expect(passages).to_have_count(0)


async def _check_revision(page: Page) -> None:
    await page.get_by_role("tab", name="Revisions").click()
    panel = page.get_by_role("tabpanel")
    first = panel.get_by_role("region", name="Draft 1", exact=True)
    await expect(first).to_contain_text("Needs revision")
    findings = first.get_by_role("listitem")
    await expect(findings.filter(has_text="citation check")).to_contain_text("needs 25 kW")
    await expect(findings.filter(has_text="the power of a boiler")).to_contain_text("fact-checker")
    changes = panel.get_by_role("group", name="Changes from draft 1 to draft 2")
    await expect(changes.get_by_role("deletion").first).to_have_text("25")
    await expect(changes.get_by_role("insertion").first).to_have_text("9")
    await check_accessible(page, within="[role=tabpanel]")
    await page.emulate_media(color_scheme="dark")
    await check_accessible(page, "color-contrast", within="[role=tabpanel]")
    await page.set_viewport_size(PHONE)
    await check_width(page)


class FactChecker(Agent):
    """Check that the draft has figures."""

    async def run(self, task: Task) -> AgentResult:
        self.emit("looked for figures")
        return AgentResult(verdict=Verdict.APPROVED)


class ShortWriter(Agent):
    """Write one sentence."""

    gives = ("draft",)

    async def run(self, task: Task) -> AgentResult:
        return AgentResult(updates={"draft": "# Heat pumps\n\nA heat pump in a house of 1930 needs 9 kW [p1]."})


@pytest.mark.slow
async def test_python_classes_are_chosen_for_all_reports_and_for_one(serve: OpenServer, visit: Visit) -> None:
    served = await serve(models=model(), tools=[search], agents=[FactChecker, ShortWriter])
    visitor = await visit(served.url)
    page = await visitor.open("/agents?role=report.writer")

    await page.get_by_role("button", name="Edit report.writer").click()
    form = page.get_by_role("form", name="Edit report.writer")
    await form.get_by_label("Carried out by").select_option(label="Class short-writer")
    await expect(form).to_contain_text("Write one sentence. From ")
    await check_accessible(page)
    await form.get_by_role("button", name="Save").click()
    writer = page.get_by_role("region", name="Report").get_by_role("listitem").filter(has_text="Write one sentence.")
    await expect(writer).to_contain_text("Class short-writer from ")

    await page.get_by_role("link", name="Runs").click()
    await page.get_by_label("Flow", exact=True).select_option(label="Report")
    await page.get_by_label("Topic").fill("Heat pumps in old houses")
    await page.get_by_role("button", name="Add stage").click()
    stage = page.get_by_role("group", name="Stage 1")
    await stage.get_by_label("Carried out by").select_option(label="Class fact-checker")
    await expect(stage.get_by_label("Name")).to_have_value("fact-checker")
    await expect(stage).to_contain_text("Check that the draft has figures.")
    await page.get_by_role("button", name="Start").click()

    await expect(page.get_by_role("list", name="Stages").get_by_role("listitem")).to_contain_text(
        ["Plan", "Research", "Draft", "fact-checker", "Review", "Final report"]
    )
    report = page.get_by_role("article", name="Final report")
    await expect(report).to_contain_text("needs 9 kW")
    await expect(report).not_to_contain_text("18,000")
    runs = (await served.get("/api/runs"))["runs"]
    events = (await served.get(f"/api/runs/{runs[0]['run_id']}/events", limit=1_000))["events"]
    named = {
        role["name"]: role["code"].rpartition(":")[2] for role in events[0]["definition"]["roles"] if role.get("code")
    }
    assert named == {"writer": "ShortWriter", "fact-checker": "FactChecker"}
