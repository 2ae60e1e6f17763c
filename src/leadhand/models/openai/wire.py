"""Translates our messages into a chat-completions request: pure functions, no network.

The protocol: https://platform.openai.com/docs/api-reference/chat/create.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json, to_json

from leadhand.core.conversation import AssistantMessage, Message, ToolMessage, UserMessage
from leadhand.core.tool import ToolSpec
from leadhand.core.value import object_of
from leadhand.models.answers import object_schema
from leadhand.ports.models import ModelRequest

from .forms import Form

_functions: dict[int, tuple[ToolSpec, dict[str, Any]]] = {}
_MOST_FUNCTIONS = 1_000
_JSON_ONLY = "Answer with one JSON object and nothing else: no prose, no code fence. It must match this schema:"


def chat_body(
    request: ModelRequest, model: str, form: Form, *, adapter: str = "", stream: bool = False
) -> dict[str, Any]:
    """The body of ``POST /chat/completions`` for the server's ``model``, with the opaque data of ``adapter``."""
    messages = list(request.messages)
    body: dict[str, Any] = {"model": model, form.token_limit: request.max_tokens}
    chosen = {"temperature": request.temperature, "reasoning_effort": request.reasoning_effort}
    body |= {name: value for name, value in chosen.items() if value is not None}
    if request.tools and form.tools:
        body["tools"] = [_function(tool) for tool in request.tools]
    elif request.tools or not form.tools:
        messages = _tools_in_words(messages, request.tools)
    if request.output is not None:
        if form.schema:
            body["response_format"] = {
                "type": "json_schema",
                # Strict mode requires every field, which would make a model invent values for optional ones.
                "json_schema": {"name": request.output.name, "schema": request.output.schema_, "strict": False},
            }
        else:
            schema = json.dumps(request.output.schema_, ensure_ascii=False)
            messages = _with_words(messages, f"{_JSON_ONLY}\n{schema}")
    body["messages"] = [_message(message, adapter, request.model) for message in messages]
    if stream:
        body["stream"] = True
        if form.stream_usage:
            body["stream_options"] = {"include_usage": True}
    return body


def encode(value: dict[str, Any]) -> bytes:
    """Return an object as JSON in UTF-8, with a question mark for each lone surrogate."""
    try:
        return to_json(value)  # three times as fast, and stricter
    except ValueError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _function(tool: ToolSpec) -> dict[str, Any]:
    """Return a tool as the protocol has it. Each is converted once, to plain dicts, which are encoded faster."""
    kept = _functions.get(id(tool))
    if kept is not None:  # it holds the tool, so that no other has its id
        return kept[1]
    parameters = {name: part for name, part in object_schema(tool.parameters).items() if part is not False}
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    made = object_of(from_json(encode({"type": "function", "function": function})))
    if len(_functions) >= _MOST_FUNCTIONS:
        _functions.clear()
    _functions[id(tool)] = tool, made
    return made


def _message(message: Message, adapter: str, model: str) -> dict[str, Any]:
    if message.role == "tool":  # to look at the class of a value takes longer
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
    if message.role == "assistant":
        return _assistant(message, adapter, model)
    return {"role": message.role, "content": message.text}


def _assistant(message: AssistantMessage, adapter: str, model: str) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": "assistant", "content": message.text or (None if message.tool_calls else "")}
    if not message.tool_calls:
        return wire
    calls: list[dict[str, Any]] = [
        {
            "id": call.id,
            "type": "function",
            # Servers parse the history, and invalid JSON in arguments would fail the whole call. The tool message
            # that follows says what was wrong with them.
            "function": {"name": call.name, "arguments": encode(call.arguments or {}).decode()},
        }
        for call in message.tool_calls
    ]
    wire["tool_calls"] = calls
    opaque = message.opaque
    if opaque is not None and opaque.adapter == adapter and opaque.model == model:
        # Reasoning belongs to the turn of its tool calls; some servers reject it with a finished answer.
        wire.update({key: value for key, value in opaque.data.items() if key != "calls"})
        extras = object_of(opaque.data.get("calls"))
        for call in calls:
            extra = object_of(extras.get(call["id"]))
            call.update({key: value for key, value in extra.items() if key not in call})
    return wire


def _with_words(messages: list[Message], words: str) -> list[Message]:
    """The messages with ``words`` at the end of the last user message, so that roles still alternate."""
    if messages and isinstance(messages[-1], UserMessage):
        return [*messages[:-1], UserMessage(text=f"{messages[-1].text}\n\n{words}")]
    return [*messages, UserMessage(text=words)]


def _tools_in_words(messages: list[Message], tools: tuple[ToolSpec, ...]) -> list[Message]:
    """Return a conversation for a model without tools: calls and results as text, and how to request a call."""
    plain: list[Message] = []
    for message in messages:
        match message:
            case AssistantMessage() if message.tool_calls:
                calls = [
                    json.dumps({"tool": call.name, "arguments": call.arguments or {}}, ensure_ascii=False)
                    for call in message.tool_calls
                ]
                plain.append(AssistantMessage(text="\n".join(filter(None, [message.text, *calls]))))
            case ToolMessage():
                said = f"Result of {message.name}:" if message.ok else f"{message.name} failed:"
                plain = _with_words(plain, f"{said}\n{message.content}")
            case _:
                plain.append(message)
    if not tools:
        return plain
    offers = "\n".join(
        json.dumps({"tool": t.name, "description": t.description, "arguments": t.parameters}, ensure_ascii=False)
        for t in tools
    )
    return _with_words(
        plain,
        'To call one of these tools, answer with a JSON object {"tool": name, "arguments": {…}} and nothing else. To '
        f"finish, answer in plain words.\n{offers}",
    )
