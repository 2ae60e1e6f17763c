"""Several runs are selected and deleted."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from browser.judging import check_accessible
from browser.serving import Served
from browser.visiting import Visitor


@pytest.mark.slow
async def test_selected_runs_are_deleted(served: Served, ann: Visitor) -> None:
    for _ in range(2):
        await served.finished(await served.started("measure Paris"))
    page = await ann.open("/runs")
    boxes = page.get_by_role("checkbox", name="Select measure Paris")
    await expect(boxes).to_have_count(2)
    for box in await boxes.all():
        await box.check()
    await check_accessible(page)
    await page.get_by_role("button", name="Delete (2)…").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete 2 runs").click()
    await expect(page.get_by_text("No runs yet")).to_be_visible()
    assert (await served.get("/api/runs"))["runs"] == []
