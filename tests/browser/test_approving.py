"""People approve, change, deny and settle calls in the browser, on the run page and on the approvals screen."""

from __future__ import annotations

import json

import pytest
from playwright.async_api import Page, Route, expect
from server.teams import Office

from browser.serving import Served
from browser.visiting import Visitor


async def waiting_run(served: Served, request: str = "pay Ann") -> str:
    """Start a run that waits for an approval; return its ID."""
    run_id = await served.started(request)
    await served.open_approvals(run_id)
    return run_id


async def answered(page: Page) -> None:
    await expect(page.get_by_role("article", name="Answer")).to_be_visible()
    await expect(page.get_by_role("heading", name="Approval needed")).to_have_count(0)


async def test_a_call_is_approved_on_the_run_page(served: Served, ann: Visitor, office: Office) -> None:
    run_id = await served.started("pay Ann, measure Paris")
    page = await ann.open(f"/runs/{run_id}")
    await expect(page.get_by_role("heading", name="Approval needed")).to_be_visible()
    card = page.get_by_role("article", name="Allow pay: to")
    await expect(card).to_contain_text("once: irreversible")
    assert office.calls["Ann 1"] == 0

    await card.get_by_role("button", name="Approve pay", exact=True).click()
    await answered(page)
    await expect(page.get_by_role("article", name="Answer")).to_contain_text("paid 1 to Ann")
    assert office.calls["Ann 1"] == 1
    assert (await served.event(run_id, "approval_answered"))["by"]


@pytest.mark.slow
async def test_changed_arguments_stay_in_the_field_until_they_are_valid(
    served: Served, ann: Visitor, office: Office
) -> None:
    page = await ann.open(f"/runs/{await waiting_run(served)}")
    ann.watch.allow(r"\b4(09|22)\b")
    await page.get_by_role("button", name="Edit arguments of pay").click()
    field, send = page.get_by_label("Arguments"), page.get_by_role("button", name="Approve changes")
    assert json.loads(await field.input_value()) == {"to": "Ann"}
    await field.fill('["Ann"]')  # the console refuses it
    await send.click()
    await expect(field).to_have_attribute("aria-invalid", "true")
    await field.fill('{"to": 7}')  # the service refuses it
    await send.click()
    await expect(page.get_by_role("article", name="Allow pay: to").get_by_role("alert")).to_contain_text("to")
    await expect(field).to_have_value('{"to": 7}')
    assert not office.calls

    await field.fill('{"to": "Bob", "amount": 2.5}')
    await send.click()
    await answered(page)
    assert office.calls == {"Bob 2.5": 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("request_", "opened", "field", "text", "sent", "calls"),
    [
        ("pay Ann, measure Paris", "Deny pay", "Reason (optional)", "we owe Ann nothing", "Deny", {"Paris": 1}),
        ("wire Ann", "Yes, it did: wire", "Result (optional)", "the bank has it", "Confirm", {"wire Ann": 1}),
    ],
)
async def test_a_call_is_denied_or_settled_with_words_that_the_answer_has(
    served: Served, ann: Visitor, office: Office,
    request_: str, opened: str, field: str, text: str, sent: str, calls: dict[str, int],
) -> None:  # fmt: skip
    page = await ann.open(f"/runs/{await waiting_run(served, request_)}")
    await page.get_by_role("button", name=opened).click()
    await page.get_by_label(field).fill(text)
    await page.get_by_role("button", name=sent, exact=True).click()
    await answered(page)
    await expect(page.get_by_role("article", name="Answer")).to_contain_text(text)
    assert office.calls == calls


@pytest.mark.slow
async def test_the_approvals_of_all_runs_are_answered_on_one_screen(
    served: Served, ann: Visitor, office: Office
) -> None:
    for who in ("Ann", "Bob"):
        await waiting_run(served, f"pay {who}")
    page = await ann.open("/approvals")
    cards = page.get_by_role("article", name="Allow pay: to")
    await expect(cards).to_have_count(2)
    await expect(page).to_have_title("(2) Approvals · Leadhand")
    await expect(page.get_by_role("link", name="Approvals")).to_contain_text("2")
    bob = cards.filter(has_text="Bob")
    await bob.get_by_role("button", name="Approve pay", exact=True).click()

    await expect(cards).to_have_count(1)
    await expect(bob).to_have_count(0)
    await expect(page.get_by_role("article", name="Approved: pay: to Bob")).to_be_visible()
    await cards.get_by_role("button", name="Deny pay").click()
    await page.get_by_role("button", name="Deny", exact=True).click()
    await expect(page.get_by_text("No open approvals.")).to_be_visible()
    await served.wait_for(lambda: served.get("/api/runs", status="waiting"), lambda found: not found["runs"])
    assert office.calls == {"Bob 1": 1}


