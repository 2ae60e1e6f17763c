"""A server that requires keys: logging in, the limits of a key, and logging out."""

from __future__ import annotations

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from browser.conftest import OpenServer, Visit
from browser.serving import Served
from browser.visiting import Visitor
from leadhand.app.steering.access import ApiKey, Scope
from leadhand.app.steering.keys import make_key, revoke
from leadhand.server.app import Doors

REFUSED = r"\b401\b"


@pytest_asyncio.fixture(loop_scope="session")
async def guarded(serve: OpenServer) -> Served:
    """A server that requires a key."""
    return await serve(doors=Doors(key_needed=True))


async def key_of(guarded: Served, *scopes: Scope, name: str = "ann") -> tuple[ApiKey, str]:
    return await make_key(guarded.runtime.database, name, scopes or (Scope.READ, Scope.RUN, Scope.APPROVE))


async def log_in(page: Page, secret: str) -> None:
    await page.get_by_label("API key").fill(secret)
    await page.get_by_role("button", name="Log in").click()


async def test_a_wrong_key_is_refused_and_a_right_key_opens_the_requested_page(guarded: Served, visit: Visit) -> None:
    _, secret = await key_of(guarded)
    visitor = await visit(guarded.url)
    visitor.watch.allow(REFUSED)
    page = await visitor.open("/approvals?seq=1")
    await expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    await expect(page.get_by_role("navigation", name="Screens")).to_have_count(0)
    await log_in(page, "lh_" + "x" * 43)
    await expect(page.get_by_role("alert")).to_be_visible()
    await expect(page.get_by_label("API key")).to_have_value("lh_" + "x" * 43)

    await log_in(page, f"  {secret}\n")
    await expect(page.get_by_role("heading", name="Approvals", level=1)).to_be_visible()
    await expect(page.locator(".header")).to_contain_text("ann")
    assert secret not in await page.evaluate("JSON.stringify({...localStorage, ...sessionStorage}) + document.cookie")
    await page.reload()
    await expect(page.get_by_role("heading", name="Approvals", level=1)).to_be_visible()
    (cookie,) = await visitor.context.cookies()
    assert cookie.get("httpOnly") is True
    assert cookie.get("sameSite") == "Strict"


@pytest.mark.slow
async def test_logging_out_and_a_revoked_key_lead_back_to_the_login(guarded: Served, visit: Visit) -> None:
    key, secret = await key_of(guarded)
    visitor = await visit(guarded.url)
    visitor.watch.allow(REFUSED)
    page = await visitor.open("/runs")
    await log_in(page, secret)
    await page.get_by_role("button", name="Log out").click()
    await expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert await page.evaluate("fetch('/api/runs').then(answer => answer.status)") == 401

    await log_in(page, secret)
    await page.get_by_label("Request").fill("measure Paris, measure Rome")
    await page.get_by_role("button", name="Start").click()
    await expect(page.locator(".figures").get_by_text("1 of 2 completed")).to_be_visible()
    composer = await visitor.open("/runs")
    await composer.get_by_label("Request").fill("measure Paris")
    await revoke(guarded.runtime.database, key)
    for each in (page, composer):  # a stream that ends, and a list that is loaded again
        await expect(each.get_by_role("heading", name="Log in")).to_be_visible()
    _, other = await key_of(guarded)
    await log_in(composer, other)
    await expect(composer.get_by_label("Request")).to_have_value("measure Paris")


@pytest.mark.slow
async def test_actions_that_the_key_does_not_allow_are_not_offered(guarded: Served, visit: Visit) -> None:
    _, all_scopes = await key_of(guarded)
    _, reader = await key_of(guarded, Scope.READ_ALL, name="bob")
    owner: Visitor = await visit(guarded.url)
    owner.watch.allow(REFUSED)
    page = await owner.open("/runs")
    await log_in(page, all_scopes)
    await page.get_by_label("Request").fill("pay Ann")
    await page.get_by_role("button", name="Start").click()
    await expect(page.get_by_role("button", name="Approve pay", exact=True)).to_be_visible()

    guest: Visitor = await visit(guarded.url)
    guest.watch.allow(REFUSED)
    watched = await guest.open(page.url.removeprefix(guarded.url))
    await log_in(watched, reader)
    await expect(watched.get_by_role("heading", name="Allow pay: to")).to_be_visible()
    await expect(watched.get_by_role("button", name="Approve pay", exact=True)).to_have_count(0)
    await expect(watched.get_by_role("button", name="Cancel…")).to_have_count(0)
    await watched.get_by_role("link", name="Runs", exact=True).click()
    await expect(watched.get_by_role("link", name="pay Ann")).to_be_visible()
    await expect(watched.get_by_label("Request")).to_have_count(0)
