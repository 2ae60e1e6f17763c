"""How the tools of a process reach what is outside: services, web pages and documents, or samples of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from leadhand.app.settings import Settings
from leadhand.engine.redaction import Redactor
from leadhand.ports import Clock, ContextStore, Library, Page, Web, Workshop

if TYPE_CHECKING:
    from leadhand.tools.web.fetching import PageFetcher
    from leadhand.tools.web_client import AiohttpWeb


class Webs:
    """The ways to reach services and documents, opened when they are first used."""

    def __init__(self, settings: Settings, store: ContextStore, clock: Clock, redactor: Redactor) -> None:
        self._settings = settings
        self._store = store
        self._clock = clock
        self._redactor = redactor
        self._web: AiohttpWeb | None = None
        self._fetcher: PageFetcher | None = None
        self._libraries: dict[tuple[bool, str, bool], Library] = {}

    def __call__(self, offline: bool) -> Web:
        """Return the network, or what stands for it if ``offline``."""
        if offline:
            from leadhand.tools.services import OfflineWeb

            return OfflineWeb()
        if self._web is None:
            from leadhand.tools.web_client import AiohttpWeb

            self._web = AiohttpWeb(self._store, self._clock, environment=self._settings.environment)
        return self._web

    @property
    def workshop(self) -> Workshop | None:
        """What keeps the workers that runs of the project make; None without a directory for them."""
        project = self._settings.project
        if project is None or project.generated_workers is None:
            return None
        from leadhand.app.project.generated_workers import ProjectWorkshop  # most processes have no project

        return ProjectWorkshop(project, project.generated_workers)

    def library(self, offline: bool, documents: str, only_documents: bool = False) -> Library:
        """Return the library of a directory ("" for none) and, unless it is the only one, of the web or, if
        ``offline``, of the documents that come with Leadhand."""
        key = offline, documents, only_documents
        if key not in self._libraries:
            self._libraries[key] = _Unopened(cache(partial(self._make, *key)))
        return self._libraries[key]

    def _make(self, offline: bool, documents: str, only_documents: bool) -> Library:
        from leadhand.tools.web.documents import LocalDocuments
        from leadhand.tools.web.fetching import PageFetcher
        from leadhand.tools.web.library import DocumentsFirst, OfflineLibrary, WebLibrary

        redact, env = self._redactor.text, self._settings.environment
        made: Library | None = None
        if offline and not only_documents:
            made = OfflineLibrary()
        elif not only_documents:
            self._fetcher = self._fetcher or PageFetcher()
            made = WebLibrary(
                web=self(offline), fetcher=self._fetcher, cache=self._store, redact=redact, environment=env
            )
        if made is not None and not documents:
            return made
        return DocumentsFirst(LocalDocuments(Path(documents), self._settings.home / "documents", redact), made)

    async def aclose(self) -> None:
        """Close connections."""
        for opened in (self._web, self._fetcher):
            if opened is not None:
                await opened.aclose()


class _Unopened:
    """A library that is opened when it is used: few of the tools that are given one use it."""

    def __init__(self, opened: Callable[[], Library]) -> None:
        self._opened = opened

    async def search(self, query: str, limit: int) -> Sequence[Page]:
        return await self._opened().search(query, limit)

    async def fetch(self, url: str) -> Page:
        return await self._opened().fetch(url)
