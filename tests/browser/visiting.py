"""Visitors: people with a browser profile of their own, whose pages are watched for faults.

A new profile with a new page costs three times the CPU of a page that is used again: Chromium starts a process for it,
which compiles and optimizes the console anew. So profiles are kept, each with one page, and emptied between visitors.
This page is in a popup, since drawing the toolbar and the tabs of a whole window takes a tenth of the CPU of a visit.
"""

from __future__ import annotations

from typing import Literal

from playwright.async_api import Browser, Page, ViewportSize

from browser.watching import Watch

PATIENCE_MS = 90_000
WINDOW: ViewportSize = {"width": 1280, "height": 720}


class Visitor:
    """A person with their own browser profile, who opens pages of one server; faults of the pages are recorded."""

    def __init__(
        self,
        page: Page,
        url: str,
        *,
        viewport: ViewportSize = WINDOW,
        color_scheme: Literal["light", "dark"] = "light",
        reduced_motion: Literal["reduce", "no-preference"] = "no-preference",
    ) -> None:
        self.context = page.context
        self.url = url
        self.watch = Watch(page.context, url)
        self._page = page
        self._opened = False
        self._viewport, self._color_scheme, self._reduced_motion = viewport, color_scheme, reduced_motion

    async def open(self, path: str = "/runs") -> Page:
        """Open a tab at a path."""
        page = await self.context.new_page() if self._opened else self._page
        self._opened = True
        await page.set_viewport_size(self._viewport)
        await page.emulate_media(color_scheme=self._color_scheme, reduced_motion=self._reduced_motion)
        await page.goto(self.url + path)
        return page

    async def leave(self) -> Page:
        """Close all tabs but the first, which shows nothing anymore; forget what the server stored in the profile."""
        if self._opened:
            self._opened = False
            for page in self.context.pages:
                if page is not self._page:
                    await page.close()
            await self._page.unroute_all()
            await self._page.goto("about:blank")
            await self._page.mouse.move(0, 0)
            await self.context.clear_cookies()
            stored = await self.context.new_cdp_session(self._page)
            await stored.send("Storage.clearDataForOrigin", {"origin": self.url, "storageTypes": "all"})
            await stored.detach()
        self.watch.end()
        return self._page


class Profiles:
    """Profiles of one Chromium, for any number of visitors, one after the other and at the same time."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._idle: list[Page] = []

    async def page(self) -> Page:
        """Return the only page of an empty profile."""
        if self._idle:
            return self._idle.pop()
        context = await self._browser.new_context()
        context.set_default_timeout(PATIENCE_MS)
        opener = await context.new_page()
        async with context.expect_page() as opened:
            await opener.evaluate("open('about:blank', '_blank', 'popup,noopener')")
        await opener.close()
        return await opened.value

    def keep(self, page: Page) -> None:
        """Keep the profile of this page for the next visitor."""
        self._idle.append(page)