@pytest.mark.slow
async def test_an_approval_can_cover_all_later_calls_of_the_tool_in_the_run(
    served: Served, ann: Visitor, office: Office
) -> None:
    run_id = await served.started("pay Ann, pay Bob")
    await served.open_approvals(run_id, 2)
    page = await ann.open(f"/runs/{run_id}")
    await expect(page.get_by_role("heading", name="2 approvals needed")).to_be_visible()
    await page.get_by_role("button", name="Always approve pay").first.click()
    await answered(page)
    assert office.calls == {"Ann 1": 1, "Bob 1": 1}


@pytest.mark.slow
async def test_an_approval_that_was_answered_elsewhere_shows_a_problem(
    served: Served, ann: Visitor, office: Office
) -> None:
    run_id = await waiting_run(served)
    (card,) = await served.open_approvals(run_id)
    page = await ann.open("/approvals")
    approve = page.get_by_role("button", name="Approve pay", exact=True)
    await expect(approve).to_be_visible()

    async def as_it_was(route: Route) -> None:
        await route.fulfill(json={"approvals": [card]})

    await page.route("**/api/approvals", as_it_was)
    await served.post(f"/api/approvals/{card['approval_id']}", {"decision": "deny"})
    ann.watch.allow(r"\b409\b")
    await approve.click()
    await expect(page.get_by_role("article").get_by_role("alert")).to_contain_text(card["approval_id"])
    await page.unroute("**/api/approvals")
    await waiting_run(served, "pay Bob")
    await expect(page.get_by_role("article", name="Allow pay: to Bob?")).to_be_visible()
    await expect(page.get_by_role("article", name="Allow pay: to Ann?")).to_have_count(0)
    assert not office.calls


@pytest.mark.slow
async def test_no_button_moves_under_the_pointer_when_approvals_come_and_go(
    served: Served, ann: Visitor, office: Office
) -> None:
    ids = {who: await waiting_run(served, f"pay {who}") for who in ("Ann", "Bob")}
    page = await ann.open("/approvals")
    cards = page.get_by_role("article")
    await expect(cards).to_have_count(2)
    bob = page.get_by_role("article", name="Allow pay: to Bob?")
    approve = bob.get_by_role("button", name="Approve pay", exact=True)
    place = await approve.bounding_box()

    await waiting_run(served, "pay Cid")  # a new one comes last
    await expect(cards).to_have_count(3)
    await expect(cards.last).to_contain_text("Cid")
    assert await approve.bounding_box() == place
    (asked,) = await served.open_approvals(ids["Ann"])
    await served.post(f"/api/approvals/{asked['approval_id']}", {"decision": "deny"})  # one is answered elsewhere
    await expect(page.get_by_role("article", name="Answered elsewhere: pay: to Ann")).to_be_visible()
    assert await approve.bounding_box() == place


@pytest.mark.slow
async def test_a_click_on_a_card_that_has_just_moved_is_ignored(served: Served, ann: Visitor, office: Office) -> None:
    await waiting_run(served)
    page = await ann.open("/approvals")
    approve = page.get_by_role("button", name="Approve pay", exact=True)
    await expect(approve).to_be_enabled()
    held = await page.evaluate(
        """async () => {
          const button = document.querySelector(".approval .button.primary");
          const grown = document.createElement("div");
          grown.style.height = "120px";
          document.querySelector(".approvals").prepend(grown);
          await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
          button.click();
          return button.getAttribute("aria-disabled");
        }"""
    )
    assert held == "true"
    await expect(approve).to_be_enabled()
    assert not office.calls
    await approve.click()
    await expect(page.get_by_text("No open approvals.")).to_be_visible()


@pytest.mark.slow
async def test_approvals_are_answered_with_the_keyboard_alone(served: Served, ann: Visitor, office: Office) -> None:
    await waiting_run(served, "pay Ann")
    await waiting_run(served, "pay Bob")
    page = await ann.open("/runs")
    await expect(page.get_by_role("link", name="pay Ann")).to_be_visible()
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Go to approvals")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)

    await page.keyboard.press("g")
    await page.keyboard.press("a")
    await expect(page.get_by_role("heading", name="Approvals", level=1)).to_be_visible()
    cards = page.get_by_role("article", name="Allow pay: to")
    await expect(cards).to_have_count(2)
    await page.keyboard.press("a")  # no card has the focus: nothing is approved from afar
    await page.keyboard.press("j")
    await expect(cards.first).to_be_focused()
    assert not office.calls
    first = "Ann" if "Ann" in (await cards.first.inner_text()) else "Bob"
    await page.keyboard.press("a")
    await expect(cards).to_have_count(1)

    await page.keyboard.press("j")
    await expect(cards.first).to_be_focused()
    await page.keyboard.press("d")
    await page.keyboard.type("too dear")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("No open approvals.")).to_be_visible()
    await served.wait_for(lambda: served.get("/api/runs", status="waiting"), lambda found: not found["runs"])
    assert office.calls == {f"{first} 1": 1}
