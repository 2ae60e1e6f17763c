"""``web_search`` and ``web_fetch``: find sources, and return passages that can be cited by their ids."""

from __future__ import annotations

from leadhand.core.errors import ToolError
from leadhand.core.tool import Source, ToolReturn
from leadhand.core.value import Json, compact_json, objects_of
from leadhand.flows.passages import said
from leadhand.ports import Library, Page, PartialResults, ToolContext
from leadhand.tools.decorator import tool
from leadhand.tools.services import unavailable

from .passages import MOST_CHOSEN, best, passages, source_id

MOST_RESULTS = 10
PASSAGES_OF_A_SEARCH = 24
"""Passages of all results of a search together; each result has at least :data:`FEWEST`."""
FEWEST = 3
MOST_LETTERS = 500
"""Characters of a query."""


@tool(effect="pure", timeout=60, toolset="web")
async def web_search(query: str, max_results: int = 5, *, context: ToolContext) -> ToolReturn:
    """Find sources about a subject. Each result has passages of the page, with ids by which they are cited.

    Args:
        query: What you look for: a question, or the most telling words.
        max_results: The number of sources, 1 to 10.
    """
    if not query.strip() or len(query) > MOST_LETTERS:
        raise ToolError(f"query must have 1 to {MOST_LETTERS} characters", type="bad_arguments")
    if not 1 <= max_results <= MOST_RESULTS:
        raise ToolError(f"max_results is {max_results}: it must be 1 to {MOST_RESULTS}", type="bad_arguments")
    found = await _library(context).search(query, max_results)
    each = min(MOST_CHOSEN, max(FEWEST, PASSAGES_OF_A_SEARCH // max(1, len(found))))
    results: list[Json] = [_described(page, query, each) for page in found]
    titles = "; ".join(page.title for page in found)
    summary = f"{len(found)} sources for {query!r}: {titles}" if found else f"No sources were found for {query!r}."
    raw: dict[str, Json] = {"results": results}
    if isinstance(found, PartialResults):
        context.emit(found.missing)
        raw["incomplete"] = found.missing
        summary += f" ({found.missing})"
    return ToolReturn(
        raw=said(compact_json(raw)),
        summary=summary,
        sources=tuple(Source(title=page.title, url=page.url) for page in found),
        sample=any(page.sample for page in found),
    )


@tool(effect="pure", timeout=45, toolset="web")
async def web_fetch(url: str, focus: str = "", *, context: ToolContext) -> ToolReturn:
    """Read a source. Returns up to 12 of its passages, with ids by which they are cited.

    Args:
        url: The address of the source, as ``web_search`` returns it.
        focus: What you want to learn from it; the passages are chosen by it.
    """
    page = await _library(context).fetch(url.strip())
    described = _described(page, focus, MOST_CHOSEN)
    return ToolReturn(
        raw=described,
        summary=f"{len(objects_of(described['passages']))} of {described['length']} passages of {page.title}",
        sources=(Source(title=page.title, url=page.url),),
        sample=page.sample,
    )


def _library(context: ToolContext) -> Library:
    if context.library is None:
        how = "pass a leadhand.ports.Library in ToolContext(library=…)"
        raise unavailable("this process has no library of sources", "no_library", how)
    return context.library


def _described(page: Page, question: str, count: int) -> dict[str, Json]:
    """Return a source with its best passages. ``length`` is the number of all its passages."""
    source, cut = source_id(page.text), passages(page.text)
    chosen: list[Json] = [{"id": f"{source}.{at + 1}", "text": cut[at]} for at in best(cut, question, count)]
    described: dict[str, Json] = {"title": page.title, "url": page.url, "source": source, "published": page.published}
    if page.excerpt:
        described["excerpt"] = True
    return described | {"length": len(cut), "passages": chosen}
