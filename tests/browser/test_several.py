"""Several runs: select them, compare two, chart them, delete them."""

from __future__ import annotations

import pytest
from playwright.async_api import expect
from server.teams import Office

from browser.judging import check_accessible, check_width
from browser.serving import Served
from browser.visiting import Visitor


@pytest.mark.slow
async def test_two_runs_are_compared_and_runs_are_deleted(served: Served, ann: Visitor, office: Office) -> None:
    first = await served.started("measure Paris, measure Oslo")
    await served.finished(first)
    office.broken.clear()
    second = await served.started("measure Paris, measure Oslo", limits={"budget": 0.5})
    await served.finished(second)

    page = await ann.open("/runs?chart=time")
    await expect(page.get_by_role("figure")).to_contain_text("2 runs")
    boxes = page.get_by_role("checkbox", name="Select measure Paris")
    await expect(boxes).to_have_count(2)
    for box in await boxes.all():
        await box.check()
    await check_accessible(page)
    await page.get_by_role("link", name="Compare").click()
    subtasks = page.get_by_role("group", name="Subtasks")
    await expect(subtasks.get_by_role("row", name="measure_1")).to_contain_text("the microphone is broken")
    await expect(subtasks.get_by_role("row", name="measure_1")).to_contain_text("Oslo: 40 dB")
    await expect(page.get_by_role("row", name="Limits")).to_contain_text("budget_usd 0.5")
    await expect(page.get_by_role("group", name="Changes from answer A to answer B")).to_be_visible()
    await check_accessible(page)
    await page.set_viewport_size({"width": 360, "height": 740})
    await check_width(page)

    await page.get_by_role("link", name="Runs", exact=True).click()
    boxes = page.get_by_role("checkbox", name="Select measure Paris")
    await expect(boxes).to_have_count(2)
    for box in await boxes.all():
        await box.check()
    await page.get_by_role("button", name="Delete (2)…").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete 2 runs").click()
    await expect(page.get_by_text("No runs yet")).to_be_visible()
    assert (await served.get("/api/runs"))["runs"] == []
