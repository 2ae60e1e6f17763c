"""Adapter for providers with their own protocol, through pydantic-ai.

Imports pydantic-ai with the first request, on a thread, because the import takes seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from leadhand.models.answers import assumed_usage, clean
from leadhand.models.failures import UNSENT, failed
from leadhand.models.prices import known_cost, known_profile
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest

from .connection import Connection, Service

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings


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
        except ImportError as error:  # not even the error classes can be imported
            message = f"the packages of this model's provider cannot be imported: {error}"
            raise failed("missing_extra", message, UNSENT) from error
        except Exception as error:
            from .errors import classed

            raise classed(error, self.connection) from error
        from .errors import classed
        from .messages import conversation, parameters, reply_of, settings, usage_of

        try:
            model = service.model(request.model.partition(":")[2] or request.model)
            wanted = parameters(request, model.profile)
            messages = conversation(request.messages, adapter=self.name, model=request.model)
            messages = model.prepare_messages(messages, wanted)
            chosen = settings(request, model)
            if on_text is not None:
                response = await _streamed(model, messages, chosen, wanted, on_text)
            else:
                response = await model.request(messages, chosen, wanted)
        # Classify every exception of the packages, so that none escapes.
        except Exception as error:
            raise classed(error, self.connection) from error
        usage = usage_of(response)
        if usage is None:
            usage = assumed_usage(request, self.profile(request.model))
        else:
            usage = usage.evolve(nanousd=known_cost(request.model, usage))
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


async def _streamed(
    model: Model,
    messages: list[ModelMessage],
    settings: ModelSettings,
    wanted: ModelRequestParameters,
    on_text: Callable[[str], None],
) -> ModelResponse:
    """The response to a streamed request, whose text goes to ``on_text`` as it comes. If a tool call is the only form
    of a structured answer, its arguments are the text."""
    from pydantic_ai.messages import (
        PartDeltaEvent,
        PartStartEvent,
        TextPart,
        TextPartDelta,
        ToolCallPart,
        ToolCallPartDelta,
    )

    from .messages import ENDED_EARLY

    async with model.request_stream(messages, settings, wanted) as stream:
        async for event in stream:
            match event:
                case (
                    PartStartEvent(part=TextPart(content=text))
                    | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
                ) if text:
                    on_text(clean(text))
                case (
                    PartStartEvent(part=ToolCallPart(args=str() as text))
                    | PartDeltaEvent(delta=ToolCallPartDelta(args_delta=str() as text))
                ) if wanted.output_tools and not wanted.function_tools:
                    on_text(clean(text))
                case _:
                    pass
        response = stream.get()
    if response.finish_reason is None:
        raise failed("cut_stream", ENDED_EARLY)
    return response
