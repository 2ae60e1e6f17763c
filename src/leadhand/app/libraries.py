"""The libraries in which the tools for sources search and read: one for each directory of documents, offline or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from leadhand.app.settings import Settings
from leadhand.engine.redaction import Redactor
from leadhand.ports import ContextStore, Library, Page, Web

if TYPE_CHECKING:
    from leadhand.tools.web.fetching import PageFetcher


class _Unopened:
    """A library that is opened when it is used: few of the tools that are given one use it."""

    def __init__(self, opened: Callable[[], Library]) -> None:
        self._opened = opened

    async def search(self, query: str, limit: int) -> Sequence[Page]:
        return await self._opened().search(query, limit)

    async def fetch(self, url: str) -> Page:
        return await self._opened().fetch(url)


class Libraries:
    """The libraries of a process, made when they are first used."""

    def __init__(self, settings: Settings, web: Callable[[bool], Web], store: ContextStore, redactor: Redactor) -> None:
        self._settings = settings
        self._web = web
        self._store = store
        self._redactor = redactor
        self._made: dict[tuple[bool, str], Library] = {}
        self._fetcher: PageFetcher | None = None

    def __call__(self, offline: bool, documents: str) -> Library:
        """Return the library of a directory ("" for none) and, unless ``offline``, of the web."""
        return _Unopened(partial(self._opened, offline, documents))

    def _opened(self, offline: bool, documents: str) -> Library:
        if (offline, documents) not in self._made:
            self._made[offline, documents] = self._make(offline, documents)
        return self._made[offline, documents]

    def _make(self, offline: bool, documents: str) -> Library:
        from leadhand.tools.web.documents import LocalDocuments
        from leadhand.tools.web.fetching import PageFetcher
        from leadhand.tools.web.library import DocumentsFirst, OfflineLibrary, WebLibrary

        redact = self._redactor.text
        made: Library = OfflineLibrary()
        if not offline:
            self._fetcher = self._fetcher or PageFetcher()
            web, env = self._web(offline), self._settings.environment
            made = WebLibrary(web=web, fetcher=self._fetcher, cache=self._store, redact=redact, environment=env)
        if not documents:
            return made
        return DocumentsFirst(LocalDocuments(Path(documents), self._settings.home / "documents", redact), made)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._fetcher is not None:
            await self._fetcher.aclose()
