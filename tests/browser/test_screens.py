"""Every screen in light, dark and narrow: axe-core finds no violation, and nothing overflows.

``PICTURES=1 uv run pytest tests/browser/test_screens.py`` keeps pictures in ``tests/browser/screenshots/``.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from browser.conftest import Visit
from browser.judging import DESK, check_accessible, check_screen, picture
from browser.scenes import SCENES
from browser.serving import Served
from browser.visiting import Visitor

FIRST = ("runs-full", "run-answered")
"""The screens that are checked without the slow tests."""


def _marks(name: str) -> list[pytest.MarkDecorator]:
    return [] if name in FIRST else [pytest.mark.slow]


@pytest.mark.parametrize("name", [pytest.param(each, marks=_marks(each)) for each in SCENES])
async def test_every_screen_is_accessible_and_fits_the_window(name: str, visit: Visit, tmp_path: Path) -> None:
    async with SCENES[name](tmp_path / "home") as scene:
        visitor = await visit(scene.served.url, viewport=DESK)
        if name == "no-such-run":
            visitor.watch.allow(r"\b404\b")
        await check_screen(await visitor.open(scene.path), scene.ready, name)
        await visitor.leave()  # before the server ends


@pytest.mark.slow
async def test_dialogs_and_forms_are_accessible_and_return_the_focus(served: Served, ann: Visitor) -> None:
    run_id = await served.started("pay Ann, measure Oslo, measure Paris")
    await served.open_approvals(run_id)
    await served.until(run_id, "waiting")
    page = await ann.open(f"/runs/{run_id}?worker=wo-001.1")
    for name in ("Cancel…", "Fork…", "Retry failed (1)", "Supply result…", "Skip…", "Retry…"):
        button = page.get_by_role("button", name=name)
        await button.click()
        await expect(page.get_by_role("dialog")).to_be_visible()
        await check_accessible(page, within="dialog[open]")  # the page behind it is a screen of its own, above
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await expect(button).to_be_focused()
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    await check_accessible(page)
    await picture(page, "help-light", whole=False)
    await page.keyboard.press("Escape")

    card = page.get_by_role("article", name="Allow pay: to")
    for name, field in (("Edit arguments of pay", "Arguments"), ("Deny pay", "Reason")):
        await page.get_by_role("button", name=name).click()
        await expect(card.get_by_label(field)).to_be_focused()
        await check_accessible(page, within=".approval")
        await picture(page, f"card-{field.split()[0].lower()}-light", whole=False)
        await page.keyboard.press("Escape")
        await expect(card).to_be_focused()
