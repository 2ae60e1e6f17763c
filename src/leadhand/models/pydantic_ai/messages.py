"""Convert requests to pydantic-ai's messages and settings, and its answers to our replies: pure functions.

What a provider needs back from its own answer (thinking with its signatures, signatures of calls) is stored as our own
JSON in :class:`~leadhand.core.conversation.Opaque`, never as their types::

    {"provider": "anthropic", "system": None, "parts": [
        {"kind": "thinking", "text": "…", "signature": "…"},      also: "id", "details", "provider"
        {"kind": "text", "length": 12},                           the next 12 characters of the message's text
        {"kind": "call", "call": "toolu_1", "details": {…}}]}     the call of that id
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import dropwhile
from typing import Any, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.messages import ModelRequest as LibraryRequest
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from leadhand.core.conversation import (
    AssistantMessage,
    Message,
    Opaque,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from leadhand.core.limits import Usage
from leadhand.core.value import object_of, objects_of, text_of
from leadhand.models.answers import (
    answer_function,
    clean,
    counted_usage,
    decode_json,
    object_schema,
    structured_answer,
    token_count,
    tool_call,
)
from leadhand.models.failures import failed, unfinished
from leadhand.ports.models import ModelReply, ModelRequest

ENDED_EARLY = "the answer ended too early"


def conversation(messages: Iterable[Message], *, adapter: str, model: str) -> list[ModelMessage]:
    """Our messages as theirs. ``adapter`` and the full name of the ``model`` select the opaque data to include."""
    translated: list[ModelMessage] = []
    parts: list[ModelRequestPart] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            translated.append(_response(message, adapter, model))
            parts = []
            continue
        if not parts:  # one request for all messages between two answers
            translated.append(LibraryRequest(parts=parts))
        parts.append(_request_part(message))
    return translated


def has_late_system_message(messages: Iterable[Message]) -> bool:
    """Whether a system message follows other messages: some providers do not support this."""
    others = dropwhile(lambda message: isinstance(message, SystemMessage), messages)
    return any(isinstance(message, SystemMessage) for message in others)


def _request_part(message: SystemMessage | UserMessage | ToolMessage) -> ModelRequestPart:
    match message:
        case SystemMessage():
            return SystemPromptPart(content=clean(message.text))
        case UserMessage():
            return UserPromptPart(content=clean(message.text))
        case ToolMessage():
            return ToolReturnPart(
                tool_name=message.name,
                content=clean(message.content),
                tool_call_id=message.call_id,
                outcome="success" if message.ok else "failed",
            )


def _response(message: AssistantMessage, adapter: str, model: str) -> ModelResponse:
    opaque = message.opaque
    if opaque is None or opaque.adapter != adapter or opaque.model != model:
        return ModelResponse(parts=_parts(message, []))
    # The system whose keys verify the signatures; only newer releases distinguish it from the provider.
    system: dict[str, Any] = {"canonical_system": opaque.data["system"]} if text_of(opaque.data.get("system")) else {}
    return ModelResponse(
        parts=_parts(message, objects_of(opaque.data.get("parts"))),
        provider_name=text_of(opaque.data.get("provider")) or None,
        **system,
    )


def _parts(message: AssistantMessage, entries: list[dict[str, Any]]) -> list[ModelResponsePart]:
    """The parts of a message in the order of ``entries``; what they do not mention comes after."""
    lengths = [entry.get("length") for entry in entries if entry.get("kind") == "text"]
    whole = sum(length for length in lengths if isinstance(length, int)) != len(message.text)
    calls = {call.id: call for call in message.tool_calls}
    parts: list[ModelResponsePart] = []
    done = 0
    for entry in entries:
        about = _about(entry)
        match entry.get("kind"):
            case "thinking":
                signature = text_of(entry.get("signature")) or None
                parts.append(ThinkingPart(content=text_of(entry.get("text")), signature=signature, **about))
            case "text" if not whole:
                end = done + int(entry["length"])
                parts.append(TextPart(content=message.text[done:end], **about))
                done = end
            case "call" if text_of(entry.get("call")) in calls:
                parts.append(_call(calls.pop(text_of(entry.get("call"))), about))
            case _:
                pass
    if done < len(message.text):
        first_call = next((n for n, part in enumerate(parts) if isinstance(part, ToolCallPart)), len(parts))
        parts.insert(first_call, TextPart(content=message.text))
    parts.extend(_call(call, {}) for call in calls.values())
    return parts


def _call(call: ToolCall, about: dict[str, Any]) -> ToolCallPart:
    # Arguments that are not valid JSON are sent as text; the adapters wrap them so that a provider accepts them.
    args = call.raw if call.arguments is None else call.arguments
    return ToolCallPart(tool_name=call.name, args=args, tool_call_id=call.id, **about)


def _about(entry: dict[str, Any]) -> dict[str, Any]:
    """Return a provider's other details of a part."""
    return {
        "id": text_of(entry.get("id")) or None,
        "provider_name": text_of(entry.get("provider")) or None,
        "provider_details": object_of(entry.get("details")) or None,
    }


