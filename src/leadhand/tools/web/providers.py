"""Search services: those for which a key is in the environment, else a search without a key through ``ddgs``."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from pydantic import Field

from leadhand.core.errors import FailureClass, ToolError
from leadhand.engine.threads import Threads
from leadhand.ports import Web, WebReply
from leadhand.tools.replies import Lenient, failure, first_answer, text_of, typed
from leadhand.tools.services import SERVICES, base_url

from .extraction import missing

WITHIN_S = 15
_TAG = re.compile(r"<[^>]{1,40}>")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A search result. ``published`` is a date such as ``2026-03-01``, if the service names one."""

    title: str
    url: str
    snippet: str
    published: str = ""


class _TavilyResult(Lenient):
    title: str = ""
    url: str = ""
    content: str = ""
    published_date: str | None = None


class _Tavily(Lenient):
    results: list[_TavilyResult] = Field(default_factory=list[_TavilyResult])


class _BraveResult(Lenient):
    title: str = ""
    url: str = ""
    description: str = ""
    page_age: str | None = None
    extra_snippets: list[str] = Field(default_factory=list[str])


class _BraveResults(Lenient):
    results: list[_BraveResult] = Field(default_factory=list[_BraveResult])


class _Brave(Lenient):
    web: _BraveResults = _BraveResults()


async def hits(web: Web, query: str, limit: int, environment: Mapping[str, str] | None = None) -> list[Hit]:
    """Return search results of the first service that works: Tavily, Brave, ``ddgs``. Raises ToolError."""
    env = os.environ if environment is None else environment
    asks: list[Callable[[], Awaitable[list[Hit]]]] = []
    if env.get(SERVICES["tavily"].key):
        asks.append(partial(_tavily, web, base_url("tavily", env), query, limit))
    if env.get(SERVICES["brave"].key):
        asks.append(partial(_brave, web, base_url("brave", env), query, limit))
    found = await first_answer(*asks, partial(_ddgs, query, limit))
    first: dict[str, Hit] = {}
    for hit in found:
        if hit.url:
            first.setdefault(hit.url, hit)
    return list(first.values())[:limit]


async def _tavily(web: Web, url: str, query: str, limit: int) -> list[Hit]:
    """Ask Tavily (docs.tavily.com/documentation/api-reference/endpoint/search)."""
    reply = await web.post("tavily", f"{url}/search", {"query": query, "max_results": limit, "search_depth": "basic"})
    found = typed(_Tavily.model_validate, "tavily", _checked("tavily", reply)).results
    return [
        Hit(title=_plain(each.title), url=each.url, snippet=_plain(each.content), published=_day(each.published_date))
        for each in found
    ]


async def _brave(web: Web, url: str, query: str, limit: int) -> list[Hit]:
    """Ask Brave (api-dashboard.search.brave.com/app/documentation/web-search)."""
    reply = await web.get("brave", f"{url}/res/v1/web/search", {"q": query, "count": limit})
    found = typed(_Brave.model_validate, "brave", _checked("brave", reply)).web.results
    return [
        Hit(
            title=_plain(each.title),
            url=each.url,
            snippet=_plain("\n\n".join([each.description, *each.extra_snippets])),
            published=_day(each.page_age),
        )
        for each in found
    ]


async def _ddgs(query: str, limit: int) -> list[Hit]:
    """Search without a key. Raises ToolError if the package is missing, or all of its engines fail."""
    keys = f"{SERVICES['tavily'].key} or {SERVICES['brave'].key}"
    try:
        from ddgs import DDGS  # pyright: ignore[reportUnknownVariableType] - its lazy loader has no types
        from ddgs.exceptions import DDGSException
    except ImportError:
        error = missing("ddgs").failure
        how = f"{error.next_action}; or set {keys}"
        raise ToolError(error.message, type=error.type, class_=error.class_, next_action=how) from None

    def ask() -> Sequence[Mapping[str, Any]]:
        return DDGS(timeout=WITHIN_S).text(query, max_results=limit)

    try:
        found = await Threads(1, "leadhand-search").run(ask)
    except DDGSException as error:
        if "No results" in str(error):
            return []
        raise ToolError(
            f"the search failed: {error}"[:300],
            type="search_failed",
            class_=FailureClass.TRANSIENT,
            next_action=f"check the network and try again later, or set {keys}",
        ) from error
    return [
        Hit(
            title=_plain(str(each.get("title", ""))),
            url=str(each.get("href", "")),
            snippet=_plain(str(each.get("body", ""))),
        )
        for each in found
    ]


def _checked(service: str, reply: WebReply) -> WebReply:
    """Return a successful response. Raises ToolError for any other."""
    if reply.status == 200:
        return reply
    error = failure(service, reply, datetime.now(UTC), text_of(reply.body, "detail"))
    if reply.status == 401:
        key = SERVICES[service].key
        raise ToolError(
            f"{SERVICES[service].title} does not accept the key in {key}",
            type="http_401",
            class_=FailureClass.UNAVAILABLE,
            next_action=f"correct or unset {key}",
        )
    raise error


def _plain(text: str) -> str:
    return html.unescape(_TAG.sub("", text)).strip()


def _day(date: str | None) -> str:
    found = _DATE.match(date or "")
    return found[0] if found else ""
