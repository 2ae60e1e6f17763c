"""Search services: those for which a key is in the environment, else a search without a key through ``ddgs``."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leadhand.core.errors import FailureClass, ToolError
from leadhand.core.value import list_of, object_of, objects_of, text_of
from leadhand.engine.threads import Threads
from leadhand.ports import Web
from leadhand.tools.services import SERVICES, answered, base_url

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


async def hits(web: Web, query: str, limit: int, environment: Mapping[str, str] | None = None) -> list[Hit]:
    """Return search results of the first service that works: Tavily, Brave, ``ddgs``. Raises ToolError."""
    env = os.environ if environment is None else environment
    asks = [ask for service, ask in (("tavily", _tavily), ("brave", _brave)) if env.get(SERVICES[service].key)]
    failures: list[ToolError] = []
    for ask in (*asks, _ddgs):
        try:
            found = await ask(web, env, query, limit)
            break
        except ToolError as error:
            failures.append(error)
    else:
        raise failures[0]
    first: dict[str, Hit] = {}
    for hit in found:
        if hit.url:
            first.setdefault(hit.url, hit)
    return list(first.values())[:limit]


async def _tavily(web: Web, env: Mapping[str, str], query: str, limit: int) -> list[Hit]:
    """Ask Tavily (docs.tavily.com/documentation/api-reference/endpoint/search)."""
    asked = {"query": query, "max_results": limit, "search_depth": "basic"}
    reply = await web.post("tavily", f"{base_url('tavily', env)}/search", asked)
    found = answered("tavily", reply, lambda body: objects_of(body["results"]), "detail")
    return [_hit(each, each.get("content"), each.get("published_date")) for each in found]


async def _brave(web: Web, env: Mapping[str, str], query: str, limit: int) -> list[Hit]:
    """Ask Brave (api-dashboard.search.brave.com/app/documentation/web-search)."""
    reply = await web.get("brave", f"{base_url('brave', env)}/res/v1/web/search", {"q": query, "count": limit})
    found = answered("brave", reply, lambda body: objects_of(object_of(body.get("web")).get("results")), "detail")
    texts = [[each.get("description"), *list_of(each.get("extra_snippets"))] for each in found]
    return [
        _hit(each, "\n\n".join(map(text_of, text)), each.get("page_age"))
        for each, text in zip(found, texts, strict=True)
    ]


async def _ddgs(_web: Web, _env: Mapping[str, str], query: str, limit: int) -> list[Hit]:
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
    return [_hit({**each, "url": each.get("href")}, each.get("body")) for each in found]


def _hit(found: Mapping[str, Any], snippet: object, published: object = None) -> Hit:
    date = _DATE.match(text_of(published))
    title, text = (html.unescape(_TAG.sub("", text_of(each))).strip() for each in (found.get("title"), snippet))
    return Hit(title=title, url=text_of(found.get("url")), snippet=text, published=date[0] if date else "")
