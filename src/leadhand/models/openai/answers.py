"""Convert a chat-completions answer to our reply, tolerating deviations of servers: pure functions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from leadhand.domain.conversation import (
    AssistantMessage,
    ModelReply,
    ModelRequest,
    Opaque,
    ToolCall,
    ToolMessage,
    input_bound,
)
from leadhand.domain.errors import FailureClass
from leadhand.domain.limits import Usage
from leadhand.models.json_values import decode_json, is_object, list_of, object_of, objects_of, text_of
from leadhand.models.structured import decode_object
from leadhand.ports import ModelError

from .capabilities import Abilities, OutputMode
from .errors import error_message, failed
from .reasoning import answer_in
from .wire import answer_function

_REASONING = ("reasoning_details", "reasoning_content", "reasoning")
_CALL_FIELDS = frozenset({"id", "type", "function", "index"})
_FINISHES = {
    "": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_length": "length",  # Mistral
    "safety": "content_filter",  # Gemini
}
"""Our stop reasons, by the other names that servers use."""


def reply_of(
    document: Mapping[str, Any], request: ModelRequest, abilities: Abilities, *, adapter: str, requests: int = 1
) -> ModelReply:
    """The reply in ``document``, a decoded chat completion. ``requests`` is how many HTTP requests it took.

    Raises :class:`ModelError`: ``transient`` for an answer without a choice, without anything in it or that the server
    gave up, ``invalid`` for one that was cut off or withheld.
    """
    usage = usage_of(document, request, requests)
    choice = _first_choice(document)
    if choice is None:
        said = "".join(f": {document[field]}"[:200] for field in ("detail", "message") if document.get(field))
        raise failed(f"the model answered without any choice{said}", "empty_answer", FailureClass.TRANSIENT, usage)
    wire = object_of(choice.get("message"))
    written = text_of(choice.get("finish_reason")).casefold()
    finish = _FINISHES.get(written, written)
    if finish == "error" or choice.get("error"):
        said = error_message(json.dumps({"error": choice.get("error") or "no reason was given"}))
        raise failed(f"the server aborted its answer: {said}", "gave_up", FailureClass.TRANSIENT, usage)
    text = answer_in(_text(wire.get("content")))
    refusal = text_of(wire.get("refusal"))
    if not text and refusal:
        text, finish = refusal, "refusal"
    calls, extras = _calls(wire, request)
    value: dict[str, Any] | None = None
    if request.output is not None:
        value, text, calls = _structured(request, abilities, text, calls)
    elif not abilities.tools and request.tools and not calls:
        text, calls = _call_in_words(text, request)
    if not calls and value is None:
        # An incomplete answer must never pass for a complete one.
        if finish == "length":
            raise _cut(request, usage)
        if finish == "content_filter":
            raise failed(
                "the provider's content filter withheld the answer, or the rest of it",
                "content_filter",
                FailureClass.INVALID,
                usage,
                next_action="rephrase the request, or use another model",
            )
    if not text and not calls:
        raise failed("the model returned an empty answer", "empty_answer", FailureClass.TRANSIENT, usage)
    message = AssistantMessage(text=text, tool_calls=calls, opaque=_opaque(wire, extras, adapter, request.model))
    return ModelReply(
        message=message,
        value=value,
        usage=usage,
        finish_reason="tool_calls" if calls and finish == "stop" else finish,
        model=text_of(document.get("model")) or request.model,
    )


def _cut(request: ModelRequest, usage: Usage) -> ModelError:
    return failed(
        f"the answer did not fit into {request.max_tokens} tokens (reasoning counts)",
        "cut_answer",
        FailureClass.INVALID,
        usage,
        next_action="raise --max-output-tokens, ask for less at once, or use a model with less reasoning",
    )


def usage_of(document: Mapping[str, Any], request: ModelRequest, requests: int) -> Usage:
    """The reported usage. Without a report it is the upper bound, so that the budget holds."""
    counted = usage_in(document)
    sent = _count(counted.get("prompt_tokens", counted.get("input_tokens")))
    written = _count(counted.get("completion_tokens", counted.get("output_tokens")))
    total = _count(counted.get("total_tokens"))
    if sent is None and written is not None and total is not None:
        sent = max(0, total - written)
    if sent is not None and total is not None:
        # xAI includes billed reasoning only in the total.
        written = max(written or 0, total - sent)
    if sent is not None and written is not None:
        return Usage(requests=requests, input_tokens=sent, output_tokens=written)
    bound = input_bound(request.messages, request.tools, request.output)
    return Usage(requests=requests, input_tokens=bound, output_tokens=request.max_tokens)


def usage_in(document: Mapping[str, Any]) -> dict[str, Any]:
    """The usage object, wherever the server puts it (the streams of Groq and Moonshot differ)."""
    for found in (document.get("usage"), object_of(document.get("x_groq")).get("usage")):
        if is_object(found) and found:
            return found
    choice = _first_choice(document)
    return object_of(choice.get("usage")) if choice is not None else {}


def _count(value: object) -> int | None:
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0 else None


def _first_choice(document: Mapping[str, Any]) -> dict[str, Any] | None:
    choices = objects_of(document.get("choices"))
    return choices[0] if choices else None


def _text(content: object) -> str:
    """The text of a message, which is a string, null, or a list of parts."""
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for part in list_of(content):
        described = object_of(part)
        if described.get("type", "text") in ("text", "output_text"):
            parts.append(text_of(part) or text_of(described.get("text")))
    return "".join(parts)


def _calls(wire: Mapping[str, Any], request: ModelRequest) -> tuple[tuple[ToolCall, ...], dict[str, Any]]:
    """The tool calls, each with a unique id, and by id their other fields."""
    entries = objects_of(wire.get("tool_calls"))
    if not entries and object_of(wire.get("function_call")):
        entries = [{"function": wire["function_call"]}]  # the older protocol with function_call
    if not entries:
        return (), {}
    # Some servers count from 0 in every answer, but an id must be unique in the conversation.
    taken = {message.call_id for message in request.messages if isinstance(message, ToolMessage)}
    made = len(taken)
    calls: dict[str, ToolCall] = {}
    extras: dict[str, Any] = {}
    for number, entry in enumerate(entries, start=made):
        function = object_of(entry.get("function")) or entry
        key = text_of(entry.get("id")) or f"call_{number}"
        while key in calls or key in taken:
            key = f"{key}_"
        arguments, raw = _arguments(function.get("arguments"))
        calls[key] = ToolCall(id=key, name=text_of(function.get("name")), arguments=arguments, raw=raw)
        extra = {field: value for field, value in entry.items() if field not in _CALL_FIELDS and entry is not function}
        if extra:
            extras[key] = extra
    return tuple(calls.values()), extras


def _arguments(written: object) -> tuple[dict[str, Any] | None, str]:
    """The arguments as an object and as text; None unless they are a JSON object."""
    if is_object(written):
        try:
            return written, json.dumps(written, ensure_ascii=False, allow_nan=False)
        except ValueError:  # NaN
            return None, json.dumps(written, ensure_ascii=False)
    if written is None or (isinstance(written, str) and not written.strip()):
        return {}, ""
    if not isinstance(written, str):
        return None, json.dumps(written, ensure_ascii=False)
    try:
        decoded = decode_json(written, finite=True)
        if isinstance(decoded, str):  # encoded twice
            decoded = decode_json(decoded, finite=True)
    except ValueError:
        return None, written
    return (decoded if is_object(decoded) else None), written


def _structured(
    request: ModelRequest, abilities: Abilities, text: str, calls: tuple[ToolCall, ...]
) -> tuple[dict[str, Any] | None, str, tuple[ToolCall, ...]]:
    """The structured answer, from the call that carries it or from the text; the answer as text; the other calls."""
    assert request.output is not None, "called only for structured answers"
    if abilities.output is OutputMode.FUNCTION:
        name = answer_function(request.output)
        answers = [call for call in calls if call.name == name]
        if answers:
            others = tuple(call for call in calls if call.name != name)
            return answers[0].arguments, answers[0].raw, others
    return decode_object(text), text, calls


def _call_in_words(text: str, request: ModelRequest) -> tuple[str, tuple[ToolCall, ...]]:
    """The tool call that a model without tools wrote as JSON, if it did."""
    wanted = decode_object(text)
    if wanted is None or wanted.get("tool") not in {tool.name for tool in request.tools}:
        return text, ()
    made = sum(isinstance(message, ToolMessage) for message in request.messages)
    arguments, raw = _arguments(wanted.get("arguments"))
    return "", (ToolCall(id=f"call_{made}", name=wanted["tool"], arguments=arguments, raw=raw),)


def _opaque(wire: Mapping[str, Any], extras: dict[str, Any], adapter: str, model: str) -> Opaque | None:
    """The data to send back unchanged with the tool calls of this turn: reasoning, signatures."""
    data = {field: wire[field] for field in _REASONING if wire.get(field)}
    if extras:
        data["calls"] = extras
    return Opaque(adapter=adapter, model=model, data=data) if data else None