def opaque_of(response: ModelResponse, *, adapter: str, model: str) -> Opaque | None:
    """Return the data that must be sent back unchanged with ``response``; None if its text and calls are enough."""
    entries = [_entry(part) for part in response.parts if isinstance(part, TextPart | ThinkingPart | ToolCallPart)]
    if not any(entry["kind"] == "thinking" or "id" in entry or "details" in entry for entry in entries):
        return None
    data: dict[str, Any] = {"parts": entries}
    if response.provider_name:
        data["provider"] = response.provider_name
    if system := text_of(getattr(response, "canonical_system", None)):
        data["system"] = system
    return Opaque(adapter=adapter, model=model, data=data)


def _entry(part: TextPart | ThinkingPart | ToolCallPart) -> dict[str, Any]:
    entry: dict[str, Any]
    match part:
        case TextPart():
            entry = {"kind": "text", "length": len(part.content)}
        case ThinkingPart():
            entry = {"kind": "thinking", "text": clean(part.content)}
            if part.signature:
                entry["signature"] = part.signature
        case ToolCallPart():
            entry = {"kind": "call", "call": part.tool_call_id}
    if part.id:
        entry["id"] = part.id
    if part.provider_name:
        entry["provider"] = part.provider_name
    if part.provider_details:
        entry["details"] = decode_json(json.dumps(part.provider_details, default=str))
    return entry


def parameters(request: ModelRequest, profile: ModelProfile) -> ModelRequestParameters:
    """The tools, and the request for a structured answer: as a call, or in the prompt if the model has no tools."""
    tools = [
        ToolDefinition(
            name=tool.name, description=tool.description, parameters_json_schema=object_schema(tool.parameters)
        )
        for tool in request.tools
    ]
    output = request.output
    if output is None:
        return ModelRequestParameters(function_tools=tools)
    if not profile.get("supports_tools", True):
        schema = OutputObjectDefinition(json_schema=output.schema_, name=output.name)
        return ModelRequestParameters(
            function_tools=tools, output_object=schema, output_mode="prompted", allow_text_output=True
        )
    answer = ToolDefinition(
        name=answer_function(output),
        description="Returns the answer. Call it once, and write nothing else.",
        parameters_json_schema=object_schema(output.schema_),
        kind="output",
    )
    return ModelRequestParameters(
        function_tools=tools, output_tools=[answer], output_mode="tool", allow_text_output=False
    )


def settings(request: ModelRequest, model: Model, cache_markers: Mapping[str, bool]) -> ModelSettings:
    """Model settings: those of the request, cache markers, and the client's own retries disabled where supported."""
    chosen = ModelSettings(max_tokens=request.max_tokens, timeout=request.deadline_s, max_retries=0)
    if request.temperature is not None:
        chosen["temperature"] = request.temperature
    if request.reasoning_effort is not None:
        chosen["thinking"] = cast("Any", request.reasoning_effort)
    for name in type(model).unsupported_settings & {"timeout", "max_retries"}:
        chosen.pop(name)
    return cast("ModelSettings", {**chosen, **cache_markers})


def reply_of(response: ModelResponse, request: ModelRequest, *, adapter: str, usage: Usage) -> ModelReply:
    """The reply in ``response``.

    Raises :class:`~leadhand.ports.ModelError` for an answer that is empty, broken off, cut off or withheld.
    """
    if response.state != "complete":
        raise failed("cut_stream", ENDED_EARLY, usage)
    finish = response.finish_reason or "stop"
    text = clean("".join(part.content for part in response.parts if isinstance(part, TextPart)))
    calls = tuple(
        tool_call(part.tool_call_id, part.tool_name, part.args)
        for part in response.parts
        if isinstance(part, ToolCallPart)
    )
    value: dict[str, Any] | None = None
    if request.output is not None:
        value, text, calls = structured_answer(request.output, text, calls)
    unusable = value is None and not any(call.arguments is not None for call in calls)
    if (finish == "length" and unusable) or not (text or calls):
        raise unfinished(finish, request, usage)
    if finish in ("stop", "tool_call"):  # the call with the structured answer is not a tool call of the run
        finish = "tool_calls" if calls else "stop"
    return ModelReply(
        message=AssistantMessage(
            text=text, tool_calls=calls, opaque=opaque_of(response, adapter=adapter, model=request.model)
        ),
        value=value,
        usage=usage,
        finish_reason=finish,
        model=response.model_name or request.model,
    )


def usage_of(response: ModelResponse) -> Usage | None:
    """What the provider counted, cached input included; None if it did not count, or cannot have counted right."""
    said = response.usage
    sent, written = token_count(said.input_tokens), token_count(said.output_tokens)
    cached, into_cache = token_count(said.cache_read_tokens), token_count(said.cache_write_tokens)
    return counted_usage(sent, written, empty=not response.parts, cached=cached, into_cache=into_cache)
