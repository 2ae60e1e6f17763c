"""Every screen in light, dark and narrow: axe-core finds no violation, nothing overflows, and a picture is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import ViewportSize, expect

from browser.conftest import Visit, Visitor
from browser.judging import check_accessible, check_width, picture
from browser.scenes import SCENES
from browser.serving import Served

DESK: ViewportSize = {"width": 1400, "height": 900}
NARROW: ViewportSize = {"width": 400, "height": 860}
PHONE: ViewportSize = {"width": 360, "height": 740}


@pytest.mark.parametrize("name", SCENES)
async def test_every_screen_is_accessible_and_fits_the_window(
    name: str, visit: Visit, tmp_path: Path, long_home: Path
) -> None:
    async with SCENES[name](tmp_path / "home", long_home) as scene:
        visitor = await visit(scene.served.url, viewport=DESK, color_scheme="light")
        if name == "no-such-run":
            visitor.watch.allow(r"\b404\b")
        page = await visitor.open(scene.path)
        await scene.ready(page)
        await check_accessible(page)
        await check_width(page)
        await picture(page, f"{name}-light")

        await page.emulate_media(color_scheme="dark")  # nothing but colours changes
        await check_accessible(page, "color-contrast", "link-in-text-block")
        await picture(page, f"{name}-dark")

        await page.emulate_media(color_scheme="light")
        await page.set_viewport_size(NARROW)
        await scene.ready(page)
        await picture(page, f"{name}-narrow")
        await page.set_viewport_size(PHONE)
        await check_accessible(page)
        await check_width(page)
        await visitor.context.close()  # before its server is


async def test_dialogs_and_forms_are_accessible_and_return_the_focus(served: Served, ann: Visitor) -> None:
    run_id = await served.started("pay Ann, measure Oslo, measure Paris")
    await served.open_approvals(run_id)
    await served.until(run_id, "waiting")
    page = await ann.open(f"/runs/{run_id}?worker=wo-001.1")
    for name in ("Cancel…", "Fork…", "Retry failed (1)", "Supply result…", "Skip…", "Change arguments…"):
        button = page.get_by_role("button", name=name)
        await button.click()
        await expect(page.get_by_role("dialog")).to_be_visible()
        await check_accessible(page)
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await expect(button).to_be_focused()
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    await check_accessible(page)
    await picture(page, "help-light", whole=False)
    await page.keyboard.press("Escape")

    card = page.get_by_role("article", name="Call pay?")
    for name, field in (("Edit arguments of pay", "Arguments"), ("Deny pay", "Reason")):
        await page.get_by_role("button", name=name).click()
        await expect(card.get_by_label(field)).to_be_focused()
        await check_accessible(page)
        await picture(page, f"card-{field.split()[0].lower()}-light", whole=False)
        await page.keyboard.press("Escape")
        await expect(card).to_be_focused()
