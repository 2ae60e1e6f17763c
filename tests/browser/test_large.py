"""A run of 1,000 workers and 10,000 events: the page draws few nodes and reacts at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Page, expect
from server.teams import team

from browser.conftest import Visit
from browser.judging import DESK, check_screen
from browser.long_run import EVENTS, FAILED, RUN, WORKERS, write_long_run
from browser.serving import Served

MOST_NODES = 3_000
"""Nodes of the page, the fleet's thousand shapes included."""


@pytest.mark.slow
async def test_the_page_is_accessible_and_usable_with_a_thousand_workers(visit: Visit, tmp_path: Path) -> None:
    async def ready(page: Page) -> None:
        log = page.get_by_role("grid", name="Events", include_hidden=True)  # a narrow screen shows it on request
        await expect(log).to_have_attribute("aria-rowcount", str(EVENTS))

    await write_long_run(tmp_path / "home")
    async with Served(tmp_path / "home", models=team()) as served:
        visitor = await visit(served.url, viewport=DESK)
        page = await visitor.open(f"/runs/{RUN}?worker=wo-001.7")
        await check_screen(page, ready, "run-long")
        await page.set_viewport_size(DESK)
        await check_usable(page)
        await visitor.leave()  # before the server ends


async def check_usable(page: Page) -> None:
    """Raise AssertionError if the page draws too much or does not show what is chosen."""
    log = page.get_by_role("grid", name="Events")
    await expect(log).to_have_attribute("aria-rowcount", str(EVENTS))
    await expect(page.get_by_role("listbox", name="Workers").get_by_role("option")).to_have_count(WORKERS)
    assert await page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
    assert await log.get_by_role("row").count() < 100
    assert await page.get_by_role("grid", name="Workers and their attempts").get_by_role("row").count() < 100

    # To the end of the log and back, in the page's own time.
    await log.focus()
    await page.keyboard.press("End")
    await expect(log.locator(f"[aria-rowindex='{EVENTS}']")).to_be_visible()
    await page.keyboard.press("Home")
    await expect(log.locator("[aria-rowindex='1']")).to_be_visible()
    await log.hover()
    for _ in range(5):
        await page.mouse.wheel(0, 20_000)
    await expect(log.locator("[aria-rowindex='1']")).to_have_count(0)
    await page.evaluate(
        """async () => {
          const list = document.querySelector(".log-rows");
          for (let step = 0; step < 30; step += 1) {
            list.scrollTop = step * list.scrollHeight / 30;
            await new Promise(requestAnimationFrame);
          }
        }"""
    )
    assert await log.get_by_role("row").count() < 100

    await page.get_by_role("searchbox", name="Filter events by text").fill("wo-001.777")
    await expect(log).to_have_attribute("aria-rowcount", "10")
    await page.get_by_role("searchbox", name="Filter events by text").fill("")
    await expect(log).to_have_attribute("aria-rowcount", str(EVENTS))
    await page.get_by_role("button", name="Problems", exact=True).click()
    await expect(log).not_to_have_attribute("aria-rowcount", str(EVENTS))
    assert int(await log.get_attribute("aria-rowcount") or 0) >= len(FAILED)
    await log.get_by_role("row").first.click()
    await expect(page.get_by_role("tabpanel").get_by_role("heading", name="Event ")).to_be_visible()

    await page.get_by_role("option", name="crossing 940").click()
    await expect(page.get_by_role("heading", name="crossing 940", level=2)).to_be_visible()
    await page.get_by_role("button", name="Problems first").click()
    lanes = page.get_by_role("grid", name="Workers and their attempts")
    await expect(lanes.locator("[aria-selected=true]")).to_contain_text("crossing_940")  # kept in sight
    await lanes.focus()
    await page.keyboard.press("Home")
    await expect(lanes.locator("[aria-rowindex='1']")).to_contain_text("crossing_7")
    assert await page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
