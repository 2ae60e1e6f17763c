"""The texts of the console are those of one golden file: the main screens of one small run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from golden import check_golden, joined, normalized
from playwright.async_api import Page, expect

import leadhand
from browser.serving import Served
from browser.visiting import Visitor

GOLDEN = Path(__file__).parent / "golden" / "texts.txt"
HIDE_GRIDS = "document.querySelectorAll('[role=grid]').forEach(grid => { grid.style.display = 'none' })"
"""They show what fits in the window, of events whose words are in the golden file of the API."""
VOLATILE = {
    re.escape(leadhand.__version__): "VERSION",
    r"\S+-[0-9a-f]{8}\b": "HOST",
    r"\b\d+(\.\d+)? [kMGT]B\b": "SIZE",
    r"(?i)\b(events?) \d+\b": r"\1 N",
}


async def text_of(page: Page, within: str = "main") -> str:
    """What a person reads on a page, once everything has arrived."""
    await page.wait_for_load_state("networkidle")
    await page.evaluate(HIDE_GRIDS)
    return "\n".join(filter(str.strip, (await page.locator(within).inner_text()).splitlines()))


@pytest.mark.slow
async def test_the_texts_of_the_main_screens_are_the_golden_ones(served: Served, ann: Visitor, tmp_path: Path) -> None:
    page = await ann.open("/runs")
    await expect(page.get_by_text("No runs yet")).to_be_visible()
    texts = [("/runs without any", await text_of(page, "body"))]
    run_id = await served.started("measure Oslo, pay Ann")
    (card,) = await served.open_approvals(run_id)
    await served.until(run_id, "waiting")
    for path in ("/runs", "/runs/RUN_ID", "/approvals"):
        await page.goto(served.url + path.replace("RUN_ID", run_id))
        texts.append((f"{path} that waits", await text_of(page)))
    await served.post(f"/api/approvals/{card['approval_id']}", {"decision": "approve"})
    await served.finished(run_id)
    screens = {"/runs/RUN_ID": "main", "/runs/RUN_ID?tab=order": "[role=tabpanel]"}
    screens |= {
        "/runs/RUN_ID?worker=wo-001.0": "[role=tabpanel]",
        "/tools": "main",
    }
    for path, within in screens.items():
        await page.goto(served.url + path.replace("RUN_ID", run_id))
        texts.append((path, await text_of(page, within)))
    home = {re.escape(str(tmp_path)): "FOLDER"}
    check_golden(GOLDEN, normalized(joined(texts), home | VOLATILE))
