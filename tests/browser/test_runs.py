"""The Runs screen: starting a run."""

from __future__ import annotations

from playwright.async_api import expect

from browser.serving import Served
from browser.visiting import Visitor


async def test_a_run_is_started_from_the_composer_and_watched_to_its_answer(served: Served, ann: Visitor) -> None:
    page = await ann.open("/")
    await page.get_by_label("Request").fill("measure Paris, measure Lyon")
    await page.get_by_role("button", name="Start").click()

    await expect(page.get_by_role("heading", name="measure Paris, measure Lyon")).to_be_visible()
    await expect(page.get_by_role("listbox", name="Workers").get_by_role("option")).to_have_count(2)
    await expect(page.get_by_role("article", name="Answer")).to_contain_text("Paris: 40 dB")


async def test_errors_are_shown_beside_the_fields_and_the_input_is_kept(served: Served, ann: Visitor) -> None:
    page = await ann.open("/runs")
    ann.watch.allow(r"\b4(00|09|22)\b")
    form = page.get_by_role("form", name="New run")
    await page.get_by_label("Request").fill("measure Paris")
    await page.get_by_role("textbox", name="Model", exact=True).fill("no such model")
    await page.get_by_text("Advanced").click()
    await page.get_by_label("Max. workers").fill("20000")
    await page.get_by_role("button", name="Start").click()
    await expect(form.get_by_role("alert")).to_contain_text("max_workers")
    await expect(page.get_by_label("Max. workers")).to_have_attribute("aria-invalid", "true")
    await page.get_by_label("Max. workers").fill("2")
    await page.get_by_role("textbox", name="Model", exact=True).fill("")
    await page.keyboard.press("Control+Enter")

    await expect(page.get_by_role("heading", name="measure Paris")).to_be_visible()
    started = await served.event(page.url.rpartition("/")[2], "run_started")
    assert started["definition"]["limits"]["max_workers"] == 2


async def test_a_click_on_an_example_fills_in_the_request(served: Served, ann: Visitor) -> None:
    page = await ann.open("/")
    example = page.get_by_role("button", name="Lisbon")
    await example.click()
    request = page.get_by_label("Request")
    await expect(request).to_be_focused()
    await expect(request).to_have_value(await example.inner_text())
