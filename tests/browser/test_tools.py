"""The Tools screen: tools are called by hand, and roles are changed for new runs."""

from __future__ import annotations

from playwright.async_api import expect
from server.teams import Office

from browser.serving import Served
from browser.visiting import Visitor


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


async def test_a_role_is_changed_for_new_runs_and_reset_to_its_defaults(served: Served, ann: Visitor) -> None:
    page = await ann.open("/tools?role=lead")
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
