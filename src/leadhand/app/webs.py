"""How the tools of a process reach services: the network, or the sample service of the process."""

from __future__ import annotations

import asyncio

from leadhand.app.settings import Settings
from leadhand.engine.slots import without_slot
from leadhand.ports import Clock, ContextStore, Web


class Webs:
    """The ways to reach services, opened when they are first used."""

    def __init__(self, settings: Settings, store: ContextStore, clock: Clock) -> None:
        self._settings = settings
        self._store = store
        self._clock = clock
        self._opened: dict[bool, Web] = {}

    def __call__(self, offline: bool) -> Web:
        """Return the network, or if ``offline`` the sample service."""
        if offline not in self._opened:
            if offline:
                from leadhand.tools.sample_service import SampleWeb

                self._opened[offline] = SampleWeb(now=self._clock.now)
            else:
                from leadhand.tools.web_client import AiohttpWeb

                self._opened[offline] = AiohttpWeb(
                    gate=self._pass_gate, cache=self._store, environment=self._settings.environment
                )
        return self._opened[offline]

    async def _pass_gate(self, service: str) -> None:
        from leadhand.tools.services import SERVICES

        wait = await self._store.pass_gate(service, SERVICES[service].seconds_between)
        if wait > 0:
            async with without_slot(f"the rate limit of {service}", wait):
                await asyncio.sleep(wait)

    async def aclose(self) -> None:
        """Close connections."""
        for web in self._opened.values():
            if (close := getattr(web, "aclose", None)) is not None:
                await close()
