"""Adapter for providers with their own protocol, through pydantic-ai.

Imports pydantic-ai with the first request, on a thread, because the import takes seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from leadhand.models.answers import priced
from leadhand.models.failures import UNSENT, failed
from leadhand.models.prices import known_cost, known_profile
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest

from .connection import Connection, Service


class PydanticAI:
    """A provider's models. The model is the part after the colon of ``ModelRequest.model``.

    The request's deadline covers the import at the first one too. ``opening`` opens another service, on a thread.
    """

    def __init__(self, connection: Connection, *, opening: Callable[[Connection], Service] | None = None) -> None:
        self.name = connection.provider
        self.connection = connection
        self._opening = opening or _open_service
        self._service: Service | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = asyncio.Lock()

    def profile(self, model: str) -> ModelProfile:
        """What is known of ``model``."""
        return known_profile(model) or ModelProfile(name=model)

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        """One call; see :class:`~leadhand.ports.Models`. Text, also of a structured answer, is streamed to
        ``on_text``."""
        deadline = asyncio.timeout(request.deadline_s)
        try:
            async with deadline:
                return await self._ask(request, on_text)
        except TimeoutError:
            if not deadline.expired():
                raise
            message = f"no answer from {self.connection.title} within {request.deadline_s:g} s"
            raise failed("timeout", message) from None

    async def aclose(self) -> None:
        """Close the connections. The client can be used again and opens new ones."""
        service, self._service = self._service, None
        if service is not None:
            await service.close()

    async def _ask(self, request: ModelRequest, on_text: Callable[[str], None] | None) -> ModelReply:
        try:
            service = await self._open()
            from .messages import reply_of, response_to, usage_of

            model = service.model(request.model.partition(":")[2] or request.model)
            response = await response_to(model, request, self.name, on_text)
        except ImportError as error:  # perhaps not even the error classes can be imported
            message = f"the packages of this model's provider cannot be imported: {error}"
            raise failed("missing_extra", message, UNSENT) from error
        # Classify every exception of the packages, so that none escapes.
        except Exception as error:
            from .errors import classed

            raise classed(error, self.connection) from error
        usage = priced(usage_of(response), request, self.profile(request.model), known_cost)
        return reply_of(response, request, adapter=self.name, usage=usage)

    async def _open(self) -> Service:
        """The service of this event loop, opened at first use by one task for all."""
        loop = asyncio.get_running_loop()
        if self._service is not None and self._loop is loop:
            return self._service
        if self._loop is not loop:
            before, self._service = self._service, None
            self._loop, self._lock = loop, asyncio.Lock()
            if before is not None:
                with contextlib.suppress(Exception):  # its event loop is gone, so this may not complete
                    await before.close()
        async with self._lock:
            if self._service is None:
                self._service = await asyncio.to_thread(self._opening, self.connection)
            return self._service


def _open_service(connection: Connection) -> Service:
    from .services import open_service

    return open_service(connection)
