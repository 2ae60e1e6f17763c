"""The URL of a page is its state, so that a link restores the page; every screen is reached by keyboard."""

from __future__ import annotations

import pytest
from playwright.async_api import expect
from server.teams import Office, team

from browser.conftest import OpenServer, Visit
from browser.serving import Served
from browser.visiting import Visitor
from leadhand import Source, ToolReturn, tool
from leadhand.testing.scripted_model import reviews

FILTER_AT_ONCE = """() => new MutationObserver((_, observer) => {
  if (!document.getElementById("log-filter")) return;
  observer.disconnect();
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true, cancelable: true }));
}).observe(document.body, { childList: true, subtree: true })"""
"""Press / as soon as the run page is there, before it is painted."""


@pytest.mark.slow
async def test_the_url_holds_every_selection_of_the_run_page(served: Served, visit: Visit) -> None:
    run_id = await served.started("measure Paris, measure Oslo")
    await served.finished(run_id)
    page = await (await visit(served.url)).open(f"/runs/{run_id}")
    await page.get_by_role("option", name="Oslo").click()
    await page.get_by_role("button", name="Problems", exact=True).click()
    await page.get_by_role("button", name="Tools", exact=True).click()
    await page.get_by_role("searchbox", name="Filter events by text").fill("broken")
    log = page.get_by_role("grid", name="Events")
    await expect(log).to_have_attribute("aria-rowcount", "3")
    await log.get_by_role("row").first.click()
    chosen = page.get_by_role("tabpanel").get_by_role("heading", name="Event ")
    await expect(chosen).to_contain_text("Tool failed")
    words = await chosen.inner_text()
    place = page.url

    other = await (await visit(served.url)).open(place.removeprefix(served.url))
    await expect(other.get_by_role("tabpanel").get_by_role("heading", name="Event ")).to_have_text(words)
    await expect(other.get_by_role("searchbox", name="Filter events by text")).to_have_value("broken")
    await expect(other.get_by_role("button", name="Problems", exact=True)).to_have_attribute("aria-pressed", "true")
    await expect(other.get_by_role("option", name="Oslo")).to_have_attribute("aria-selected", "true")
    await expect(other.get_by_role("grid", name="Events")).to_have_attribute("aria-rowcount", "3")
    await other.get_by_role("tab", name="Order").click()
    await other.reload()
    await expect(other.get_by_role("tab", name="Order")).to_have_attribute("aria-selected", "true")
    await expect(other.get_by_role("tabpanel")).to_contain_text("Review: incomplete")


@pytest.mark.slow
async def test_runs_are_filtered_by_status_text_and_time_and_the_url_holds_the_filter(
    served: Served, ann: Visitor, office: Office
) -> None:
    for request in ("measure Paris", "measure Lyon", "measure Oslo"):
        await served.finished(await served.started(request))
    await served.open_approvals(await served.started("pay Ann"))
    page = await ann.open("/runs")
    rows = page.get_by_role("row")
    await expect(rows).to_have_count(5)
    await page.get_by_label("Status", exact=True).select_option("succeeded")
    await expect(rows).to_have_count(3)
    await page.get_by_role("searchbox").fill("lyon")
    await expect(rows).to_have_count(2)
    await expect(page.get_by_role("link", name="measure Lyon")).to_be_visible()
    await page.get_by_label("Started").select_option("1h")
    await page.reload()
    await expect(rows).to_have_count(2)
    await expect(page.get_by_role("searchbox")).to_have_value("lyon")
    await expect(page.get_by_label("Status", exact=True)).to_have_value("succeeded")
    await page.get_by_role("link", name="measure Lyon").click()
    await expect(page.get_by_role("heading", name="measure Lyon")).to_be_visible()
    await page.go_back()
    await expect(page.get_by_role("searchbox")).to_have_value("lyon")
    await page.get_by_role("searchbox").fill("no such thing")
    await page.get_by_role("button", name="Show all runs").click()
    await expect(rows).to_have_count(5)
    await page.get_by_label("Waiting for you").check()
    await expect(rows).to_have_count(2)
    await expect(page.get_by_role("link", name="pay Ann")).to_be_visible()


