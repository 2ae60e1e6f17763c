"""Adapter for providers with their own protocol, through pydantic-ai.

Imports pydantic-ai with the first request, on a thread, because the import takes seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from leadhand.domain.conversation import ModelProfile, ModelReply, ModelRequest
from leadhand.domain.errors import ConfigurationError, Failure
from leadhand.domain.limits import Usage
from leadhand.models.base_url import is_loopback
from leadhand.ports import ModelError

from .connection import Connection, Service

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings


class Costs(Protocol):
    """What a usage of a model costs in nano-dollars, given its full name; None if that is not known."""

    def __call__(self, model: str, usage: Usage, *, cache_read: int, cache_written: int) -> int | None: ...


class PydanticAI:
    """A provider's models. The model is the part after the colon of ``ModelRequest.model``.

    The request's deadline covers everything, the import at the first one included. By a model's full name, ``profiles``
    tells its window and prices, and ``costs`` what a usage cost. ``opening`` replaces how the provider is reached; it
    runs on a thread.

    Raises :class:`~leadhand.domain.errors.ConfigurationError` for a missing ``ca_file``.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        profiles: Callable[[str], ModelProfile | None] | None = None,
        costs: Costs | None = None,
        opening: Callable[[Connection], Service] | None = None,
    ) -> None:
        if connection.ca_file is not None and not Path(connection.ca_file).is_file():
            raise ConfigurationError(
                f"the certificate file {connection.ca_file} does not exist", "correct the path to the CA file"
            )
        self.name = connection.provider
        self.connection = connection
        self._profiles = profiles
        self._costs = costs
        self._opening = opening or _open
        self._service: Service | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = asyncio.Lock()

    def profile(self, model: str) -> ModelProfile:
        """What is known of ``model``; an unknown one on this machine is free."""
        known = self._profiles(model) if self._profiles is not None else None
        if known is not None:
            return known
        if self.connection.base_url and is_loopback(self.connection.base_url):
            return ModelProfile(name=model, input_nanousd=0, output_nanousd=0, free=True)
        return ModelProfile(name=model)

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        """One call; see :class:`~leadhand.ports.Models`. Plain text is streamed to ``on_text``."""
        deadline = asyncio.timeout(request.deadline_s)
        try:
            async with deadline:
                return await self._ask(request, on_text)
        except TimeoutError:
            if not deadline.expired():
                raise
            message = f"no answer from {self.connection.title} within {request.deadline_s:g} s"
            failure = Failure.model_validate({"message": message, "type": "timeout", "class": "transient"})
            raise ModelError(failure) from None

    async def aclose(self) -> None:
        """Close the connections. The client can be used again and opens new ones."""
        service, self._service = self._service, None
        if service is not None:
            await service.close()

    async def _ask(self, request: ModelRequest, on_text: Callable[[str], None] | None) -> ModelReply:
        try:
            service = await self._open()
        except Exception as error:
            if isinstance(error, ImportError):
                raise _unimportable(error) from error
            from .errors import classed

            raise classed(error, self.connection) from error
        from .answers import parameters, reply_of, settings, usage_of
        from .errors import classed
        from .messages import conversation, has_late_system_message

        try:
            model = service.model(request.model.partition(":")[2] or request.model)
            wanted = parameters(request, model.profile)
            messages = conversation(request.messages, adapter=self.name, model=request.model)
            if has_late_system_message(request.messages):
                messages = model.prepare_messages(messages, wanted)
            if on_text is not None and request.output is None:
                response = await _streamed(model, messages, settings(request, model), wanted, on_text)
            else:
                response = await model.request(messages, settings(request, model), wanted)
        # Classify every exception of the packages here, so that none escapes.
        except Exception as error:
            raise classed(error, self.connection) from error
        usage = self._priced(request.model, usage_of(response, request), response)
        return reply_of(response, request, adapter=self.name, usage=usage)

    def _priced(self, model: str, usage: Usage, response: ModelResponse) -> Usage:
        """``usage`` with its cost, if known."""
        cost = None
        if self._costs is not None:
            counted = response.usage
            cost = self._costs(
                model, usage, cache_read=counted.cache_read_tokens, cache_written=counted.cache_write_tokens
            )
        if cost is None and self.profile(model).free:
            cost = 0
        return usage if cost is None else usage.evolve(nanousd=cost)

    async def _open(self) -> Service:
        """The service of this event loop, opened at first use by one task for all."""
        loop = asyncio.get_running_loop()
        if self._service is not None and self._loop is loop:
            return self._service
        if self._loop is not loop:
            before, self._service = self._service, None
            self._loop, self._lock = loop, asyncio.Lock()
            if before is not None:
                with contextlib.suppress(Exception):  # its event loop is gone, so this goes as far as it goes
                    await before.close()
        async with self._lock:
            if self._service is None:
                self._service = await asyncio.to_thread(self._opening, self.connection)
            return self._service


def _open(connection: Connection) -> Service:
    from .services import open_service

    return open_service(connection)


def _unimportable(error: ImportError) -> ModelError:
    """The failure when not even the error classes can be imported."""
    return ModelError(
        Failure.model_validate(
            {
                "message": f"the packages of this model's provider cannot be imported: {error}",
                "type": "missing_extra",
                "class": "unavailable",
                "next_action": "reinstall the provider's extra: its packages are incompatible",
            }
        ),
        Usage(requests=0, nanousd=0),
    )


async def _streamed(
    model: Model,
    messages: list[ModelMessage],
    settings: ModelSettings,
    wanted: ModelRequestParameters,
    on_text: Callable[[str], None],
) -> ModelResponse:
    """The response to a streamed request, whose text goes to ``on_text`` as it comes."""
    from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

    from .errors import broken_off
    from .messages import clean

    async with model.request_stream(messages, settings, wanted) as stream:
        async for event in stream:
            match event:
                case PartStartEvent(part=TextPart(content=text)) if text:
                    on_text(clean(text))
                case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                    on_text(clean(text))
                case _:
                    pass
        response = stream.get()
    if response.finish_reason is None:
        raise broken_off()
    return response
