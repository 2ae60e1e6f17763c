"""The document of one model call: what the model was sent, what it answered, and what that used."""

from pydantic import Field

from leadhand.core.conversation import AssistantMessage, Message, ToolCall, ToolMessage
from leadhand.core.errors import Failure
from leadhand.core.limits import Usage, usd
from leadhand.core.moment import Moment
from leadhand.core.value import Json, unset
from leadhand.ports.models import ModelRequest

from . import Document


class SentMessage(Document):
    """A message of a prompt. ``call_id`` and ``name`` say whose result a tool message is."""

    role: str
    text: str
    tool_calls: tuple[ToolCall, ...] = Field(default=(), exclude_if=unset)
    call_id: str | None = Field(default=None, exclude_if=unset)
    name: str | None = Field(default=None, exclude_if=unset)


class OfferedTool(Document):
    """A tool that the model could call."""

    name: str
    description: str
    parameters: dict[str, Json]


class SentPrompt(Document):
    """What a model was sent, with secrets redacted."""

    messages: tuple[SentMessage, ...]
    tools: tuple[OfferedTool, ...]
    output: dict[str, Json] | None = Field(description="The JSON schema of the structured answer that was asked for.")
    max_tokens: int = Field(description="The most tokens of the answer.")


class CallReply(Document):
    """What a model answered: text, tool calls, or a structured answer."""

    text: str
    tool_calls: tuple[ToolCall, ...]
    value: Json

    @classmethod
    def of(cls, message: AssistantMessage, value: Json) -> "CallReply":
        return cls(text=message.text, tool_calls=message.tool_calls, value=value)


class CallUsage(Document):
    """What one model call used."""

    input_tokens: int
    cached_tokens: int = Field(description="Input tokens that the provider read from its cache.")
    cache_write_tokens: int = Field(description="Input tokens that the provider wrote to its cache.")
    output_tokens: int
    cost_usd: float | None = Field(description="US dollars; null if the price is unknown.")

    @classmethod
    def of(cls, usage: Usage) -> "CallUsage":
        cost_usd = None if usage.nanousd is None else usd(usage.nanousd)
        return cls(cost_usd=cost_usd, **{name: each for name, each in usage if name in cls.model_fields})


class ModelCallDocument(Document):
    """One model call of a run. Without ``ended_at``, it has not ended, or its process died."""

    run_id: str
    call_id: str = Field(description="The key of the turn. A call that was made again has the same one.")
    seq: int = Field(description="The number of the event with which the call began. The view lists calls by it.")
    returned_seq: int | None
    attempt: str
    worker: str
    model: str
    began_at: Moment
    ended_at: Moment | None
    duration_ms: int | None
    prompt: SentPrompt
    reply: CallReply | None
    finish_reason: str
    failure: Failure | None
    usage: CallUsage | None = Field(description="Null until the call ends, and if the provider did not say.")


def sent_prompt(request: ModelRequest) -> SentPrompt:
    """Return what a request sends."""
    offered = set(OfferedTool.model_fields)
    return SentPrompt(
        messages=tuple(map(_sent, request.messages)),
        tools=tuple(OfferedTool(**tool.model_dump(include=offered)) for tool in request.tools),
        output=request.output.schema_ if request.output is not None else None,
        max_tokens=request.max_tokens,
    )


def _sent(message: Message) -> SentMessage:
    if isinstance(message, ToolMessage):
        return SentMessage(role=message.role, text=message.content, call_id=message.call_id, name=message.name)
    calls = message.tool_calls if isinstance(message, AssistantMessage) else ()
    return SentMessage(role=message.role, text=message.text, tool_calls=calls)
