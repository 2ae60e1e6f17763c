"""Convert a chat-completions answer to our reply, tolerating deviations of servers.

Some models write their reasoning (``<think>…</think>``) before they answer; it is removed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from leadhand.core.conversation import Opaque, ToolCall, ToolMessage
from leadhand.core.limits import Usage
from leadhand.core.value import list_of, object_of, objects_of, text_of
from leadhand.models.answers import counted_usage, decode_object, token_count, tool_call
from leadhand.models.failures import error_message, failed, finished
from leadhand.ports.models import ModelReply, ModelRequest

from .forms import Form

_REASONING = ("reasoning_details", "reasoning_content", "reasoning")
_CALL_FIELDS = frozenset({"id", "type", "function", "index"})
_FINISHES = {
    "": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_length": "length",  # Mistral
    "safety": "content_filter",  # Gemini
}
"""Our stop reasons by the names that servers use."""


def reply_of(
    document: Mapping[str, Any], request: ModelRequest, form: Form, *, adapter: str, usage: Usage
) -> ModelReply:
    """Return the reply in ``document``, a decoded chat completion.

    Raises :class:`ModelError` for an answer that is empty, or was aborted by the server, cut off or withheld.
    """
    choice = first_choice(document)
    if not choice:
        raise failed("empty_answer", "the model answered without any choice", usage)
    wire = object_of(choice.get("message"))
    written = text_of(choice.get("finish_reason")).casefold()
    finish = _FINISHES.get(written, written)
    if finish == "error" or choice.get("error"):
        said = error_message(json.dumps({"error": choice.get("error") or "no reason was given"}))
        raise failed("gave_up", f"the server aborted its answer: {said}", usage)
    text = answer_in(content_text(wire.get("content")))
    if not text and (refusal := text_of(wire.get("refusal"))):
        text, finish = refusal, "refusal"
    calls, extras = _calls(wire, request)
    value: dict[str, Any] | None = None
    if request.output is not None:
        value = decode_object(text)
    elif not form.tools and request.tools and not calls:
        text, calls = _call_in_words(text, request)
    opaque = _opaque(wire, extras, adapter, request.model)
    model = text_of(document.get("model"))
    return finished(request, finish, usage, text=text, calls=calls, value=value, opaque=opaque, model=model)


def usage_of(document: Mapping[str, Any]) -> Usage | None:
    """The reported usage; None if it is missing or cannot be true."""
    counted = usage_in(document)
    sent, written, total = (token_count(counted.get(f"{kind}_tokens")) for kind in ("prompt", "completion", "total"))
    if sent is not None and total is not None:
        # xAI includes billed reasoning only in the total.
        written = max(written or 0, total - sent)
    message = {} if written else object_of(first_choice(document).get("message"))
    empty = not any(message.get(field) for field in ("content", "refusal", "tool_calls", *_REASONING))
    details = object_of(counted.get("prompt_tokens_details"))
    # OpenAI and most others, DeepSeek, llama.cpp.
    timings = object_of(document.get("timings"))
    read = details.get("cached_tokens") or counted.get("prompt_cache_hit_tokens") or timings.get("cache_n")
    into_cache = token_count(details.get("cache_write_tokens"))  # OpenAI from GPT-5.6 on, OpenRouter
    return counted_usage(sent, written, empty=empty, cached=token_count(read), into_cache=into_cache)


def usage_in(document: Mapping[str, Any]) -> dict[str, Any]:
    """The usage object; the streams of Moonshot have it in the choice."""
    return object_of(document.get("usage")) or object_of(first_choice(document).get("usage"))


def first_choice(document: Mapping[str, Any]) -> dict[str, Any]:
    """The first choice of an answer or of a chunk, {} if it has no choices."""
    choices = list_of(document.get("choices"))
    return object_of(choices[0]) if choices else {}


def content_text(content: object) -> str:
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
    if not entries:
        return (), {}
    # Some servers count from 0 in every answer, but an id must be unique in the conversation.
    taken = {message.call_id for message in request.messages if isinstance(message, ToolMessage)}
    calls: dict[str, ToolCall] = {}
    extras: dict[str, Any] = {}
    for number, entry in enumerate(entries, start=len(taken)):
        function = object_of(entry.get("function")) or entry
        key = text_of(entry.get("id")) or f"call_{number}"
        while key in calls or key in taken:
            key = f"{key}_"
        calls[key] = tool_call(key, text_of(function.get("name")), function.get("arguments"))
        extra = {field: value for field, value in entry.items() if field not in _CALL_FIELDS and entry is not function}
        if extra:
            extras[key] = extra
    return tuple(calls.values()), extras


def _call_in_words(text: str, request: ModelRequest) -> tuple[str, tuple[ToolCall, ...]]:
    """The tool call that a model without tools wrote as JSON, if it did."""
    wanted = decode_object(text)
    if wanted is None or wanted.get("tool") not in {tool.name for tool in request.tools}:
        return text, ()
    if "arguments" not in wanted and len(wanted) > 1:  # it describes the tool
        return text, ()
    made = sum(isinstance(message, ToolMessage) for message in request.messages)
    return "", (tool_call(f"call_{made}", wanted["tool"], wanted.get("arguments")),)


def _opaque(wire: Mapping[str, Any], extras: dict[str, Any], adapter: str, model: str) -> Opaque | None:
    """The data to send back unchanged with the tool calls of this turn: reasoning, signatures."""
    data = {field: wire[field] for field in _REASONING if wire.get(field)}
    if extras:
        data["calls"] = extras
    return Opaque(adapter=adapter, model=model, data=data) if data else None


_OPEN = ("<think>", "<thinking>")
# Some chat templates open the tag in the prompt, so that an answer begins inside it and only ever closes it.
_ORPHAN = re.compile(r"(?:^|\n)</(?:think|thinking)>\s*(?=\n|$)")


def answer_in(text: str) -> str:
    """Return ``text`` without its leading reasoning; "" if the reasoning never ends."""
    if "think" not in text:
        return text
    heard = AnswerOnly()
    answer = heard.take(text) + heard.close()
    if answer and not heard.thought and (orphan := _ORPHAN.search(answer)):
        return answer[orphan.end() :].lstrip()
    return answer


class AnswerOnly:
    """Removes the reasoning from a text in pieces: ``take`` returns the answer's part of each, ``close`` the rest.

    Reasoning without an opening tag is recognised only at its closing tag, so drafts can show it, but answers do not.
    """

    def __init__(self) -> None:
        self.thought = False
        self._held = ""
        self._closing = ""  # the tag that ends the reasoning
        self._plain = False  # the answer has begun

    def take(self, piece: str) -> str:
        if self._plain:
            return piece
        self._held += piece
        start = self._held.lstrip()
        if not self.thought:
            opened = next((tag for tag in _OPEN if start.startswith(tag)), "")
            if not opened:
                return "" if any(tag.startswith(start) for tag in _OPEN) else self._begin(self._held)
            self.thought, self._closing, self._held = True, f"</{opened[1:]}", start.removeprefix(opened)
        if self._closing:
            _, closing, rest = self._held.partition(self._closing)
            if not closing:
                self._held = self._held[-len(self._closing) :]
                return ""
            self._closing, start = "", rest.lstrip()
        self._held = start
        return self._begin(start) if start else ""

    def _begin(self, answer: str) -> str:
        self._plain, self._held = True, ""
        return answer

    def close(self) -> str:
        """Return the part of the answer that was held back."""
        held, self._held = self._held, ""
        return "" if self.thought or self._plain else held
