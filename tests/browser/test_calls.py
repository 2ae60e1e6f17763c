"""Model calls and what they used: the prompt as it was sent, the reply, and the totals of a run."""

from __future__ import annotations

import pytest
from playwright.async_api import expect
from server.teams import planner

from browser.conftest import OpenServer, Visit
from browser.judging import check_accessible
from leadhand.testing.scripted_model import ScriptedModel


@pytest.mark.slow
async def test_every_model_call_opens_and_the_totals_name_workers_models_and_tools(
    serve: OpenServer, visit: Visit
) -> None:
    models = ScriptedModel(
        lenient=True, plan=lambda request: planner(request).costing(input_tokens=900, output_tokens=40, nanousd=720_000)
    )
    served = await serve(models=models)
    run_id = await served.started("measure Paris, measure Lyon")
    await served.finished(run_id)
    page = await (await visit(served.url)).open(f"/runs/{run_id}?worker=plan")
    panel = page.get_by_role("tabpanel")
    await expect(panel).to_contain_text("900 in · 40 out · $0.00072")
    await panel.get_by_role("link", name="custom").click()

    await expect(panel.get_by_role("heading", name="Model call: plan")).to_be_visible()
    await expect(panel.get_by_role("group", name="user message")).to_contain_text("measure Paris, measure Lyon")
    await expect(panel.get_by_role("region", name="Reply")).to_contain_text("measure_1")
    await check_accessible(page, within="[role=tabpanel]")
    await page.go_back()
    await expect(panel.get_by_role("heading", name="Plan", exact=True)).to_be_visible()

    await page.get_by_role("tab", name="Usage").click()
    workers = panel.get_by_role("region", name="Workers")
    await expect(workers.get_by_role("row", name="plan")).to_contain_text("$0.00072")
    await expect(panel.get_by_role("region", name="Models").get_by_role("row", name="custom")).to_be_visible()
    await expect(panel.get_by_role("region", name="Tools").get_by_role("row", name="measure")).to_contain_text("2")
    await check_accessible(page, within="[role=tabpanel]")
