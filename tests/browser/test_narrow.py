"""A run on a narrow screen: one of its parts at a time, and events in two lines."""

from __future__ import annotations

import pytest
from playwright.async_api import ViewportSize, expect

from browser.judging import PHONE, check_accessible, check_width
from browser.serving import Served
from browser.visiting import Visitor

TABLET: ViewportSize = {"width": 1024, "height": 768}


@pytest.mark.slow
async def test_a_narrow_screen_shows_one_part_of_a_run_at_a_time(served: Served, ann: Visitor) -> None:
    run_id = await served.started("measure Paris, measure Lyon")
    await served.finished(run_id)
    page = await ann.open(f"/runs/{run_id}")
    answer = page.get_by_role("article", name="Answer")
    timeline = page.get_by_role("grid", name="Workers and their attempts")
    events = page.get_by_role("grid", name="Events")
    parts = page.get_by_role("navigation", name="Parts of the run")
    await expect(answer).to_be_visible()
    await expect(timeline).to_be_visible()
    await expect(parts).to_be_hidden()  # all are beside each other

    for size in (TABLET, PHONE):
        await page.set_viewport_size(size)
        await expect(answer).to_be_visible()
        await expect(timeline).to_be_hidden()
        await expect(events).to_be_hidden()
        await parts.get_by_role("link", name="Timeline").click()
        await expect(timeline).to_be_visible()
        await expect(answer).to_be_hidden()
        await check_accessible(page)
        await check_width(page)

        await timeline.get_by_role("row").filter(has_text="Lyon").click()
        await expect(page.get_by_role("heading", name="measure_1")).to_be_visible()
        await page.go_back()
        await expect(timeline).to_be_visible()
        await parts.get_by_role("link", name="Details").click()
        await expect(answer).to_be_visible()


@pytest.mark.slow
async def test_an_event_on_a_phone_has_its_text_below_its_title(served: Served, ann: Visitor) -> None:
    run_id = await served.started("measure Paris")
    await served.finished(run_id)
    page = await ann.open(f"/runs/{run_id}?part=events")
    await page.set_viewport_size(PHONE)
    row = page.get_by_role("grid", name="Events").get_by_role("row").filter(has_text="measure: Paris: 40 dB")
    await expect(row).to_be_visible()
    title, text = [row.get_by_role("gridcell").nth(at) for at in (2, 4)]
    above, below = await title.bounding_box(), await text.bounding_box()
    assert above is not None
    assert below is not None
    assert below["y"] >= above["y"] + above["height"]
    assert await text.evaluate("cell => cell.scrollWidth <= cell.clientWidth"), "the text is cut"
    await check_accessible(page)

    following = row.locator("xpath=following-sibling::*[1]")
    one, next_ = await row.bounding_box(), await following.bounding_box()
    assert one is not None
    assert next_ is not None
    assert next_["y"] >= one["y"] + one["height"] - 1  # rows do not overlap


@pytest.mark.slow
async def test_a_waiting_run_shows_its_approvals_beside_every_part(served: Served, ann: Visitor) -> None:
    run_id = await served.started("pay Ann, measure Paris")
    await served.open_approvals(run_id)
    headline = (await served.until(run_id, "waiting"))["outcome"]["headline"]
    page = await ann.open(f"/runs/{run_id}?part=events")
    await page.set_viewport_size(PHONE)
    await expect(page.get_by_role("article", name="Allow pay: to")).to_be_visible()
    await expect(page.get_by_role("grid", name="Events")).to_be_visible()
    await expect(page.get_by_role("link", name=headline)).to_be_visible()
