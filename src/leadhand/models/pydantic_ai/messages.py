"""Convert our messages to pydantic-ai's, with the data that must be sent back: pure functions.

What a provider needs back from its own answer (thinking with its signatures, signatures of calls) is kept as our
own JSON in :class:`~leadhand.domain.conversation.Opaque`, never as their types::

    {"provider": "anthropic", "system": None, "parts": [
        {"kind": "thinking", "text": "…", "signature": "…"},      also: "id", "details", "provider"
        {"kind": "text", "length": 12},                           the next 12 characters of the message's text
        {"kind": "call", "call": "toolu_1", "details": {…}}]}     the call of that id
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

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

from leadhand.domain.conversation import (
    AssistantMessage,
    Message,
    Opaque,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from leadhand.models.json_values import decode_json, object_of, objects_of, text_of


def conversation(messages: Iterable[Message], *, adapter: str, model: str) -> list[ModelMessage]:
    """Our messages as theirs. ``adapter`` and the full name of the ``model`` say whose opaque data goes along."""
    translated: list[ModelMessage] = []
    waiting: list[ModelRequestPart] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            if waiting:
                translated.append(LibraryRequest(parts=waiting))
                waiting = []
            translated.append(_response(message, adapter, model))
        else:
            waiting.append(_request_part(message))
    if waiting:
        translated.append(LibraryRequest(parts=waiting))
    return translated


def clean(text: str) -> str:
    """``text`` with a question mark for each lone surrogate, which no log can store."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def has_late_system_message(messages: Iterable[Message]) -> bool:
    """Whether a system message follows other messages: some providers do not support this."""
    begun = False
    for message in messages:
        if isinstance(message, SystemMessage):
            if begun:
                return True
        else:
            begun = True
    return False


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
    # Whose keys verify the signatures; only newer releases tell it apart from the provider.
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
    """What else a provider said about a part."""
    return {
        "id": text_of(entry.get("id")) or None,
        "provider_name": text_of(entry.get("provider")) or None,
        "provider_details": object_of(entry.get("details")) or None,
    }


def opaque_of(response: ModelResponse, *, adapter: str, model: str) -> Opaque | None:
    """What must come back untouched with ``response``; None if nothing but its text and calls must."""
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
