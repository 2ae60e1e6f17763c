"""The Agents screen: roles are changed for new runs."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from browser.serving import Served
from browser.visiting import Visitor


@pytest.mark.slow
async def test_a_role_is_changed_for_new_runs_and_reset_to_its_defaults(served: Served, ann: Visitor) -> None:
    page = await ann.open("/agents?role=lead")
    lead = page.get_by_role("group").filter(has_text="Plans the request as a work order.")
    await page.get_by_role("button", name="Edit lead").click()
    await expect(page.get_by_label("Model")).to_be_focused()
    shipped = await page.get_by_label("Instructions").input_value()
    await page.get_by_label("Instructions").fill(f"{shipped}\n\nBe **brief**.")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("button", name="Edit lead")).to_be_focused()
    await expect(lead.get_by_text("changed by")).to_be_visible()
    await expect(lead.locator("strong", has_text="brief")).to_be_visible()

    await page.reload()
    await expect(lead.locator("strong", has_text="brief")).to_be_visible()
    await page.get_by_role("button", name="Reset lead").click()
    dialog = page.get_by_role("dialog", name="Reset lead?")
    await expect(dialog).to_contain_text("Existing runs keep")
    await dialog.get_by_role("button", name="Reset").click()
    await expect(lead.get_by_text("changed by")).to_have_count(0)
    await expect(lead.locator("strong", has_text="brief")).to_have_count(0)
