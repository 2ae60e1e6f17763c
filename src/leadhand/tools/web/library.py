"""The library of a run: what its tools for sources can find and read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from leadhand.domain.errors import FailureClass, ToolError
from leadhand.ports import Page

from . import bundled


class OfflineLibrary:
    """:class:`~leadhand.ports.Library` of the documents that come with Leadhand; nothing leaves the machine."""

    async def search(self, query: str, limit: int) -> Sequence[Page]:
        return await asyncio.to_thread(bundled.search, query, limit)

    async def fetch(self, url: str) -> Page:
        page = await asyncio.to_thread(bundled.find, url)
        if page is None:
            raise ToolError(
                f"{url} is not among the documents that can be read offline",
                type="offline",
                class_=FailureClass.UNAVAILABLE,
                next_action="use a URL that web_search returned, or run without --offline",
            )
        return page
