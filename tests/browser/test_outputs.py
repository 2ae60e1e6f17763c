"""A run page shows the todo list and the artifacts of its run, live."""

from __future__ import annotations

from hashlib import sha256

import pytest
from playwright.async_api import expect

from browser.conftest import OpenServer, Visit
from browser.notes import PATH, Notebook, noise_notes


@pytest.mark.slow
async def test_todos_and_artifacts_are_shown_and_follow_the_run(serve: OpenServer, visit: Visit) -> None:
    notebook = Notebook()
    served = await serve(models=notebook.models, tools=notebook.tools, flows=[noise_notes])
    run_id = await served.started("Noise at night", flow="notes")
    page = await (await visit(served.url)).open(f"/runs/{run_id}")
    panel = page.get_by_role("tabpanel")

    await page.get_by_role("tab", name="Todos (1/3)").click()
    await expect(panel.get_by_role("listitem")).to_have_count(3)
    await expect(panel.get_by_role("listitem").nth(0)).to_contain_text("Read the metersCompleted")
    await expect(panel.get_by_role("listitem").nth(1)).to_contain_text("Compare the townsIn progress, high priority")
    await expect(panel.get_by_role("listitem").nth(2)).to_contain_text("Write the reportPending")
    await expect(page.get_by_role("tab", name="Order")).to_have_count(0)

    await page.get_by_role("tab", name="Artifacts (1)").click()
    await expect(panel).to_contain_text(PATH)
    await expect(panel).to_contain_text("version 1")
    notebook.gate.set()
    await expect(panel).to_contain_text("version 2")
    await expect(panel).to_contain_text("24 B")
    await panel.get_by_role("button", name=PATH).click()
    file = panel.get_by_role("region", name=PATH)
    await expect(file.get_by_role("heading", name="Noise")).to_have_count(3)  # Markdown
    await served.finished(run_id)
    document = await served.get(f"/api/runs/{run_id}", include="artifacts")
    (latest,) = [each for each in document["artifacts"] if each["version"] == 2]
    await expect(file).to_contain_text(latest["digest"])
    async with page.expect_download() as downloading:
        await file.get_by_role("link", name="Download").click()
    downloaded = (await (await downloading.value).path()).read_bytes()
    assert (len(downloaded), f"sha256:{sha256(downloaded).hexdigest()}") == (24, latest["digest"])

    await file.get_by_label("Version").select_option(label="1, by Noise at night")
    await expect(file.get_by_role("heading", name="Noise")).to_have_count(1)
    await expect(file).to_contain_text("8 B")

    await panel.get_by_role("link", name="Noise at night").first.click()
    await expect(panel.get_by_role("heading", name="Noise at night", level=2)).to_be_visible()
    await page.get_by_role("tab", name="Todos (3/3)").click()
    await page.reload()
    await expect(panel.get_by_role("listitem").nth(2)).to_contain_text("Completed")
