"""Messages to and from a model, in Leadhand's own shapes: the log stores them, and every adapter translates them."""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self, cast

from pydantic import Field

from .limits import Usage
from .tool import ToolSpec
from .value import Json, Value


class ToolCall(Value):
    """A tool call that a model asks for. ``arguments`` is None if the text it wrote, ``raw``, is not a JSON object."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    raw: str = ""


class _Said(Value):
    """A message of a conversation. It is the same object in all requests, so its size is found once."""

    @cached_property
    def size(self) -> int:
        """The bytes of the message as JSON in UTF-8."""
        return len(self.model_dump_json(exclude_none=True).encode())

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        copy = super().model_copy(update=update, deep=deep)
        cast("dict[str, Any]", copy.__dict__).pop("size", None)  # the copy may be longer
        return copy


class SystemMessage(_Said):
    role: Literal["system"] = "system"
    text: str


class UserMessage(_Said):
    role: Literal["user"] = "user"
    text: str


class Opaque(Value):
    """Provider data to send back unchanged to the same model: thinking signatures, tagged with their adapter."""

    adapter: str
    model: str
    data: dict[str, Any]


class AssistantMessage(_Said):
    role: Literal["assistant"] = "assistant"
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    opaque: Opaque | None = None


class ToolMessage(_Said):
    """The result of a tool call, as the model receives it: ``content`` is JSON or text."""

    role: Literal["tool"] = "tool"
    call_id: str
    name: str
    content: str
    ok: bool = True


Message = Annotated[SystemMessage | UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]


class OutputSpec(Value):
    """The requested structured answer: a short ``name`` (``plan``, ``review``) and its JSON schema."""

    name: str
    schema_: dict[str, Any] = Field(alias="schema")


class ModelRequest(Value):
    """One call of a model, with everything that an adapter needs.

    ``model`` is the full name (``openai_compatible:llama3.1``). ``max_tokens`` limits the answer. A text that was cut
    off there is an error, unless ``partial``: then it is returned with the finish reason "length". ``deadline_s`` is
    the time for the whole call in seconds, ``patience_s`` until the answer begins. ``key`` is the id of the call in the
    log, ``role`` the role that asks.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    output: OutputSpec | None = None
    max_tokens: int = 2_000
    partial: bool = False
    deadline_s: float = 120.0
    patience_s: float = 300.0
    key: str = ""
    worker: str = ""


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
    ``server`` is the URL of the server that was queried, ``slots`` how many calls it answers at once.
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
    size += sum(len(f"{tool.name}{tool.description}{tool.parameters}".encode()) for tool in tools)
    if output is not None:
        size += len(str(output.schema_).encode())
    return size
