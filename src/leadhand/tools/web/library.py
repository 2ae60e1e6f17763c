"""The library of a run: what its tools for sources can find and read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from threading import Event

from leadhand.core.errors import ToolError
from leadhand.core.value import is_object
from leadhand.engine.calls.permits import outside
from leadhand.engine.threads import Threads
from leadhand.ports import ContextStore, Library, Page, PartialResults, Web
from leadhand.tools.services import unavailable

from . import bundled
from .documents import SCHEME, LocalDocuments
from .extraction import extracted
from .fetching import PageFetcher, checked_url
from .providers import Hit, hits
from .text import normalized

KEPT_S = 24 * 3600.0
"""Seconds for which the text of a page is cached."""
EXCERPT_WITHIN_S = 8.0
"""Seconds for the page of a search result; after that, its snippet has to do."""
INDEX = "the index of the documents"
AT_ONCE_S = 1.0
"""Seconds to wait for the index of documents before the slot is given back."""
_FIELDS = frozenset({"url", "title", "text", "published"})


class OfflineLibrary:
    """:class:`~leadhand.ports.Library` of the documents that come with Leadhand; nothing leaves the machine."""

    async def search(self, query: str, limit: int) -> Sequence[Page]:
        return await asyncio.to_thread(bundled.search, query, limit)

    async def fetch(self, url: str) -> Page:
        page = await asyncio.to_thread(bundled.find, url)
        if page is None:
            what = f"{url[:200]} is not among the documents that can be read offline"
            raise unavailable(what, "no_such_document", "do not start the run offline")
        return page


class WebLibrary:
    """:class:`~leadhand.ports.Library` of the public web. Pages are cached for a day."""

    def __init__(
        self,
        *,
        web: Web,
        fetcher: PageFetcher,
        cache: ContextStore | None = None,
        redact: Callable[[str], str] = str,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """``web`` reaches search services, whose keys are in ``environment``; ``redact`` is applied to all text."""
        self._web = web
        self._fetcher = fetcher
        self._cache = cache
        self._redact = redact
        self._environment = environment
        self._threads = Threads(4, "leadhand-pages")

    async def search(self, query: str, limit: int) -> Sequence[Page]:
        """Return pages in the order of the search service. One that cannot be read has its snippet as the text."""
        found = await hits(self._web, query, limit, self._environment)
        pages = await asyncio.gather(*(self._excerpt(hit) for hit in found))
        return [page for page in pages if page is not None]

    async def fetch(self, url: str) -> Page:
        return await self._page(url)

    async def _excerpt(self, hit: Hit) -> Page | None:
        try:
            page = await self._page(hit.url, within_s=EXCERPT_WITHIN_S)
        except ToolError:  # it costs the excerpt only
            text, title = self._redact(normalized(hit.snippet)), self._redact(hit.title)
            return Page(url=hit.url, title=title, text=text, published=hit.published, excerpt=True) if text else None
        return page if page.published else replace(page, published=hit.published)

    async def _page(self, url: str, within_s: float | None = None) -> Page:
        key = json.dumps(["page", str(checked_url(url))])
        kept = await self._cache.cached(key) if self._cache is not None else None
        if is_object(kept) and kept.keys() == _FIELDS:
            return Page(**kept)
        got = await self._fetcher.fetch(url, within_s=within_s)
        try:
            async with asyncio.timeout(within_s):
                page = await self._threads.run(
                    lambda: extracted(got.content, got.kind, url=got.url, charset=got.charset)
                )
        except TimeoutError:
            raise ToolError(f"the text of {url[:200]} was not extracted in {within_s} s", type="timeout") from None
        page = replace(page, title=self._redact(page.title), text=self._redact(page.text))
        if self._cache is not None:
            kept = {name: value for name, value in asdict(page).items() if name in _FIELDS}
            await self._cache.cache(key, kept, KEPT_S)
        return page


class DocumentsFirst:
    """:class:`~leadhand.ports.Library` of local documents and of another library (None: of nothing else)."""

    def __init__(self, documents: LocalDocuments, others: Library | None = None) -> None:
        self._documents = documents
        self._others = others
        self._threads = Threads(1, "leadhand-documents")
        self._turn = asyncio.Lock()

    async def search(self, query: str, limit: int) -> Sequence[Page]:
        """Return local documents first: up to half of the results, or more if the other library has fewer.

        If the other library fails, local documents alone are the result, with the reason.
        """
        await self._refresh()
        local = await asyncio.to_thread(self._documents.search, query, limit)
        if self._others is None:
            return local
        try:
            others = list(await self._others.search(query, limit))
        except ToolError as error:
            return PartialResults(local, f"only local documents were searched: {error.failure.message}")
        first = max((limit + 1) // 2, limit - len(others))
        return [*local[:first], *others][:limit]

    async def fetch(self, url: str) -> Page:
        if not url.startswith(SCHEME) and self._others is not None:
            return await self._others.fetch(url)
        await self._refresh()
        page = await asyncio.to_thread(self._documents.find, url)
        if page is None:
            raise unavailable(f"there is no {url[:200]}", "no_such_document", "use a URL that web_search returned")
        return page

    async def _refresh(self) -> None:
        """Bring the index up to date. A long wait takes no slot, and no time of the call that waits."""
        refreshing = asyncio.ensure_future(self._refresh_in_turn())
        try:
            await asyncio.wait({refreshing}, timeout=AT_ONCE_S)
            if not refreshing.done():
                async with outside(INDEX, lambda: f"{self._documents.left:,} files are left"):
                    await asyncio.wait({refreshing})
            await refreshing
        finally:
            refreshing.cancel()

    async def _refresh_in_turn(self) -> None:
        stopped = Event()
        async with self._turn:  # after the first, there is nothing left to do for those that waited
            try:
                await self._threads.run(partial(self._documents.refresh, stopped.is_set))
            finally:
                stopped.set()
