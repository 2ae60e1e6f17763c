"""The document of one model call: what the model was sent, what it answered, and what that used."""

from typing import Any

from pydantic import Field

from leadhand.core.conversation import AssistantMessage, Message, ToolMessage
from leadhand.core.errors import Failure
from leadhand.core.moment import Moment
from leadhand.core.value import Json, unset
from leadhand.ports.models import ModelRequest

from . import Document


class WrittenCall(Document):
    """A tool call that a model wrote. Without ``arguments``, the text of the model, ``raw``, is not a JSON object."""

    id: str
    name: str
    arguments: dict[str, Json] | None
    raw: str = Field(default="", exclude_if=lambda raw: not raw)


class SentMessage(Document):
    """A message of a prompt. ``call_id`` and ``name`` say whose result a tool message is."""

    role: str
    text: str
    tool_calls: tuple[WrittenCall, ...] = Field(default=(), exclude_if=unset)
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
    tool_calls: tuple[WrittenCall, ...]
    value: Json


class CallUsage(Document):
    """What one model call used."""

    input_tokens: int
    cached_tokens: int = Field(description="Input tokens that the provider read from its cache.")
    cache_write_tokens: int = Field(description="Input tokens that the provider wrote to its cache.")
    output_tokens: int
    cost_usd: float | None = Field(description="US dollars; null if the price is unknown.")


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
    return SentPrompt(
        messages=tuple(map(_sent, request.messages)),
        tools=tuple(
            OfferedTool(name=tool.name, description=tool.description, parameters=tool.parameters)
            for tool in request.tools
        ),
        output=request.output.schema_ if request.output is not None else None,
        max_tokens=request.max_tokens,
    )


def call_reply(message: AssistantMessage, value: Json) -> CallReply:
    """Return what a model answered."""
    return CallReply(text=message.text, tool_calls=_written(message), value=value)


def _sent(message: Message) -> SentMessage:
    if isinstance(message, ToolMessage):
        return SentMessage(role=message.role, text=message.content, call_id=message.call_id, name=message.name)
    calls: tuple[Any, ...] = _written(message) if isinstance(message, AssistantMessage) else ()
    return SentMessage(role=message.role, text=message.text, tool_calls=calls)


def _written(message: AssistantMessage) -> tuple[WrittenCall, ...]:
    return tuple(WrittenCall.model_validate(call.model_dump()) for call in message.tool_calls)