@pytest.mark.slow
async def test_every_screen_is_reached_by_keyboard(serve: OpenServer, visit: Visit, office: Office) -> None:
    served = await serve()
    for request in ("measure Paris", "measure Lyon"):
        await served.finished(await served.started(request))
    running = await served.started("measure Nice, measure Rome")
    page = await (await visit(served.url)).open("/tools")
    await expect(page.get_by_role("heading", name="Tools", level=1)).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.closest('main') !== null")
    for key, title in (("t", "Tools"), ("a", "Approvals"), ("r", "Runs")):
        await page.keyboard.press("g")
        await page.keyboard.press(key)
        await expect(page).to_have_title(f"{title} · Leadhand")
    await expect(page.get_by_role("link", name="measure Nice")).to_be_visible()
    await page.keyboard.press("j")
    await page.keyboard.press("j")
    await expect(page.get_by_role("link", name="measure Lyon")).to_be_focused()
    await page.keyboard.press("k")
    await page.evaluate(FILTER_AT_ONCE)
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{served.url}/runs/{running}")
    filter_ = page.get_by_role("searchbox", name="Filter events by text")
    await expect(filter_).to_be_focused()
    await page.keyboard.press("Escape")

    # On the run page: the filter, the rows of the log, the tabs, pause and resume.
    await expect(page.locator(".figures").get_by_text("1 of 2 completed")).to_be_visible()
    await page.keyboard.press("/")
    await page.keyboard.type("nice")
    await expect(filter_).to_have_value("nice")
    await page.keyboard.press("Escape")
    log = page.get_by_role("grid", name="Events")
    await log.focus()
    await page.keyboard.press("Home")
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("tabpanel").get_by_role("heading", name="Event ")).to_be_visible()
    await page.keyboard.press("]")
    await expect(page.get_by_role("tab", name="Order")).to_have_attribute("aria-selected", "true")
    await page.keyboard.press(".")
    await expect(page.locator(".run-state")).to_contain_text("Paused")
    office.gate.set()
    await page.keyboard.press(".")
    await expect(page.locator(".run-state")).to_contain_text("Succeeded")
    await page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    await expect(dialog).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)


@pytest.mark.slow
async def test_nothing_moves_with_reduced_motion(served: Served, visit: Visit, office: Office) -> None:
    run_id = await served.started("measure Paris, measure Rome")
    moving = "document.getAnimations().filter(each => each.effect.getComputedTiming().duration > 1).length"
    calm = await (await visit(served.url, reduced_motion="reduce")).open(f"/runs/{run_id}")
    await expect(calm.locator(".figures").get_by_text("1 running")).to_be_visible()
    assert await calm.evaluate(moving) == 0
    office.gate.set()
    last = (await served.finished(run_id))["last_seq"]
    await expect(calm.get_by_role("grid", name="Events").locator(f"[aria-rowindex='{last}']")).to_be_in_viewport()
    assert await calm.evaluate(moving) == 0


@pytest.mark.slow
async def test_a_server_without_a_console_explains_how_to_build_it(serve: OpenServer, visit: Visit) -> None:
    served = await serve(console=False)
    page = await (await visit(served.url)).open("/")
    await expect(page.locator("pre")).to_have_text("uv sync --reinstall-package leadhand")
    await expect(page.get_by_role("link", name="its OpenAPI document")).to_have_attribute("href", "/openapi.json")


@pytest.mark.slow
async def test_back_steps_through_what_was_opened(served: Served, ann: Visitor) -> None:
    run_id = await served.started("measure Paris, measure Lyon")
    await served.finished(run_id)
    page = await ann.open("/runs")
    await page.get_by_role("link", name="measure Paris").click()
    workers = page.get_by_role("listbox", name="Workers").get_by_role("option")
    await workers.first.click()
    await expect(page.get_by_role("tabpanel")).to_contain_text("Paris")
    await workers.last.click()
    await expect(page.get_by_role("tabpanel").get_by_role("heading", name="Lyon")).to_be_visible()
    await page.go_back()
    await expect(page.get_by_role("tabpanel").get_by_role("heading", name="Paris")).to_be_visible()
    await page.go_back()
    await expect(page.get_by_role("article", name="Answer")).to_be_visible()
    await page.go_back()
    await expect(page).to_have_url(f"{served.url}/runs")


@pytest.mark.slow
async def test_the_answer_is_read_alone_with_citations_that_lead_to_their_sources(
    serve: OpenServer, visit: Visit
) -> None:
    @tool
    def measure(place: str) -> ToolReturn:
        """Measure the noise at a place."""
        source = Source(title=f"Meter of {place}", url=f"https://noise.example.org/{place}")
        return ToolReturn(summary=f"{place}: 40 dB", sources=(source,))

    review = reviews(accept=["wo-001.0", "wo-001.1"], answer="Paris is at 40 dB [1], Lyon too [2].")
    served = await serve(tools=[measure], models=team(review=review))
    run_id = await served.started("measure Paris, measure Lyon")
    await served.finished(run_id)
    page = await (await visit(served.url)).open(f"/runs/{run_id}")
    await page.get_by_role("link", name="Reading view").click()
    await expect(page.get_by_role("listbox", name="Workers")).to_have_count(0)
    await page.get_by_role("link", name="[2]").click()
    await expect(page.locator(".sources > :target")).to_contain_text("Meter of Lyon")
    await page.get_by_role("link", name="Back to the run").click()
    await expect(page.get_by_role("listbox", name="Workers")).to_be_visible()
