"""What the service's tests share: apps on teams of their own, real servers, tools that wait for a word."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from server.doors import Door, Served, door
from server.teams import Office, team

from leadhand.server.app import routed

PROVIDERS = ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "GROQ", "MISTRAL", "OPENROUTER", "DEEPSEEK", "XAI", "COHERE")


@pytest.fixture(autouse=True)
def _no_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """No provider's key and nothing of a user's own is in reach."""
    for name in list(os.environ):
        if name.startswith((*PROVIDERS, "LEADHAND_", "OLLAMA_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("LEADHAND_CHECK", "exact")
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")  # nobody listens there


@pytest.fixture(scope="session")
def document() -> dict[str, Any]:
    """The OpenAPI document. It takes a second: only a process that reads it makes it."""
    return routed().openapi()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    """Tools that wait for a word; they get it when the test is over."""
    office = Office()
    yield office
    office.gate.set()


OpenDoor = Callable[..., Awaitable[Door]]
OpenServer = Callable[..., Awaitable[Served]]


@pytest.fixture
async def open_door(home: Path, office: Office) -> AsyncIterator[OpenDoor]:
    """Opens apps, asked without a network: on the office's tools, with a lead that plans by the request's words."""
    async with contextlib.AsyncExitStack() as opened:

        async def open_(**options: Any) -> Door:
            given: dict[str, Any] = {"models": team(), "tools": office.tools, **options}
            return await opened.enter_async_context(door(given.pop("home", home), **given))

        yield open_
        office.gate.set()


@pytest.fixture
async def api(open_door: OpenDoor) -> Door:
    """An app as it is on this machine: nobody needs a key."""
    return await open_door()


@pytest.fixture
async def serve(home: Path, office: Office) -> AsyncIterator[OpenServer]:
    """Serves apps for real; all are ended after the test."""
    async with contextlib.AsyncExitStack() as opened:

        async def serve_(**options: Any) -> Served:
            given: dict[str, Any] = {"models": team(), "tools": office.tools, **options}
            return await opened.enter_async_context(Served(given.pop("home", home), **given))

        yield serve_
        office.gate.set()
