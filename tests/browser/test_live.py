"""A run is watched live: a draft of its answer, a reload, and many tabs at once."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect
from server.teams import Author, Office

from browser.conftest import OpenServer, Visit
from browser.reading import event_numbers
from browser.serving import Served
from browser.visiting import Visitor

HIDE = """hidden => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  Object.defineProperty(document, "visibilityState", { configurable: true, get: () => hidden ? "hidden" : "visible" });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
"""Hide or show a tab. Playwright keeps all tabs visible, so that no tab is hidden behind another."""


@pytest.fixture
def author() -> Author:
    """An author whose answer the test writes, for a run that completed Paris and failed in Oslo."""
    return Author("Paris", "Oslo")


async def test_an_answer_is_a_draft_until_it_is_final(serve: OpenServer, visit: Visit, author: Author) -> None:
    served = await serve(models=author)
    page = await (await visit(served.url)).open("/runs")
    await page.get_by_label("Request").fill("How loud is it?")
    await page.get_by_role("button", name="Start").click()
    await author.writing.wait()
    draft = page.get_by_role("region", name="Draft of the answer")
    author.write("## Noise\n\n", "Paris is ", "**quite** ", "loud ")

    await expect(draft.get_by_role("heading", name="Noise")).to_be_visible()
    await expect(draft.locator("strong")).to_have_text("quite")
    await expect(draft).to_contain_text("Paris is quite loud")
    await expect(page.get_by_role("article", name="Answer")).to_have_count(0)
    author.write("at night.\n\n", "Of Oslo nothing is known. ")
    await expect(draft).to_contain_text("loud at night.")
    await expect(draft).to_contain_text("Of Oslo nothing is known.")
    author.write("", "Paris: ", "40 dB, the rest is unknown. ")  # the model is called again: the draft starts over
    await expect(draft).to_contain_text("Paris: 40 dB")
    await expect(draft).not_to_contain_text("quite")
    author.end()

    answer = page.get_by_role("article", name="Answer")
    await expect(answer).to_contain_text("Paris: 40 dB, the rest is unknown.")
    await expect(draft).to_have_count(0)


@pytest.mark.slow
async def test_a_reload_during_the_run_shows_the_same_page(serve: OpenServer, visit: Visit, author: Author) -> None:
    served = await serve(models=author)
    run_id = await served.started("How loud is it?")
    page = await (await visit(served.url)).open(f"/runs/{run_id}?filter=&first=problems")
    await author.writing.wait()
    author.write("Paris is loud, ", "Oslo is ")
    draft = page.get_by_role("region", name="Draft of the answer")
    await expect(draft).to_contain_text("Paris is loud, Oslo is")
    await page.get_by_role("option", name="Oslo").click()
    await expect(page.get_by_role("heading", name="Oslo", level=2)).to_be_visible()
    place = page.url

    await page.reload()
    assert page.url == place
    await expect(page.get_by_role("heading", name="Oslo", level=2)).to_be_visible()
    await expect(page.get_by_role("button", name="Problems first")).to_have_attribute("aria-pressed", "true")
    await page.get_by_role("tab", name="Answer").click()
    await expect(draft).to_contain_text("Paris is loud, Oslo is")
    author.write("silent. ")
    await expect(draft).to_contain_text("Paris is loud, Oslo is silent.")
    author.end()
    await expect(page.get_by_role("article", name="Answer")).to_contain_text("Paris is loud, Oslo is silent.")
    last = (await served.finished(run_id))["last_seq"]
    await expect(page.get_by_role("grid", name="Events")).to_have_attribute("aria-rowcount", str(last))
    assert await event_numbers(page) == list(range(1, last + 1))


@pytest.mark.slow
async def test_seven_tabs_of_one_server_do_not_block_each_other(served: Served, ann: Visitor, office: Office) -> None:
    run_id = await served.started("measure Paris, measure Rome")
    tabs: list[Page] = []
    for _ in range(7):
        if tabs:
            await tabs[-1].evaluate(HIDE, True)
        tabs.append(await ann.open(f"/runs/{run_id}"))
        await expect(tabs[-1].locator(".header")).to_contain_text("Live")
        await expect(tabs[-1].locator(".figures").get_by_text("1 of 2 completed")).to_be_visible()

    # The tab that is shown has two: the view of its run, and the changes of all runs.
    await served.wait_for(lambda: _streams(served), lambda streams: streams == 2)
    first = tabs[0]
    await expect(first.locator(".header")).to_contain_text("Paused")
    assert await first.evaluate("fetch('/api/session').then(answer => answer.status)") == 200
    await tabs[-1].evaluate(HIDE, True)
    await first.evaluate(HIDE, False)
    await expect(first.locator(".header")).to_contain_text("Live")
    office.gate.set()
    for tab in tabs:
        await tab.evaluate(HIDE, False)
        await expect(tab.get_by_role("article", name="Answer")).to_contain_text("Rome: 40 dB")
        await expect(tab.locator(".header")).to_contain_text("Ended")
        await tab.evaluate(HIDE, True)
    await served.wait_for(lambda: _streams(served), lambda streams: streams == 0)


@pytest.mark.slow
async def test_a_hidden_tab_keeps_its_title(served: Served, ann: Visitor, office: Office) -> None:
    run_id = await served.started("measure Paris, measure Rome")
    page = await ann.open(f"/runs/{run_id}")
    await expect(page).to_have_title("◐ 1/2 measure Paris, measure Rome · Leadhand")
    await page.evaluate(HIDE, True)
    office.gate.set()
    await served.finished(run_id)
    await expect(page).to_have_title("✓ 2/2 measure Paris, measure Rome · Leadhand")


@pytest.mark.slow
async def test_the_answer_before_a_retry_is_not_shown_as_a_draft(
    serve: OpenServer, visit: Visit, author: Author, office: Office
) -> None:
    served = await serve(models=author)
    run_id = await served.started("How loud is it?")
    page = await (await visit(served.url)).open(f"/runs/{run_id}")
    draft = page.get_by_role("region", name="Draft of the answer")
    await author.writing.wait()
    author.write("Paris: 40 dB. Of Oslo nothing is known. ")
    await expect(draft).to_be_visible()
    author.end()
    await expect(page.get_by_role("article", name="Answer")).to_be_visible()

    await served.post(f"/api/runs/{run_id}/retry", {"subtasks": ["wo-001.1"], "args": {"place": "Rome"}})
    await expect(page.locator(".figures").get_by_text("1 running")).to_be_visible()
    await expect(page.get_by_role("heading", name="Earlier answers")).to_be_visible()
    await expect(draft).to_have_count(0)
    await page.get_by_text("Answer 1").click()
    await expect(page.get_by_role("tabpanel").get_by_text("Of Oslo nothing is known.")).to_be_visible()
    office.gate.set()
    author.write("Paris: 40 dB. Rome is known, too. ")
    await expect(draft).to_contain_text("Rome is known, too.")
    await expect(draft).not_to_contain_text("Oslo")
    author.end()
    await expect(page.get_by_role("article", name="Answer")).to_contain_text("Rome is known, too.")


async def _streams(served: Served) -> int:
    """The streams that are open."""
    metrics = (await served.http.get("/metrics")).text
    return int(float(metrics.partition("\nleadhand_sse_streams_open ")[2].partition("\n")[0]))
