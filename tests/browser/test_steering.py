"""Actions on a run and its subtasks: cancel, pause, retry, fork, supply, skip."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, expect
from server.teams import Office

from browser.serving import Served
from browser.visiting import Visitor

SAYS_WHY = re.compile(r"\w")


async def shown(ann: Visitor, run_id: str, place: str = "") -> Page:
    page = await ann.open(f"/runs/{run_id}{place}")
    await expect(page.get_by_role("listbox", name="Workers").get_by_role("option").first).to_be_visible()
    return page


@pytest.mark.slow
async def test_a_cancelled_run_keeps_finished_work_as_the_dialog_says(
    served: Served, ann: Visitor, office: Office
) -> None:
    run_id = await served.started("measure Paris, measure Rome")
    page = await shown(ann, run_id)
    await expect(page.locator(".figures").get_by_text("1 of 2 completed")).to_be_visible()
    await page.get_by_role("button", name="Cancel…").click()

    dialog = page.get_by_role("dialog", name="Cancel this run?")
    await expect(dialog).to_contain_text("1 of 2 subtasks")
    await dialog.get_by_role("button", name="Keep running").click()
    await expect(dialog).to_have_count(0)
    assert (await served.get(f"/api/runs/{run_id}"))["status"] == "running"

    await page.get_by_role("button", name="Cancel…").click()
    await dialog.get_by_role("button", name="Cancel run").click()
    await expect(page.locator(".run-state")).to_contain_text("Cancelled")
    await expect(page.get_by_role("article", name="Answer")).to_contain_text("Paris: 40 dB")
    headline = (await served.finished(run_id))["outcome"]["headline"]
    await expect(page.locator(".run-head .problem")).to_contain_text(headline)
    await expect(page.locator(".figures")).to_contain_text("1 cancelled")
    await expect(page.get_by_role("option", name="Rome")).to_have_accessible_name(re.compile("Cancelled"))
    await expect(page.get_by_role("button", name="Cancel…")).to_have_count(0)
    requested = await served.event(run_id, "run_requested")
    assert requested["what"] == "cancel"
    assert requested["by"]


@pytest.mark.slow
async def test_a_paused_run_resumes_where_it_was(served: Served, ann: Visitor, office: Office) -> None:
    run_id = await served.started("measure Paris, measure Rome")
    page = await shown(ann, run_id)
    await expect(page.locator(".figures").get_by_text("1 of 2 completed")).to_be_visible()
    await page.get_by_role("button", name="Pause").click()
    await expect(page.locator(".run-state")).to_contain_text("Paused")
    office.gate.set()

    await page.get_by_role("button", name="Resume").click()
    await expect(page.get_by_role("article", name="Answer")).to_contain_text("Rome: 40 dB")
    assert office.calls["Paris"] == 1


@pytest.mark.slow
async def test_a_retry_repeats_only_what_failed(served: Served, ann: Visitor, office: Office) -> None:
    run_id = await served.started("measure Paris, measure Oslo")
    page = await shown(ann, run_id)
    await expect(page.locator(".run-state")).to_contain_text("Partial")
    answer = page.get_by_role("article", name="Answer")
    await expect(answer).to_contain_text("the microphone is broken")
    await expect(answer.get_by_role("link", name="Oslo")).to_have_attribute("href", re.compile(r"worker=wo-001\.1"))
    office.broken.clear()

    await page.locator(".run-head .problem").get_by_role("button", name="Retry failed (1)").click()
    dialog = page.get_by_role("dialog", name="Retry the failed subtask?")
    await dialog.get_by_role("button", name="Retry").click()
    await expect(page.locator(".run-state")).to_contain_text("Succeeded")
    await expect(answer).to_contain_text("Oslo: 40 dB")
    assert office.calls == {"Paris": 1, "Oslo": 2}
    await page.get_by_role("tab", name="Order").click()  # it is repeated in its place, by no further order
    await expect(page.get_by_role("tabpanel")).not_to_contain_text("Repairs")


@pytest.mark.slow
async def test_a_finished_run_is_run_again_with_its_options_or_others(
    served: Served, ann: Visitor, office: Office
) -> None:
    run_id = await served.started("measure Paris", limits={"budget": 0.5, "max_tokens": 900_000}, approve="never")
    await served.finished(run_id)
    page = await shown(ann, run_id)
    await page.get_by_role("button", name="Run again…").click()
    request = page.get_by_label("Request")
    await expect(request).to_have_value("measure Paris")
    await expect(page.get_by_label("Budget")).to_have_value("0.5")
    await request.fill("measure Rome")
    await page.reload()  # what is typed survives
    await expect(request).to_have_value("measure Rome")
    await page.get_by_role("button", name="Start").click()

    await expect(page.get_by_role("heading", name="measure Rome", level=1)).to_be_visible()
    again = await served.get(f"/api/runs/{page.url.rsplit('/')[-1]}")
    before = await served.get(f"/api/runs/{run_id}")
    assert again["limits"] == before["limits"]
    assert again["run_id"] != run_id


@pytest.mark.slow
@pytest.mark.parametrize("selected", [True, False])
async def test_a_finished_run_forks_at_the_selected_event_or_before_its_end(
    served: Served, ann: Visitor, office: Office, selected: bool
) -> None:
    run_id = await served.started("measure Paris")
    await served.finished(run_id)
    planned, end = [(await served.event(run_id, type_))["seq"] for type_ in ("order_issued", "run_finished")]
    page = await shown(ann, run_id, f"?seq={planned}" * selected)
    await page.get_by_role("button", name="Fork…").click()
    dialog = page.get_by_role("dialog", name="Fork this run")
    await expect(dialog.get_by_label("Last event to copy")).to_have_value(str(planned if selected else end - 1))
    await dialog.get_by_role("button", name="Fork").click()
    await expect(page.locator(".run-state")).to_contain_text(f"forked from {run_id}")
    await expect(page.get_by_role("article", name="Answer")).to_contain_text("Paris: 40 dB")
    assert office.calls["Paris"] == 1 + selected


@pytest.mark.slow
async def test_a_fork_that_may_repeat_an_irreversible_call_needs_a_confirmation(
    served: Served, ann: Visitor, office: Office
) -> None:
    run_id = await served.started("pay Ann", approve="auto")
    await served.finished(run_id)
    planned = (await served.event(run_id, "order_issued"))["seq"]
    page = await shown(ann, run_id, f"?seq={planned}")
    ann.watch.allow(r"\b409\b")
    await page.get_by_role("button", name="Fork…").click()
    dialog = page.get_by_role("dialog", name="Fork this run")
    await dialog.get_by_role("button", name="Fork", exact=True).click()

    await expect(dialog.get_by_role("alert")).to_contain_text("irreversible calls")
    await expect(dialog.get_by_role("alert")).to_contain_text("pay · Ann (event ")
    assert office.calls["Ann 1"] == 1
    await dialog.get_by_role("button", name="Fork anyway").click()
    await expect(page.locator(".run-state")).to_contain_text(f"forked from {run_id}")
    await expect(page.get_by_role("article", name="Answer")).to_contain_text("paid 1 to Ann")
    assert office.calls["Ann 1"] == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "fields", "shown_as"),
    [
        ("Supply result", {"Summary": "Oslo: 35 dB, by ear", "Data (JSON": '{"dB": 35}'}, "Completed"),
        ("Skip", {"Reason (shown in the answer)": "nobody lives there"}, "Skipped"),
    ],
)
async def test_a_failed_subtask_gets_its_result_from_a_person_or_is_skipped(
    served: Served, ann: Visitor, office: Office, action: str, fields: dict[str, str], shown_as: str
) -> None:
    run_id = await served.started("measure Paris, measure Oslo, measure Rome")
    page = await shown(ann, run_id)
    oslo = page.get_by_role("option", name="Oslo")
    await oslo.and_(page.get_by_role("option", name="Failed")).click()
    await page.get_by_role("button", name=f"{action}…").click()
    dialog = page.get_by_role("dialog")
    for label, text in fields.items():
        await dialog.get_by_label(label).fill(text)
    await dialog.get_by_role("button", name=action, exact=True).click()
    await expect(dialog).to_have_count(0)
    await expect(oslo.and_(page.get_by_role("option", name=shown_as))).to_be_visible()
    office.gate.set()

    await page.get_by_role("tab", name="Answer").click()
    await expect(page.get_by_role("article", name="Answer")).to_contain_text(next(iter(fields.values())))
    assert office.calls["Oslo"] == 1
    requested = await served.event(run_id, "step_requested")
    assert requested["what"] in action.lower()
    assert requested["by"]


@pytest.mark.slow
async def test_unavailable_actions_say_why(served: Served, ann: Visitor, office: Office) -> None:
    run_id = await served.started("measure Paris, measure Rome")
    page = await shown(ann, run_id, "?worker=wo-001.1")
    skip = page.get_by_role("button", name="Skip…")
    await expect(skip).to_be_disabled()
    await expect(skip).to_have_attribute("title", SAYS_WHY)
    office.gate.set()
    await expect(page.locator(".run-state")).to_contain_text("Succeeded")
    await expect(page.get_by_role("button", name="Retry…")).to_have_attribute("title", SAYS_WHY)


@pytest.mark.slow
async def test_a_subtask_is_retried_with_other_arguments(served: Served, ann: Visitor, office: Office) -> None:
    run_id = await served.started("measure Paris, measure Oslo")
    await served.finished(run_id)
    page = await shown(ann, run_id, "?worker=wo-001.1")
    await page.get_by_role("button", name="Retry…").click()
    dialog = page.get_by_role("dialog", name="Retry measure")
    field = dialog.get_by_label("Arguments (JSON)")
    await field.fill("{place: Bergen}")
    await dialog.get_by_role("button", name="Retry", exact=True).click()
    await expect(field).to_have_attribute("aria-invalid", "true")
    await field.fill('{"place": "Bergen"}')
    await dialog.get_by_role("button", name="Retry", exact=True).click()

    await expect(page.locator(".run-state")).to_contain_text("Succeeded")
    await page.get_by_role("tab", name="Answer").click()
    await expect(page.get_by_role("article", name="Answer")).to_contain_text("Bergen: 40 dB")
