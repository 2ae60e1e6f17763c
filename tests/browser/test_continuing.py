"""What a run can go on from: other limits, the hook that asks, and cached results."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from playwright.async_api import Page, expect

from browser.conftest import OpenServer, Visit
from browser.judging import check_accessible
from browser.serving import Served
from browser.visiting import Visitor
from leadhand import ToolReturn, tool
from leadhand.hooks import BeforeTool, Hook, RequireApproval


@pytest.mark.slow
async def test_a_run_that_ended_at_a_limit_continues_with_more(served: Served, ann: Visitor) -> None:
    run_id = await served.started("measure Paris, measure Lyon", limits={"max_requests": 1})
    before = await served.finished(run_id)
    assert before["status"] != "succeeded"
    page = await ann.open(f"/runs/{run_id}")
    ann.watch.allow(r"\b409\b")
    await page.get_by_role("button", name="Continue with more…").click()
    dialog = page.get_by_role("dialog", name="Continue with more")
    await expect(dialog).to_contain_text("now 1, 1 used")
    await check_accessible(page, within="dialog[open]")

    await expect(dialog.get_by_label("Max. requests")).to_have_value("12")
    await dialog.get_by_label("Max. requests").fill("")
    await dialog.get_by_role("button", name="Continue", exact=True).click()
    await expect(dialog.get_by_role("alert")).to_be_visible()
    await dialog.get_by_label("Max. requests").fill("1")
    await dialog.get_by_role("button", name="Continue", exact=True).click()
    await expect(dialog.get_by_role("alert")).to_contain_text("1")
    await dialog.get_by_label("Max. requests").fill("20")
    await dialog.get_by_role("button", name="Continue", exact=True).click()
    await expect(dialog).to_be_hidden()
    await expect(page.locator(".run-state")).to_contain_text("Succeeded")
    await expect(page.get_by_role("button", name="Continue with more…")).to_be_hidden()
    after = await served.until(run_id, "succeeded")
    assert after["limits"]["max_requests"] == 20
    assert after["limits"]["budget"] == before["limits"]["budget"]


@pytest.mark.slow
async def test_a_fork_can_have_other_limits(served: Served, ann: Visitor) -> None:
    run_id = await served.started("measure Paris")
    await served.finished(run_id)
    page = await ann.open(f"/runs/{run_id}")
    await page.get_by_role("button", name="Fork…").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_text("Other limits").click()
    await dialog.get_by_label("Budget").fill("0.25")
    await dialog.get_by_role("button", name="Fork", exact=True).click()
    await expect(page.get_by_text("forked from")).to_be_visible()
    forked = await served.get(f"/api/runs/{page.url.rpartition('/')[2]}")
    assert forked["limits"]["budget"] == 0.25


class AskAbove(Hook):
    """Ask about calls above a limit."""

    def before_tool(self, call: BeforeTool) -> RequireApproval | None:
        """Ask about every payment."""
        return RequireApproval("payments need a look") if call.tool == "pay" else None


@pytest.mark.slow
async def test_a_card_says_why_a_hook_asks(serve: OpenServer, visit: Visit) -> None:
    served = await serve(hooks=[AskAbove])
    run_id = await served.started("pay Ann")
    await served.open_approvals(run_id)
    page = await (await visit(served.url)).open("/approvals")
    await expect(page.get_by_role("article", name="Allow pay: to")).to_contain_text("asks: payments need a look")


@pytest.mark.slow
async def test_a_cached_result_is_marked(serve: OpenServer, visit: Visit) -> None:
    @tool(cache=60)
    async def measure(place: str) -> ToolReturn:
        """Measure the noise at a place."""
        return ToolReturn(summary=f"{place}: 40 dB", raw={"dB": 40})

    served = await serve(tools=[measure])
    await served.finished(await served.started("measure Paris"))
    run_id = await served.started("measure Paris")
    await served.finished(run_id)
    page = await (await visit(served.url)).open(f"/runs/{run_id}?worker=wo-001.0")
    await _expect_calls(page, ["measure", "cached"])


async def _expect_calls(page: Page, words: Sequence[str]) -> None:
    call = page.get_by_role("tabpanel").get_by_role("listitem").filter(has_text=words[0]).first
    for word in words:
        await expect(call).to_contain_text(word)
