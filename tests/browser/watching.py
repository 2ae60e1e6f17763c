"""Watch what a page must not do: fail, log errors, violate its content security policy, or request another host."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, ConsoleMessage, Request, Response, WebError

ABORTED = "net::ERR_ABORTED"
"""The failure of a request that the page itself aborted."""


class Watch:
    """Records the faults of the pages of a context. ``url`` is that of their server: all requests have to go there."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self._host = urlsplit(url).netloc
        self._wrong: list[str] = []
        self._allowed: list[re.Pattern[str]] = []
        self._listeners: dict[Any, Callable[[Any], None]] = {
            "console": self._console,
            "weberror": self._page_error,
            "request": self._request,
            "requestfailed": self._request_failed,
            "response": self._response,
        }
        for event, listener in self._listeners.items():
            context.on(event, listener)
        self._context = context

    def end(self) -> None:
        """Stop watching."""
        for event, listener in self._listeners.items():
            self._context.remove_listener(event, listener)
        self._listeners.clear()

    def allow(self, *patterns: str) -> None:
        """Ignore faults that match one of these patterns: the test causes them."""
        self._allowed += [re.compile(pattern) for pattern in patterns]

    def check(self) -> None:
        """Raise AssertionError if there was a fault that is not allowed."""
        wrong = [each for each in self._wrong if not any(pattern.search(each) for pattern in self._allowed)]
        assert not wrong, "\n".join(["the page has faults:", *wrong])

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            where = message.location.get("url", "")
            self._wrong.append(f"console {message.type}: {message.text} ({where})")

    def _page_error(self, error: WebError) -> None:
        self._wrong.append(f"page error: {error.error}")

    def _request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob", "about") and parts.netloc != self._host:
            self._wrong.append(f"request to another host: {request.url}")

    def _request_failed(self, request: Request) -> None:
        if request.failure != ABORTED:
            self._wrong.append(f"request failed: {request.method} {request.url}: {request.failure}")

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self._wrong.append(f"answered with {response.status}: {response.request.method} {response.url}")
