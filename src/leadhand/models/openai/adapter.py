"""Adapter for servers with the chat-completions protocol: a thin client on aiohttp.

It sends each request once; the engine retries. If a server refuses a request, the next one has the plain form.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from urllib.parse import urlsplit

from leadhand.models.answers import Cost, priced
from leadhand.models.failures import UNBILLED, failed
from leadhand.models.prices import reasons
from leadhand.models.server_settings import checked_base_url, checked_key
from leadhand.ports import FormRefused, ModelError
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest

from .answers import reply_of, usage_of
from .connections import Patience
from .forms import REFUSALS, Form, form_of
from .http import Answered, ChatServer
from .server_facts import Facts, facts_of
from .wire import chat_body, encode

LIST_WITHIN_S = 5.0
"""Seconds for the server to list its models."""
_NAMED = 8
"""How many models the advice about an unknown name lists."""


class OpenAICompatible:
    """A server that speaks the chat-completions protocol.

    The model is the part after the colon of ``ModelRequest.model``. The answer has to begin within the request's
    ``patience_s`` (without streaming, to be complete), and each piece has to follow within ``idle_timeout_s``; the
    request's own deadline covers everything. At most ``connections`` are open at once; calls beyond them wait. By a
    model's full name, ``profiles`` returns its window and prices, and ``costs`` what a usage cost in nano-dollars; a
    ``free`` server costs nothing. ``key_setting`` is where the key came from, for messages.

    Raises :class:`~leadhand.core.errors.ConfigurationError` for a malformed URL or key.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        name: str = "openai_compatible",
        idle_timeout_s: float = 30.0,
        connections: int = 100,
        profiles: Callable[[str], ModelProfile | None] | None = None,
        costs: Cost | None = None,
        free: bool = False,
        key_setting: str = "the API key",
    ) -> None:
        self.name = name
        self.base_url = checked_base_url(base_url)
        key = checked_key((api_key or "").strip(), key_setting)
        self._server = ChatServer(self.base_url, key, key_setting, connections)
        self._idle_s = idle_timeout_s
        self._profiles = profiles
        self._costs = costs
        self._free = free
        self._form = form_of(self.base_url)
        self._refused: set[tuple[str, bool, bool]] = set()
        """The models and kinds of requests (structured, with tools) that the server takes in the plain form only."""
        self._facts: dict[str, Facts | None] = {}

    def profile(self, model: str) -> ModelProfile:
        """The known profile of ``model``; without one its price is unknown, unless the server is ``free``."""
        known = self._profiles(model) if self._profiles is not None else None
        if known is not None:
            return known
        price = 0 if self._free else None
        facts = self._facts.get(model) or Facts()
        return ModelProfile(
            name=model,
            window=facts.window,
            slots=facts.slots,
            server=self.base_url,
            input_nanousd=price,
            output_nanousd=price,
            free=self._free,
            reasons=reasons(_short_name(model)),
        )

    async def models(self, within_s: float | None = None) -> list[str]:
        """The models that the server lists within some seconds. Raises :class:`ModelError`."""
        return await self._names(within_s=within_s or LIST_WITHIN_S)

    async def learn(self, model: str) -> None:
        """Query the window of ``model``, the slots of its server and whether its template shows tools, unless known.

        :meth:`profile` then includes them. Never raises; takes some seconds at most. A server that does not answer is
        queried again the next time.
        """
        if model in self._facts or self.profile(model).window is not None:
            return
        self._facts[model] = None  # concurrent callers do not query again
        facts = await facts_of(self._server, _short_name(model), self.name)
        if facts is None:
            del self._facts[model]
        else:
            self._facts[model] = facts

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        """Make one call; see :class:`~leadhand.ports.Models`. Text, also of a structured answer, is streamed to
        ``on_text`` in pieces that join to the reply's text. Before a failure, some may already have been passed on."""
        patience = Patience(request, self._idle_s, self.name)
        try:
            async with patience.timer:
                return await self._ask(request, on_text, patience)
        except TimeoutError:
            # asyncio.timeout cannot distinguish this timeout from one of the caller.
            if not patience.timer.expired():
                raise
            raise patience.failure() from None
        except ModelError as error:
            if error.failure.is_away:  # it may come back with another model or window
                self._facts.pop(request.model, None)
            if error.failure.type in ("unknown_model", "not_an_api"):
                raise await self._explained(error, _short_name(request.model)) from None
            raise

    async def aclose(self) -> None:
        """Close the connections. The client can be used again and opens new ones."""
        await self._server.aclose()

    async def _ask(
        self, request: ModelRequest, on_text: Callable[[str], None] | None, patience: Patience
    ) -> ModelReply:
        kind = request.model, request.output is not None, bool(request.tools)
        form = self._form.plain if kind in self._refused else self._form
        facts = self._facts.get(request.model)
        if facts is not None and not facts.tools:
            form = form._replace(tools=False)
        # Calls requested in prose look like text until the text is complete.
        streamed = form.stream and on_text is not None and (form.tools or not request.tools)
        body = chat_body(request, _short_name(request.model), form, adapter=self.name, stream=streamed)
        try:
            answered = await self._server.post(encode(body), patience, on_text if streamed else None)
        except ModelError as error:
            if error.failure.type not in REFUSALS or not (streamed or any(kind[1:])):
                raise
            if form == form.plain:  # the form was not the cause, so later requests need not do without it
                self._refused.discard(kind)
                raise
            self._refused.add(kind)
            raise FormRefused(error.failure, error.usage) from None
        reply = self._reply(answered, request, form)
        if on_text is not None and not answered.heard and reply.message.text and request.output is None:
            on_text(reply.message.text)  # the server does not stream
        return reply

    def _reply(self, answered: Answered, request: ModelRequest, form: Form) -> ModelReply:
        document = answered.document
        if document.get("error") and not document.get("choices"):
            # OpenRouter and others answer 200 with an error and its status in the body.
            usage = None if answered.heard else UNBILLED
            raise self._server.refusal(200, {}, json.dumps(document), usage)
        usage = priced(usage_of(document), request, self.profile(request.model), self._costs)
        return reply_of(document, request, form, adapter=self.name, usage=usage)

    async def _explained(self, error: ModelError, model: str) -> ModelError:
        """Return the same failure, with the models that the server lists if possible."""
        try:
            names = await self._names()
        except ModelError:
            names = []
        if names and model not in names:
            shown = difflib.get_close_matches(model, names, n=3, cutoff=0.4)
            shown = [*shown, *(name for name in names if name not in shown)][:_NAMED]
            more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
            action = f"use a model of {self.base_url}: {', '.join(shown)}{more}"
            return failed("unknown_model", f"{self.name} has no model {model!r}", error.usage, action)
        if not names and not urlsplit(self.base_url).path.strip("/"):
            message = f"there is no chat-completions API at {self.base_url}: {error.failure.message}"
            action = f"such URLs usually end in /v1: set the base URL to {self.base_url}/v1"
            return failed("not_an_api", message, error.usage, action)
        return error

    async def _names(self, within_s: float = LIST_WITHIN_S) -> list[str]:
        return [model["id"] for model in await self._server.models(within_s=within_s)]


def _short_name(model: str) -> str:
    """The name that the server knows: without the provider."""
    return model.partition(":")[2] or model
