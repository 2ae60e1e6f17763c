"""What calls models: the request, the reply, and what is known of a model before calling it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pydantic import Field

from leadhand.core.conversation import AssistantMessage, Message
from leadhand.core.errors import Failure
from leadhand.core.limits import Usage
from leadhand.core.tool import ToolSpec
from leadhand.core.value import Json, Value

REASONING_TOKENS = 8_000
"""Output tokens of one call for reasoning, beside those of the answer."""


class OutputSpec(Value):
    """The requested structured answer: a short ``name`` (``plan``, ``review``) and its JSON schema."""

    name: str
    schema_: dict[str, Any] = Field(alias="schema")


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """One call of a model, with everything that an adapter needs.

    ``model`` is the full name (``openai_compatible:llama3.1``). ``max_tokens`` limits the answer. A text that was cut
    off there is an error. ``temperature`` and ``reasoning_effort`` (minimal, low, medium, high) are sent if they are
    set. ``deadline_s`` is the time for the whole call in seconds, ``patience_s`` until the answer begins. ``key`` is
    the id of the call in the log, ``worker`` the name of the worker that asks, ``flow`` that of the flow of its run.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    output: OutputSpec | None = None
    max_tokens: int = 2_000
    temperature: float | None = None
    reasoning_effort: str | None = None
    deadline_s: float = 120.0
    patience_s: float = 300.0
    key: str = ""
    worker: str = ""
    flow: str = ""

    def evolve(self, **changes: Any) -> ModelRequest:
        """Return a copy with ``changes``."""
        return replace(self, **changes)


class ModelReply(Value):
    """What a model answered.

    ``value`` is the decoded structured answer when :attr:`ModelRequest.output` asked for one and the model gave JSON
    (an object; not yet checked against the schema), else None. ``usage.requests`` counts the requests that were sent.
    """

    message: AssistantMessage
    value: Json = None
    usage: Usage = Usage()
    finish_reason: str = "stop"
    model: str = ""


class ModelProfile(Value):
    """What is known of a model before calling it.

    ``window`` is the context window in tokens, prices are in nano-dollars per token; None is unknown
    (``cached_nanousd``: of input that the provider read from its cache; ``cache_write_nanousd``: of input that it wrote
    there). ``free`` models (offline, a server on this machine) cost nothing, which is not the same as an unknown price.
    ``server`` is the URL of the server that was queried, ``slots`` how many calls it answers at once. A model that
    ``reasons`` thinks before it answers, even if the request does not ask for that.
    """

    name: str
    window: int | None = None
    input_nanousd: int | None = None
    output_nanousd: int | None = None
    cached_nanousd: int | None = None
    cache_write_nanousd: int | None = None
    free: bool = False
    slots: int | None = None
    server: str = ""
    reasons: bool = False

    def with_reasoning(self, request: ModelRequest) -> ModelRequest:
        """Return ``request`` with room for the model's reasoning, which counts as output: :data:`REASONING_TOKENS`
        more, twice as many for a medium or high effort, at most an eighth of a known context window."""
        if not (self.reasons or request.reasoning_effort):
            return request
        room = REASONING_TOKENS * (2 if request.reasoning_effort in ("medium", "high") else 1)
        room = room if self.window is None else min(room, self.window // 8)
        return request.evolve(max_tokens=request.max_tokens + room)

    def cost(self, usage: Usage) -> int | None:
        """Return the cost of ``usage``, in nano-dollars; None if a price is unknown.

        Input that the provider read from or wrote to its cache has the price of other input if its own is unknown.
        """
        if self.input_nanousd is None or self.output_nanousd is None:
            return None
        read = self.input_nanousd if self.cached_nanousd is None else self.cached_nanousd
        written = self.input_nanousd if self.cache_write_nanousd is None else self.cache_write_nanousd
        plain = usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens
        sent = plain * self.input_nanousd + usage.cached_tokens * read + usage.cache_write_tokens * written
        return sent + usage.output_tokens * self.output_nanousd

    def highest_cost(self, input_tokens: int, output_tokens: int) -> int | None:
        """Return the most that tokens can cost, in nano-dollars: all of the input may be written to the cache."""
        if self.input_nanousd is None or self.output_nanousd is None:
            return None
        most = max(self.input_nanousd, self.cache_write_nanousd or 0)
        return input_tokens * most + output_tokens * self.output_nanousd


def input_bound(messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], output: OutputSpec | None) -> int:
    """An upper bound of the input tokens of a call: its bytes in UTF-8, plus 16 for the framing of each message."""
    size = sum(16 + message.size for message in messages)
    size += sum(tool.size for tool in tools)
    if output is not None:
        size += len(str(output.schema_).encode())
    return size


class ModelError(Exception):
    """A model call failed; ``failure`` has a class, ``usage`` is what the call used anyway (None: unknown)."""

    def __init__(self, failure: Failure, usage: Usage | None = None) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.usage = usage


class FormRefused(ModelError):
    """The server may not support the form of the request; the same request is sent in the plain form the next time."""


class Models(Protocol):
    """Calls models. There is one adapter per protocol; a router over adapters is an adapter too."""

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        """Make at most one request. ``on_text`` receives the answer's text as it is written, if the adapter streams.

        Cancelling closes the request. Raises :class:`ModelError`, with a classed failure, for everything else: a
        :class:`FormRefused` to be asked once more, within a reservation of its own.
        """
        ...

    def profile(self, model: str) -> ModelProfile: ...

    async def aclose(self) -> None: ...
