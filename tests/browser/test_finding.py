"""Finding runs: search, order, names and tags on the Runs screen."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from browser.serving import Served
from browser.visiting import Visitor


@pytest.mark.slow
async def test_runs_are_found_by_tag_and_words_and_sorted(served: Served, ann: Visitor) -> None:
    first = await served.started("measure Paris", name="Nightly check", tags={"team": "data", "env": "prod"})
    await served.finished(first)
    await served.finished(await served.started("measure Oslo", tags={"team": "ops"}))

    page = await ann.open(f"/runs/{first}")
    await page.get_by_role("link", name="team=data").click()

    links = page.locator("a.run-link")
    await expect(links).to_have_text(["Nightly check"])
    await page.get_by_role("button", name="Stop filtering by team=data").click()
    await expect(links).to_have_text(["measure Oslo", "Nightly check"])
    await page.get_by_role("search").get_by_label("Order").select_option("Oldest first")
    await expect(links).to_have_text(["Nightly check", "measure Oslo"])
    await page.get_by_label("Search runs").fill("paris 40")  # the answer: "Paris: 40 dB"
    await expect(links).to_have_text(["Nightly check"])
    await expect(page).to_have_url(re.compile(r"search=paris\+40"))
    await page.get_by_label("Search runs").fill("nowhere")
    await expect(page.get_by_text("No matching runs.")).to_be_visible()
    await page.get_by_role("button", name="Show all runs").click()
    await expect(links).to_have_count(2)
