"""A report in the console: it is started with stages, and its claims, citations and revisions are shown."""

from __future__ import annotations

import pytest
from flows.report.reports import APPROVED, WRONG, in_turn, model, search
from playwright.async_api import Page, expect

from browser.conftest import OpenServer, Visit
from browser.judging import PHONE, check_accessible, check_width
from leadhand.report import Agent, AgentResult, Task, Verdict
from leadhand.testing.scripted_model import judges

UNSURE = {"verdict": "NEEDS_REVISION", "findings": [{"claim": 3, "problem": "25 kW is the power of a boiler"}]}
TOO_MUCH = {"part": "25 kW", "why": "The passage says another power.", "evidence": "p1", "quote": "9 kW"}
DEAR = {"verdict": "unconfirmed", "part": "18,000 euros", "why": "The year is not stated."}


@pytest.mark.slow
async def test_a_report_with_an_added_stage_shows_verdicts_passages_and_its_revision(
    serve: OpenServer, visit: Visit
) -> None:
    judge = judges(TOO_MUCH, DEAR)
    scripted = model(draft_1=WRONG, judge=judge, **{"fact-checker": in_turn(UNSURE, APPROVED)})
    served = await serve(models=scripted, tools=[search], check="judge")
    visitor = await visit(served.url)
    visitor.watch.allow(r"\b409\b")
    page = await visitor.open("/runs")
    await page.get_by_label("Flow", exact=True).select_option(label="Report")
    await page.get_by_label("Topic").fill("Heat pumps in old houses")
    await page.get_by_label("Max. revisions").fill("1")
    await page.get_by_label("Review").select_option("no")
    await page.get_by_role("button", name="Add stage").click()
    stage = page.get_by_role("group", name="Stage 1")
    await stage.get_by_label("Name").fill("Fact checker")
    await stage.get_by_label("Instructions").fill("Check that every date is in a cited passage.")
    await page.get_by_role("button", name="Start").click()
    await expect(stage.get_by_label("Name")).to_have_attribute("aria-invalid", "true")
    await stage.get_by_label("Name").fill("fact-checker")
    await page.get_by_role("button", name="Start").click()

    await expect(page.get_by_role("list", name="Stages").get_by_role("listitem")).to_contain_text(
        ["Plan", "Research", "Draft", "fact-checker", "Final report"]
    )
    await _check_report(page)
    await _check_revision(page)


async def _check_report(page: Page) -> None:
    report = page.get_by_role("article", name="Final report")
    await expect(report).to_contain_text("approved")
    await expect(report.get_by_role("img", name="Confirmed").first).to_be_visible()
    await expect(page.get_by_role("list", name="Doubts").get_by_role("listitem")).to_contain_text([DEAR["why"]])
    passages = page.get_by_role("complementary", name="Cited passages")
    doubt = report.get_by_role("button", name="Show why")
    await doubt.click()
    await expect(passages).to_contain_text(DEAR["why"])
    await expect(passages.get_by_role("blockquote")).to_have_text("The installation costs 18,000 euros.")
    await page.keyboard.press("Escape")
    citation = report.get_by_role("button", name="Source 1").first
    await citation.click()
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
    await expect(findings.filter(has_text=TOO_MUCH["why"])).to_contain_text("needs 25 kW")
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
async def test_python_classes_are_chosen_for_one_report(serve: OpenServer, visit: Visit) -> None:
    served = await serve(models=model(), tools=[search], agents=[FactChecker, ShortWriter])
    page = await (await visit(served.url)).open("/runs")
    await page.get_by_label("Flow", exact=True).select_option(label="Report")
    await page.get_by_label("Topic").fill("Heat pumps in old houses")
    await page.get_by_role("button", name="Add stage").click()
    stage = page.get_by_role("group", name="Stage 1")
    await stage.get_by_label("Carried out by").select_option(label="fact-checker")
    await expect(stage.get_by_label("Name")).to_have_value("fact-checker")
    await expect(stage).to_contain_text("Check that the draft has figures.")
    await page.get_by_role("button", name="Add stage").click()
    writer = page.get_by_role("group", name="Stage 2")
    await writer.get_by_label("Name").fill("writer")
    await writer.get_by_label("Carried out by").select_option(label="short-writer")
    await page.get_by_role("button", name="Start").click()

    await expect(page.get_by_role("list", name="Stages").get_by_role("listitem")).to_contain_text(
        ["Plan", "Research", "Draft", "fact-checker", "Review", "Final report"]
    )
    report = page.get_by_role("article", name="Final report")
    await expect(report).to_contain_text("needs 9 kW")
    await expect(report).not_to_contain_text("18,000")
    runs = (await served.get("/api/runs"))["runs"]
    events = (await served.get(f"/api/runs/{runs[0]['run_id']}/events", limit=1_000))["events"]
    workers = [each for each in events[0]["definition"]["workers"] if each.get("code")]
    named = {each["name"]: each["code"].rpartition(":")[2] for each in workers}
    assert named == {"writer": "ShortWriter", "fact-checker": "FactChecker"}
