"""The server is killed and started again: the page shows it, reconnects, and loses nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import expect

from browser.conftest import Visit
from browser.reading import event_numbers
from browser.serving import Process

TOOLS = '''
"""A tool that waits in Rome until a file is there."""
import asyncio
import os

from leadhand import tool


@tool(timeout=120)
async def measure_tool(place: str) -> str:
    """Measure the noise at a place.

    Args:
        place: where to measure
    """
    with open(os.environ["CALLS"], "a") as file:
        file.write(place + "\\n")
    while place == "Rome" and not os.path.exists(os.environ["GATE"]):
        await asyncio.sleep(0.02)
    return f"{place}: 40 dB"
'''
LOST = r"net::ERR_(?!BLOCKED)"
"""What the browser says of requests that were under way, or made, while there was no server."""


@pytest_asyncio.fixture(loop_scope="session")
async def process(tmp_path: Path) -> AsyncIterator[Process]:
    """`leadhand serve` on a tool that waits in Rome."""
    tools = tmp_path / "noise_tools.py"
    tools.write_text(TOOLS)
    environment = {"CALLS": str(tmp_path / "calls.txt"), "GATE": str(tmp_path / "gate")}
    async with Process(tmp_path / "home", "--tools", str(tools), environment=environment) as process:
        yield process


@pytest.mark.slow
async def test_pages_reconnect_after_the_server_was_killed_and_lose_nothing(
    process: Process, visit: Visit, tmp_path: Path
) -> None:
    visitor = await visit(process.url)
    page = await visitor.open("/runs")
    await page.get_by_label("Request").fill("Measure Paris and Rome")
    await page.get_by_role("button", name="Start").click()
    await expect(page.locator(".figures").get_by_text("1 of 2 completed")).to_be_visible()
    state = page.locator(".header").get_by_role("status")
    await expect(state).to_have_text("●Live")
    composer = await visitor.open("/runs")
    request = composer.get_by_label("Request")
    await request.fill("Measure Paris")

    visitor.watch.allow(LOST)
    await process.kill()
    await expect(state).to_have_text("◌Reconnecting")
    await expect(page.locator(".figures").get_by_text("1 of 2 completed")).to_be_visible()
    await page.get_by_role("button", name="Pause").click()
    await expect(page.locator(".run-actions").get_by_role("alert")).to_be_visible()
    await expect(composer.locator(".header").get_by_role("status")).to_have_text("◌Reconnecting")
    await composer.get_by_role("button", name="Start").click()
    await expect(composer.get_by_role("form", name="New run").get_by_role("alert")).to_be_visible()
    await expect(request).to_have_value("Measure Paris")
    (tmp_path / "gate").touch()
    await process.start()

    await expect(page.get_by_role("article", name="Answer")).to_contain_text("Rome: 40 dB")
    await expect(state).to_have_text("■Ended")
    run = await process.finished(page.url.rpartition("/")[2])
    assert run["status"] == "succeeded"
    await expect(page.get_by_role("grid", name="Events")).to_have_attribute("aria-rowcount", str(run["last_seq"]))
    assert await event_numbers(page) == list(range(1, run["last_seq"] + 1))
    assert (tmp_path / "calls.txt").read_text().split().count("Paris") == 1

    await expect(composer.locator(".header").get_by_role("status")).to_have_text("●Connected")
    for each in (page, composer):
        await expect(each.get_by_role("alert")).to_have_count(0)
    await composer.get_by_role("button", name="Start").click()
    await expect(composer.get_by_role("article", name="Answer")).to_contain_text("Paris: 40 dB")
    assert len((await process.get("/api/runs"))["runs"]) == 2
