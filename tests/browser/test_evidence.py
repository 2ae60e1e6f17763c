"""What stands beside an answer: what was done, who judged its claims, and each doubt, also at its place in the text."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page, expect
from server.teams import team

from browser.conftest import OpenServer, Visit
from browser.judging import PHONE, check_accessible, check_width
from browser.serving import Served
from browser.visiting import Visitor
from leadhand.testing.scripted_model import ScriptedModel, fails, judges, reviews, says

SOUND, BOAST, LIE = "Paris is at 40 dB.", "It is **by far** the loudest town of France.", "Bob got 25 euros."
DOUBTS = (
    {"verdict": "unconfirmed", "part": BOAST, "why": "No result compares towns."},
    {"part": "25 euros", "why": "The amount is another.", "evidence": "wo-001.1", "quote": "paid 1 to Bob"},
)


def writing(*claims: str) -> ScriptedModel:
    """Return a team whose answer makes these claims, each in a paragraph, and whose judge has doubts."""
    answer = "\n\n".join(claims)
    review, corrected = reviews(accept=["wo-001.0", "wo-001.1"], answer=answer), lambda _: says(answer)
    return team(review=review, correct=corrected, judge=judges(*DOUBTS))


async def _answered(serve: OpenServer, visit: Visit, *claims: str, **options: Any) -> tuple[Served, Page, Any]:
    """Return the server, the page of a finished run whose answer makes these claims, and its document."""
    served = await serve(**{"models": writing(*claims), "check": "judge", "approve": "auto", **options})
    run_id = await served.started("measure Paris, pay Bob")
    document = await served.finished(run_id)
    return served, await (await visit(served.url)).open(f"/runs/{run_id}"), document


async def test_doubts_stand_beside_the_answer_and_lead_from_their_words(serve: OpenServer, visit: Visit) -> None:
    _, page, document = await _answered(serve, visit, SOUND, BOAST, LIE)
    assert document["evidence"]["contradicted"] == document["evidence"]["unconfirmed"] == 1
    answer = page.get_by_role("article", name="Answer")
    evidence = answer.get_by_role("region", name="Evidence")
    await expect(evidence).to_contain_text(document["evidence"]["judged_by"])
    await expect(evidence.get_by_role("link", name="pay · Bob")).to_be_visible()
    doubts = evidence.get_by_role("list", name="Doubts").get_by_role("listitem")
    await expect(doubts).to_have_count(2)
    marks = [answer.get_by_role("link", name=each["why"]) for each in DOUBTS]
    words = [await mark.inner_text() for mark in marks]
    assert words[0][:1] != words[1][:1], "the signs differ"
    assert words[0][1:] != words[1][1:], "the words differ"
    for line, mark, word, doubt in zip(await doubts.all(), marks, words, DOUBTS, strict=True):
        await expect(line).to_contain_text(f"{word}: “{doubt['part']}”. {doubt['why']}")
        await expect(line).to_contain_text(doubt.get("quote", ""))
        await mark.click()
        assert await line.evaluate("line => line.matches(':target')")
    marked = answer.locator(".claim")
    await expect(marked.filter(has_text="25 euros")).not_to_contain_text("Bob got")
    await expect(marked.filter(has_text="loudest")).to_contain_text("It is by far")
    await check_accessible(page, within="[role=tabpanel]")
    await page.emulate_media(color_scheme="dark")
    await check_accessible(page, "color-contrast", within="[role=tabpanel]")

    await page.get_by_role("link", name="Reading view").click()
    await expect(page.get_by_role("link", name="Back to the run")).to_be_visible()
    await expect(doubts).to_have_count(2)
    await page.set_viewport_size(PHONE)
    await check_width(page)


@pytest.mark.slow
async def test_a_confirmed_contradiction_is_the_headline_with_its_cause(serve: OpenServer, visit: Visit) -> None:
    _, page, document = await _answered(serve, visit, SOUND, LIE)
    assert document["status"] == "partial"
    outcome = page.locator(".run-head .problem")
    await expect(outcome).to_contain_text(document["outcome"]["headline"])
    (cause,) = document["outcome"]["causes"]
    await expect(outcome.get_by_role("listitem")).to_have_text(cause)
    await outcome.get_by_role("button", name="Follow up…").click()
    await expect(page.get_by_role("textbox", name="Follow-up")).to_be_focused()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("claims", "options", "doubts", "notes"),
    [
        ((SOUND, BOAST), {}, 1, 2),  # what was done, and who judged: a doubt changes no status
        ((SOUND, LIE), {"check": "exact"}, 0, 2),  # no model judged
        ((SOUND,), {"models": team(judge=fails("unavailable", "http_401", "no such key"))}, 0, 2),
    ],
)
async def test_an_answer_says_who_judged_it_or_why_nobody_did(
    serve: OpenServer, visit: Visit, claims: tuple[str, ...], options: dict[str, Any], doubts: int, notes: int
) -> None:
    _, page, document = await _answered(serve, visit, *claims, **options)
    assert document["status"] == "succeeded"
    beside = page.get_by_role("region", name="Evidence")
    await expect(beside.locator("> p")).to_have_count(notes)
    await expect(beside).to_contain_text(
        document["evidence"].get("not_judged") or document["evidence"]["judged_by"] or ""
    )
    await expect(page.get_by_role("list", name="Doubts").get_by_role("listitem")).to_have_count(doubts)
    await expect(page.locator(".run-state .status")).to_have_class("status tone-good")
    await expect(page.locator(".run-head .problem")).to_have_count(0)


@pytest.mark.slow
async def test_the_form_chooses_who_checks_and_whether_doubts_count(serve: OpenServer, visit: Visit) -> None:
    served = await serve(models=writing(SOUND, BOAST), approve="auto", check="off")
    page = await (await visit(served.url)).open("/runs")
    await page.get_by_label("Request").fill("measure Paris, pay Bob")
    await page.get_by_text("Advanced").click()
    await page.get_by_label("Check").select_option(label="judge")
    await page.get_by_label("Strict").select_option(label="yes")
    await page.get_by_role("button", name="Start").click()
    await expect(page.get_by_role("list", name="Doubts").get_by_role("listitem")).to_have_count(1)
    await expect(page.locator(".run-state")).to_contain_text("Partial")
    definition = (await served.event(page.url.rpartition("/")[2], "run_started"))["definition"]
    assert (definition["check"], definition["strict"]) == ("judge", True)

    await page.get_by_role("button", name="Run again…").click()
    await expect(page.get_by_label("Request")).to_have_value("measure Paris, pay Bob")
    await page.get_by_text("Advanced").click()
    await expect(page.get_by_label("Check")).to_have_value('"judge"')
    await expect(page.get_by_label("Strict")).to_have_value("true")


@pytest.mark.slow
async def test_the_outcome_offers_the_first_action_of_the_run_document(served: Served, ann: Visitor) -> None:
    run_id = await served.started("measure Paris, measure Oslo")
    document = await served.finished(run_id)
    page = await ann.open(f"/runs/{run_id}")
    outcome = page.locator(".run-head .problem")
    await expect(outcome).to_contain_text(document["outcome"]["headline"])
    await expect(outcome.get_by_role("listitem")).to_have_text(document["outcome"]["causes"])
    assert [each["action"] for each in document["outcome"]["actions"]] == ["retry", "follow_up"]
    await expect(outcome.get_by_role("button")).to_have_text(["Retry failed (1)"])  # one next step
    await expect(page.get_by_role("button", name="Retry failed")).to_have_count(1)


@pytest.mark.slow
async def test_an_answer_from_sample_services_says_so(serve: OpenServer, visit: Visit) -> None:
    served = await serve(models=None, tools=None, offline=True)
    run_id = await served.started("Weather in Paris tomorrow")
    assert (await served.finished(run_id))["sample"]
    page = await (await visit(served.url)).open(f"/runs/{run_id}")
    notes = page.get_by_role("region", name="Evidence").get_by_role("paragraph")
    await expect(notes).to_have_count(3)  # what was done, on made-up data, and that no model judged
