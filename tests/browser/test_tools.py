"""The Tools screen: tools are called by hand."""

from __future__ import annotations

import pytest
from playwright.async_api import expect
from server.teams import Office

from browser.serving import Served
from browser.visiting import Visitor


@pytest.mark.slow
async def test_a_tool_is_called_by_hand(served: Served, ann: Visitor, office: Office) -> None:
    page = await ann.open("/tools")
    await page.get_by_role("link", name="measure").click()
    await page.get_by_label("place").fill("Oslo")
    await page.get_by_role("button", name="Run tool", exact=True).click()
    await expect(page.get_by_text("the microphone is broken").first).to_be_visible()
    await page.get_by_label("place").fill("Paris")
    await page.get_by_role("button", name="Run tool", exact=True).click()
    await expect(page.get_by_text("Paris: 40 dB")).to_be_visible()

    await page.get_by_role("link", name="pay").click()
    await page.get_by_label("to", exact=True).fill("Ann")
    await page.get_by_role("button", name="Run tool…").click()
    dialog = page.get_by_role("dialog", name="Run pay?")
    await expect(dialog).to_contain_text("irreversible")
    assert office.calls == {"Oslo": 1, "Paris": 1}
    await dialog.get_by_role("button", name="Run tool", exact=True).click()
    await expect(page.get_by_text("paid 1 to Ann")).to_be_visible()
    assert office.calls["Ann 1"] == 1
