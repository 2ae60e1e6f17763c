"""Every screen, in light, in dark and on a phone: axe-core finds nothing, nothing sticks out, and a picture is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import ViewportSize

from browser.conftest import Visit
from browser.judging import check_accessible, check_width, picture
from browser.scenes import SCENES

DESK: ViewportSize = {"width": 1400, "height": 900}
NARROW: ViewportSize = {"width": 400, "height": 860}
PHONE: ViewportSize = {"width": 360, "height": 740}


@pytest.mark.parametrize("name", SCENES)
async def test_screens_are_for_everybody(name: str, visit: Visit, tmp_path: Path, long_home: Path) -> None:
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
