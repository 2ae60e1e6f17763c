"""Adapter for servers with the chat-completions protocol: a thin client on aiohttp.

It sends each request once; the engine retries. If a server rejects a feature, the next request has another form.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, replace
from math import inf
from typing import Any
from urllib.parse import urlsplit

from leadhand.core.limits import Usage
from leadhand.models.answers import answer_function, assumed_usage
from leadhand.models.failures import UNBILLED, error_message, failed
from leadhand.models.server_settings import checked_base_url, checked_key
from leadhand.ports import AnswerCache, FormRefused, ModelError
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest

from .answers import reply_of, usage_of
from .capabilities import Abilities, OutputMode, ignored, learn
from .connections import Patience, Server
from .errors import parameter_named, status_inside
from .http import ChatServer
from .server_facts import Facts, facts_of
from .wire import chat_body, encode

_LISTED_FOR_S = 60.0
LIST_WITHIN_S = 5.0
"""Seconds for the server to list its models."""
REMEMBERED_FOR_S = 86_400.0
"""Seconds for which a refusal is remembered, since a server may be updated."""
_WRONG_ADDRESS = frozenset({"unknown_model", "not_an_api"})


class OpenAICompatible:
    """A server that speaks the chat-completions protocol.

    The model is the part after the colon of ``ModelRequest.model``. Times are in seconds: ``connect_timeout_s`` for the
    connection; ``first_byte_timeout_s`` until the answer begins (without streaming, until it is complete), if that is
    less than the request's ``patience_s``; ``idle_timeout_s`` between two pieces. The request's own deadline covers
    everything. Structured answers are streamed with ``stream_structured``, so that a model may think long. At most
    ``connections`` are open at once; calls beyond them wait. By a model's full name, ``profiles`` returns its window
    and prices, and ``costs`` what a usage cost in nano-dollars; a ``free`` server costs nothing. ``key_setting`` is
    where the key came from, for messages. ``memory`` returns where to store for a day what the server refused, so that
    later processes do not send it again; None if there is no such place.

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
        memory: Callable[[], AnswerCache | None] = lambda: None,
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
        self._abilities: defaultdict[str, Abilities] = defaultdict(Abilities)
        self._memory = memory
        self._recalled: set[str] = set()
        self._proven: set[tuple[str, OutputMode]] = set()
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

    async def models(self) -> list[str]:
        """The models that the server lists. Raises :class:`ModelError` if it lists none."""
        return await self._server.model_names(within_s=LIST_WITHIN_S)

    async def learn(self, model: str) -> None:
        """Query the window of ``model``, the slots of its server and whether its template shows tools, unless known.

        :meth:`profile` then includes them. Never raises; takes some seconds at most. A server that does not answer is
        queried again the next time.
        """
        if model in self._facts or self.profile(model).window is not None:
            return
        self._facts[model] = None  # concurrent callers do not query again
        name = _short_name(model)
        facts = await facts_of(self._server, name, self.name)
        if facts is None:
            del self._facts[model]
            return
        self._facts[model] = facts
        if not facts.tools:
            self._abilities[name] = replace(self._abilities[name], tools=False)

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
        model = _short_name(request.model)
        abilities = await self._known(model)
        # Calls requested in prose look like text until the text is complete.
        heard = on_text is not None and (abilities.tools or not request.tools)
        streamed = abilities.stream and (heard or (request.output is not None and self._stream_structured))
        body = chat_body(request, model, abilities, adapter=self.name, stream=streamed)
        by_call = request.output if abilities.output is OutputMode.FUNCTION else None
        answered = await self._server.post(
            encode(body),
            patience,
            ((on_text if heard else None) or _ignore) if streamed else None,
            answer_function(by_call) if by_call is not None else "",
        )
        if answered.document is not None:
            reply = self._reply(answered.document, request, abilities, heard=answered.heard)
            if on_text is not None and not answered.heard and reply.message.text and request.output is None:
                on_text(reply.message.text)  # the server does not stream
            return reply
        refusal = self._server.refusal(answered.status, answered.headers, answered.body, UNBILLED)
        # A refusal may name the rejected field separately from its message.
        said = f"{error_message(answered.body)} {parameter_named(answered.body)}"
        learned = learn(abilities, request, answered.status, said, streamed=streamed)
        if learned is None:
            raise refusal
        if self._abilities[model] == abilities:  # else another call has learned meanwhile
            self._abilities[model] = learned
            if (memory := self._memory()) is not None:
                await memory.cache(self._memory_key(model), asdict(learned), REMEMBERED_FOR_S)
        raise FormRefused(refusal.failure, refusal.usage)

    async def _known(self, model: str) -> Abilities:
        """What is known of the server's abilities, including what other processes learned."""
        if model not in self._recalled and (memory := self._memory()) is not None:
            kept = Abilities.remembered(await memory.cached(self._memory_key(model)))
            if kept is not None and model not in self._recalled:  # else another call has recalled it meanwhile
                self._abilities[model] = replace(kept, tools=kept.tools and self._abilities[model].tools)
            self._recalled.add(model)
        return self._abilities[model]

    def _memory_key(self, model: str) -> str:
        server = hashlib.sha256(self.base_url.encode()).hexdigest()[:16]  # a URL may contain a secret
        return f"abilities of {server} {model}"

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
        if request.output is not None and not (request.tools and reply.message.tool_calls):  # the answer follows later
            self._judge(_short_name(request.model), abilities, given=reply.value is not None)
        return reply

    def _judge(self, model: str, abilities: Abilities, *, given: bool) -> None:
        """Remember whether a form of structured answer works with a model.

        A form that has never worked and returned prose is not used for the next call. The call is not repeated here,
        because it has costs; whether to repeat it depends on the run's budget.
        """
        if given:
            self._proven.add((model, abilities.output))
        elif (model, abilities.output) not in self._proven and self._abilities[model] == abilities:
            self._abilities[model] = ignored(abilities) or abilities

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
