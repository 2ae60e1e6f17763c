"""A run that waits for the answer to a question: people find it and answer it in the browser."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, Route, expect
from server.teams import Office, team

from browser.conftest import OpenServer, Visit
from browser.judging import PHONE, check_accessible, check_width
from browser.serving import Served
from browser.test_access import REFUSED, key_of, log_in
from leadhand import Worker
from leadhand.app.steering.access import Scope
from leadhand.flows import FlowContext, flow
from leadhand.ports.models import ModelRequest
from leadhand.server.app import Doors
from leadhand.testing.scripted_model import ScriptedModel, Step, brief_of, gives, plans, says, subtask

QUESTION = "Which Springfield do you mean?"


def _planner(request: ModelRequest) -> Step:
    """Ask first; plan what was answered."""
    answered = brief_of(request).get("answered")
    if not answered:
        return gives({"question": QUESTION})
    return plans(subtask("measure_0", "measure", place=answered[-1]["answer"]))


WRITER = Worker("writer", "Write about the dish.", tools=())


@flow
async def menu(run: FlowContext):
    """Ask which dish, and write about it."""
    return await run.ask(WRITER, dish=await run.person("Which dish?", choices=["Soup", "Cake"]))


async def _asking(served: Served) -> str:
    """Start a run that asks; return its ID."""
    run_id = await served.started("measure Springfield")
    await served.until(run_id, "waiting")
    return run_id


async def test_a_run_that_asks_is_found_and_answered_with_the_keyboard(serve: OpenServer, visit: Visit) -> None:
    served = await serve(models=team(plan=_planner))
    run_id = await _asking(served)
    page = await (await visit(served.url)).open("/runs")
    await page.get_by_label("Waiting for you").check()
    await expect(page.locator("a.run-link")).to_have_text(["measure Springfield"])
    await expect(page.get_by_role("link", name="Approvals")).to_contain_text("1")
    await page.get_by_role("link", name="Approvals").click()
    await page.get_by_role("region", name="Questions").get_by_role("link", name="measure Springfield").click()

    box = page.get_by_role("region", name="The run asks")
    await expect(box).to_contain_text(QUESTION)
    await expect(page.get_by_role("status").filter(has_text=QUESTION)).to_be_visible()  # announced
    await check_accessible(page)
    await page.set_viewport_size(PHONE)
    await check_width(page)
    field = box.get_by_label("Your answer")
    await field.focus()
    await page.keyboard.type("Springfield, Oregon")
    await page.keyboard.press("Tab")
    await expect(box.get_by_role("button", name="Answer", exact=True)).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(box).to_have_count(0)
    await expect(page.get_by_role("article", name="Answer")).to_contain_text("Springfield, Oregon: 40 dB")
    answered = await served.event(run_id, "question_answered")
    assert (answered["text"], bool(answered["by"])) == ("Springfield, Oregon", True)


@pytest.mark.slow
async def test_a_choice_is_an_answer(serve: OpenServer, visit: Visit) -> None:
    served = await serve(models=ScriptedModel([says("Good.")]), flows=[menu])
    run_id = await served.started("Dinner", flow="menu")
    page = await (await visit(served.url)).open(f"/runs/{run_id}")
    choices = page.get_by_role("group", name="Choices").get_by_role("button")
    await expect(choices).to_have_text(["Soup", "Cake"])
    await choices.last.click()
    await expect(page.get_by_role("article", name="Answer")).to_contain_text("Good.")
    assert (await served.event(run_id, "question_answered"))["text"] == "Cake"


@pytest.mark.slow
async def test_a_question_that_was_answered_elsewhere_shows_a_problem(
    serve: OpenServer, visit: Visit, office: Office
) -> None:
    served = await serve(models=team(plan=_planner))
    run_id = await _asking(served)
    before = await served.get(f"/api/runs/{run_id}")
    visitor = await visit(served.url)
    visitor.watch.allow(r"\b409\b")
    page = await visitor.open(f"/runs/{run_id}")
    box = page.get_by_role("region", name="The run asks")
    await box.get_by_label("Your answer").fill("Paris")

    async def as_it_was(route: Route) -> None:
        await route.fulfill(json=before)

    await page.route(f"**/api/runs/{run_id}?*", as_it_was)
    await served.post(f"/api/runs/{run_id}/answer", {"text": "Rome"})  # the run waits at the gate
    await box.get_by_role("button", name="Answer", exact=True).click()
    await expect(page.locator(".announcer")).not_to_be_empty()
    await page.unroute(f"**/api/runs/{run_id}?*")
    office.gate.set()
    await expect(page.get_by_role("article", name="Answer")).to_contain_text("Rome: 40 dB")
    await expect(box).to_have_count(0)


@pytest.mark.slow
async def test_a_key_that_may_only_read_sees_the_question_without_a_field(serve: OpenServer, visit: Visit) -> None:
    served = await serve(models=team(plan=_planner), doors=Doors(key_needed=True))
    _, owner = await key_of(served)
    _, reader = await key_of(served, Scope.READ_ALL, name="bob")
    visitors = [await visit(served.url) for _ in range(2)]
    pages: list[Page] = []
    for visitor, secret in zip(visitors, (owner, reader), strict=True):
        visitor.watch.allow(REFUSED)
        pages.append(await visitor.open("/runs"))
        await log_in(pages[-1], secret)
    await pages[0].get_by_label("Request").fill("measure Springfield")
    await pages[0].get_by_role("button", name="Start").click()
    await pages[1].get_by_role("link", name="measure Springfield").click()
    for page, fields in zip(pages, (1, 0), strict=True):
        box = page.get_by_role("region", name="The run asks")
        await expect(box).to_contain_text(QUESTION)
        await expect(box.get_by_label("Your answer")).to_have_count(fields)
