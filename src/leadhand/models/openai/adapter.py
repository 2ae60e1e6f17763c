"""Adapter for servers with the chat-completions protocol: a thin client on aiohttp.

It sends each request once; the engine retries. If a server rejects a feature, the next request has another form.
"""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any
from urllib.parse import urlsplit

from leadhand.core.limits import Usage
from leadhand.models.answers import assumed_usage
from leadhand.models.failures import UNBILLED, failed
from leadhand.models.server_settings import checked_base_url, checked_key
from leadhand.ports import FormRefused, ModelError
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest

from .answers import reply_of, usage_of
from .capabilities import Abilities, abilities_of, fallback, may_refuse_form
from .connections import Patience, Server
from .errors import status_inside
from .http import ChatServer
from .server_facts import Facts, facts_of
from .wire import chat_body, encode

_LISTED_FOR_S = 60.0
LIST_WITHIN_S = 5.0
"""Seconds for the server to list its models."""
_WRONG_ADDRESS = frozenset({"unknown_model", "not_an_api"})


class OpenAICompatible:
    """A server that speaks the chat-completions protocol.

    The model is the part after the colon of ``ModelRequest.model``. Times are in seconds: ``connect_timeout_s`` for the
    connection; ``first_byte_timeout_s`` until the answer begins (without streaming, until it is complete), if that is
    less than the request's ``patience_s``; ``idle_timeout_s`` between two pieces. The request's own deadline covers
    everything. Structured answers are streamed with ``stream_structured``, so that a model may think long. At most
    ``connections`` are open at once; calls beyond them wait. By a model's full name, ``profiles`` returns its window
    and prices, and ``costs`` what a usage cost in nano-dollars; a ``free`` server costs nothing. ``key_setting`` is
    where the key came from, for messages.

    Raises :class:`~leadhand.core.errors.ConfigurationError` for a malformed URL or key.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        name: str = "openai_compatible",
        connect_timeout_s: float = 10.0,
        first_byte_timeout_s: float | None = None,
        idle_timeout_s: float = 30.0,
        connections: int = 100,
        profiles: Callable[[str], ModelProfile | None] | None = None,
        costs: Callable[[str, Usage], int | None] | None = None,
        free: bool = False,
        stream_structured: bool = False,
        key_setting: str = "the API key",
    ) -> None:
        self.name = name
        self.base_url = checked_base_url(base_url)
        server = Server(
            base_url=self.base_url,
            key=checked_key((api_key or "").strip(), key_setting),
            key_setting=key_setting,
            connections=connections,
            connect_timeout_s=connect_timeout_s,
            idle_timeout_s=idle_timeout_s,
        )
        self._server = ChatServer(server)
        self._begin_s = inf if first_byte_timeout_s is None else first_byte_timeout_s
        self._stream_structured = stream_structured
        self._profiles = profiles
        self._costs = costs
        self._free = free
        self._usual = abilities_of(self.base_url)
        self._fallbacks: dict[str, Abilities] = {}
        self._proven: set[str] = set()
        """Models that have given a structured answer in a form with a schema."""
        self._listed: tuple[float, list[str] | None] | None = None
        self._facts: dict[str, Facts | None] = {}

    def profile(self, model: str) -> ModelProfile:
        """The known profile of ``model``; without one its price is unknown, unless the server is ``free``."""
        known = self._profiles(model) if self._profiles is not None else None
        price = 0 if self._free else None
        facts = self._facts.get(model) or Facts()
        return known or ModelProfile(
            name=model,
            window=facts.window,
            slots=facts.slots,
            server=self.base_url,
            input_nanousd=price,
            output_nanousd=price,
            free=self._free,
        )

    async def models(self, within_s: float | None = None) -> list[str]:
        """The models that the server lists within some seconds. Raises :class:`ModelError`."""
        return await self._server.model_names(within_s=within_s or LIST_WITHIN_S)

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
            return
        self._facts[model] = facts

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        """Make one call; see :class:`~leadhand.ports.Models`. Text, also of a structured answer, is streamed to
        ``on_text`` in pieces that join to the reply's text. Before a failure, some may already have been passed on."""
        patience = Patience(self._server.at, request.deadline_s, min(self._begin_s, request.patience_s), self.name)
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
            if error.failure.type in _WRONG_ADDRESS:
                raise await self._explained(error, _short_name(request.model)) from None
            raise

    async def aclose(self) -> None:
        """Close the connections. The client can be used again and opens new ones."""
        await self._server.aclose()

    async def _ask(
        self, request: ModelRequest, on_text: Callable[[str], None] | None, patience: Patience
    ) -> ModelReply:
        model = request.model
        facts, abilities = self._facts.get(model) or Facts(), self._fallbacks.get(model, self._usual)
        abilities = replace(abilities, tools=abilities.tools and facts.tools)
        # Calls requested in prose look like text until the text is complete.
        heard = on_text is not None and (abilities.tools or not request.tools)
        streamed = abilities.stream and (heard or (request.output is not None and self._stream_structured))
        body = chat_body(request, _short_name(model), abilities, adapter=self.name, stream=streamed)
        listener = ((on_text if heard else None) or _ignore) if streamed else None
        answered = await self._server.post(encode(body), patience, listener)
        if answered.document is not None:
            reply = self._reply(answered.document, request, abilities, heard=answered.heard)
            if on_text is not None and not answered.heard and reply.message.text and request.output is None:
                on_text(reply.message.text)  # the server does not stream
            return reply
        refusal = self._server.refusal(answered.status, answered.headers, answered.body, UNBILLED)
        if not may_refuse_form(refusal.failure.type):
            raise refusal
        simpler = fallback(abilities, request, streamed=streamed)
        if simpler is None:  # the form was not the cause, so the others need not do without it
            self._fallbacks.pop(model, None)
            raise refusal
        self._fallbacks[model] = simpler
        raise FormRefused(refusal.failure, refusal.usage)

    def _reply(
        self, document: dict[str, Any], request: ModelRequest, abilities: Abilities, *, heard: bool
    ) -> ModelReply:
        if document.get("error") and not document.get("choices"):
            # OpenRouter and others answer 200 with an error and its status in the body.
            usage = None if heard else UNBILLED
            raise self._server.refusal(status_inside(document), {}, json.dumps(document), usage, inside=True)
        usage = usage_of(document)
        if usage is None:
            usage = assumed_usage(request, self.profile(request.model))
        elif self._costs is not None:
            usage = usage.evolve(nanousd=self._costs(request.model, usage))
        reply = reply_of(document, request, abilities, adapter=self.name, usage=usage)
        if request.output is not None and abilities.schema:
            if reply.value is not None:
                self._proven.add(request.model)
            elif request.model not in self._proven and not (request.tools and reply.message.tool_calls):
                # It ignores the schema. Whether the call is repeated depends on the run's budget.
                self._fallbacks[request.model] = replace(abilities, schema=False)
        return reply

    async def _explained(self, error: ModelError, model: str) -> ModelError:
        """Return the same failure, with the models that the server lists if possible."""
        now = time.monotonic()
        if self._listed is None or now - self._listed[0] > _LISTED_FOR_S:
            self._listed = (now, None)  # concurrent callers do not query again
            self._listed = (now, await self._names_at())
        names = self._listed[1]
        if names is not None and model not in names:
            near = difflib.get_close_matches(model, names, n=3, cutoff=0.4)
            shown = [*near, *(name for name in names if name not in near)][:8]
            more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
            action = f"use a model of {self.base_url}: {', '.join(shown)}{more}"
            return failed("unknown_model", f"{self.name} has no model {model!r}", error.usage, action)
        if names is None and not urlsplit(self.base_url).path.strip("/"):
            there = f"{self.base_url}/v1"
            found = await self._names_at(there) is not None
            hint = f"there is one at {there}" if found else f"such URLs usually end in /v1 ({error.failure.message})"
            message = f"there is no chat-completions API at {self.base_url}; {hint}"
            return failed("not_an_api", message, error.usage, f"set the base URL to {there}")
        return error

    async def _names_at(self, base_url: str = "") -> list[str] | None:
        try:
            return await self._server.model_names(base_url) or None
        except ModelError:
            return None


def _ignore(_text: str) -> None:
    """Take the text of a structured answer, which is used as a whole."""


def _short_name(model: str) -> str:
    """The name that the server knows: without the provider."""
    return model.partition(":")[2] or model
