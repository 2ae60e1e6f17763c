"""Fixtures of the browser tests: one Chromium, servers, and pages whose faults fail the test."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect
from server.teams import Office, team

from browser.chromium import ARGUMENTS, FOR_SHORT_VISITS, NAMES, SHELL, executable
from browser.judging import SCREENSHOTS
from browser.serving import Served
from browser.visiting import PATIENCE_MS, Profiles, Visitor
from leadhand.server.console import built_console

HERE = Path(__file__).parent
PROVIDERS = ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "GROQ", "MISTRAL", "OPENROUTER", "DEEPSEEK", "XAI", "COHERE")

expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run all tests of this folder in the loop of the browser."""
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.fixture(scope="session", autouse=True)
def _console() -> None:
    if built_console() is None:
        pytest.skip("the console is not built: uv sync --reinstall-package leadhand")


@pytest.fixture(autouse=True)
def _no_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide API keys of providers and the settings of the user."""
    for name in list(os.environ):
        if name.startswith((*PROVIDERS, "LEADHAND_", "OLLAMA_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")  # no model listens there


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """A Chromium."""
    path = executable(SHELL, *NAMES)
    if path is None:
        pytest.skip(f"no Chromium on PATH (looked for {', '.join((SHELL, *NAMES))})")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=[*ARGUMENTS, *FOR_SHORT_VISITS])
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def office() -> AsyncIterator[Office]:
    """Tools that wait for the gate, which opens when the test is over at the latest."""
    office = Office()
    yield office
    office.gate.set()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def profiles(browser: Browser) -> Profiles:
    """The profiles of the browser."""
    return Profiles(browser)


OpenServer = Callable[..., Awaitable[Served]]


@pytest_asyncio.fixture(loop_scope="session")
async def serve(tmp_path: Path, office: Office) -> AsyncIterator[OpenServer]:
    """Serve apps with the tools of the office and a lead that plans by the words of the request."""
    async with contextlib.AsyncExitStack() as opened:

        async def serve_(**options: Any) -> Served:
            given: dict[str, Any] = {"models": team(), "tools": office.tools, **options}
            return await opened.enter_async_context(Served(given.pop("home", tmp_path / "home"), **given))

        yield serve_
        office.gate.set()


@pytest_asyncio.fixture(loop_scope="session")
async def served(serve: OpenServer) -> Served:
    """A server that requires no key."""
    return await serve()


Visit = Callable[..., Awaitable[Visitor]]


@pytest_asyncio.fixture(loop_scope="session")
async def visit(profiles: Profiles, request: pytest.FixtureRequest) -> AsyncIterator[Visit]:
    """Make visitors. Faults of their pages fail the test; pictures of the pages of a failed test are kept."""
    visitors: list[Visitor] = []

    async def visit_(url: str, **options: Any) -> Visitor:
        visitors.append(Visitor(await profiles.page(), url, **options))
        return visitors[-1]

    yield visit_
    if request.node.stash.get(FAILED, False):
        SCREENSHOTS.mkdir(exist_ok=True)
        pages = [page for visitor in visitors for page in visitor.context.pages]
        for number, page in enumerate(pages):
            await page.screenshot(path=SCREENSHOTS / f"failed-{request.node.name}-{number}.png")
        for visitor in visitors:
            await visitor.context.close()
    else:
        for visitor in visitors:
            profiles.keep(await visitor.leave())
    for visitor in visitors:
        visitor.watch.check()


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember that a test failed, for the fixtures that end after it."""
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


@pytest_asyncio.fixture(loop_scope="session")
async def ann(served: Served, visit: Visit) -> Visitor:
    """A visitor of the server of this test."""
    return await visit(served.url)
