"""The Runs screen: starting, finding and opening runs."""

from __future__ import annotations

from playwright.async_api import expect

from browser.conftest import Visitor
from browser.serving import Served


async def test_a_run_is_started_from_the_composer_and_watched_to_its_answer(served: Served, ann: Visitor) -> None:
    page = await ann.open("/")
    await page.get_by_label("What should be done?").fill("measure Paris, measure Lyon")
    await page.get_by_role("button", name="Start").click()

    await expect(page.get_by_role("heading", name="measure Paris, measure Lyon")).to_be_visible()
    await expect(page.get_by_role("listbox", name="Workers").get_by_role("option")).to_have_count(2)
    await expect(page.get_by_role("article", name="Answer")).to_contain_text("Paris: 40 dB")
