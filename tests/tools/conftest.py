"""Fakes for the tools' tests: a web that answers from a script, and offline runs on a fixed day."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from leadhand.ports import ToolContext, Web, WebReply
from leadhand.tools.services import OfflineWeb

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)  # a Saturday


class ScriptedWeb:
    """Gives each service's replies in turn, the last one for good; a service without a script may not be asked."""

    def __init__(self) -> None:
        self.script: dict[str, list[WebReply | Exception]] = {}
        self.asked: list[tuple[str, str, Any]] = []

    def says(self, service: str, body: Any = None, **reply: Any) -> None:
        """One more reply of ``service``: a body, a status, headers; or an exception to raise."""
        answer = body if isinstance(body, Exception) else WebReply(**{"status": 200, "body": body, **reply})
        self.script.setdefault(service, []).append(answer)

    def services_asked(self) -> list[str]:
        return [service for service, _, _ in self.asked]

    def _answer(self, service: str) -> WebReply:
        script = self.script.get(service)
        assert script, f"{service} was asked, but has no script"
        answer = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def get(self, service: str, url: str, params: Mapping[str, Any]) -> WebReply:
        self.asked.append((service, url, dict(params)))
        return self._answer(service)

    async def post(self, service: str, url: str, body: Any) -> WebReply:
        self.asked.append((service, url, body))
        return self._answer(service)


class Store:
    """Keeps answers for good, and remembers for how long it was told to, and which gates were passed."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        self.seconds: list[float] = []
        self.passed: list[tuple[str, float]] = []
        self.wait = 0.0

    async def cached(self, key: str) -> Any:
        return self.kept.get(key)

    async def cache(self, key: str, value: Any, ttl_s: float) -> None:
        self.kept[key] = json.loads(json.dumps(value))
        self.seconds.append(ttl_s)

    async def pass_gate(self, name: str, interval_s: float) -> float:
        self.passed.append((name, interval_s))
        return self.wait


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def web() -> ScriptedWeb:
    return ScriptedWeb()


@pytest.fixture
def context_on() -> Callable[..., ToolContext]:
    """Makes a tool's context on a web of one's own."""

    def make(web: Web, *, offline: bool = False) -> ToolContext:
        return ToolContext(run_id="run", call_id="run/0/0/0", offline=offline, web=web, now=lambda: NOW)

    return make


@pytest.fixture
def context(web: ScriptedWeb, context_on: Callable[..., ToolContext]) -> ToolContext:
    """The context of a tool that asks the scripted services."""
    return context_on(web)


@pytest.fixture
def sample(context_on: Callable[..., ToolContext]) -> ToolContext:
    """The context of a tool of an offline run."""
    return context_on(OfflineWeb(), offline=True)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings and proxies of the machine that runs the tests stay out of them."""
    for name in list(os.environ):
        if name.startswith("LEADHAND_") or name.lower() in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.delenv(name)
