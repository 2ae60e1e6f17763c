"""Research in the console: it is started offline, its files are read, and it is followed up."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from browser.conftest import OpenServer, Visit
from browser.judging import PHONE, check_accessible, check_width

QUESTION = "How does Leadhand recover after a crash?"


@pytest.mark.slow
async def test_research_is_started_and_its_files_are_read_and_it_is_followed_up(
    serve: OpenServer, visit: Visit
) -> None:
    served = await serve(models=None, tools=None, offline=True)
    page = await (await visit(served.url)).open("/runs")
    await page.get_by_label("Flow", exact=True).select_option(label="Research")
    await page.get_by_label("Question").fill(QUESTION)
    await page.get_by_label("Max. turns").fill("20")
    await page.get_by_role("button", name="Start").click()

    answer = page.get_by_role("article", name="Answer")
    await expect(answer).to_contain_text("Sources")
    first = page.url.rpartition("/")[2]
    lanes = page.get_by_role("grid", name="Workers and their attempts over time").get_by_role("rowheader")
    await expect(lanes.first).to_contain_text("Lead")
    await expect(page.get_by_text("subagent completed").or_(page.get_by_text("subagents completed"))).to_be_visible()

    await page.get_by_role("tab", name="Artifacts (").click()
    panel = page.get_by_role("tabpanel")
    (path, *_) = [each["path"] for each in await served.get(f"/api/runs/{first}/artifacts")]
    await panel.get_by_role("button", name=path).click()
    file = panel.get_by_role("region", name=path)
    await expect(file.get_by_role("heading", name=QUESTION)).to_be_visible()  # rendered Markdown
    await expect(file).to_contain_text("sha256:")
    await check_accessible(page, within="[role=tabpanel]")
    await page.set_viewport_size(PHONE)
    await check_width(page)

    await page.get_by_role("tab", name="Answer").click()
    await page.get_by_role("textbox", name="Follow-up").fill("How does Leadhand answer approvals?")
    await check_accessible(page, within="[role=tabpanel]")
    await page.get_by_role("button", name="Start follow-up").click()
    await expect(page.get_by_role("heading", name="How does Leadhand answer approvals?", level=1)).to_be_visible()
    await page.get_by_role("link", name=QUESTION).click()
    await expect(page.get_by_role("heading", name=QUESTION, level=1)).to_be_visible()
    assert page.url.endswith(first)
    await expect(page.get_by_text("followed up by")).to_be_visible()
