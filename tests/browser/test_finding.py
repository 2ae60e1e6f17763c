"""Finding runs: search, order, names and tags on the Runs screen, and notifications while the tab is hidden."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from browser.serving import Served
from browser.visiting import Visitor

HIDDEN = """() => {
  window.notified = [];
  window.Notification = class {
    static requestPermission() { return Promise.resolve("granted"); }
    constructor(title, options) { window.notified.push(`${title}: ${options.body}`); }
  };
  let hidden = false;
  Object.defineProperty(document, "hidden", { get: () => hidden });
  window.hide = () => { hidden = true; document.dispatchEvent(new Event("visibilitychange")); };
}"""
"""Replaces, in one page only, what the browser knows of its visibility, and its notifications."""


@pytest.mark.slow
async def test_a_run_is_named_tagged_searched_and_sorted(served: Served, ann: Visitor) -> None:
    first = await served.started("measure Paris")
    await served.finished(first)
    await served.finished(await served.started("measure Oslo", tags={"team": "ops"}))

    page = await ann.open(f"/runs/{first}")
    await page.get_by_text("More", exact=True).click()
    await page.get_by_role("button", name="Name and tags…").click()
    await page.get_by_label("Name", exact=True).fill("Nightly check")
    await page.get_by_label("Tags", exact=True).fill("team=data\nenv=prod")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("dialog")).to_have_count(0)
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


@pytest.mark.slow
async def test_a_hidden_tab_notifies_when_a_run_finishes(served: Served, ann: Visitor) -> None:
    page = await ann.open("/system")
    await page.evaluate(HIDDEN)
    await page.get_by_label("When runs ask, finish or fail while this tab is hidden").check()
    async with page.expect_response(lambda response: "/api/runs?limit=50" in response.url):
        await page.evaluate("window.hide()")
    run_id = await served.started("measure Paris")
    await served.finished(run_id)
    found = await served.wait_for(lambda: page.evaluate("window.notified"), bool)
    assert ["measure Paris" in text for text in found] == [True]
