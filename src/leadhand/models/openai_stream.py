"""Puts the pieces of a streamed chat completion together into the document a plain answer would have been."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .json_values import list_of, object_of, objects_of, text_of

_TEXTS = ("reasoning_content", "reasoning")


class Assembly:
    """Takes the decoded ``data`` of each event and gives the text it added.

    ``ended`` once the server said why it stopped; a stream that ends before was cut. ``error`` is what it said instead
    of an answer.
    """

    def __init__(self) -> None:
        self.ended = False
        self.error: Mapping[str, Any] | None = None
        self._text: list[str] = []
        self._fields: dict[str, list[str]] = {}
        self._details: list[Any] = []
        self._calls: dict[int, dict[str, Any]] = {}
        self._arguments: dict[int, list[str]] = {}
        self._refusal: list[str] = []
        self._finish = ""
        self._usage: object = None
        self._model: object = None

    def take(self, chunk: Mapping[str, Any]) -> str:
        """Adds one chunk; the visible text in it."""
        if chunk.get("error"):
            self.error = object_of(chunk["error"]) or {"message": str(chunk["error"])}
            return ""
        self._model = chunk.get("model") or self._model
        self._usage = chunk.get("usage") or self._usage
        choices = objects_of(chunk.get("choices"))
        if not choices:
            return ""
        reason = text_of(choices[0].get("finish_reason"))
        if reason:
            self._finish, self.ended = reason, True
        # A few servers put a whole message into their last chunk.
        return self._add(object_of(choices[0].get("delta") or choices[0].get("message")))

    def _add(self, delta: Mapping[str, Any]) -> str:
        for field in _TEXTS:
            if piece := text_of(delta.get(field)):
                self._fields.setdefault(field, []).append(piece)
        self._details.extend(list_of(delta.get("reasoning_details")))
        self._refusal.append(text_of(delta.get("refusal")))
        for position, part in enumerate(objects_of(delta.get("tool_calls"))):
            self._add_call(part, position)
        content = delta.get("content")
        text = text_of(content) or "".join(text_of(part.get("text")) for part in objects_of(content))
        if text:
            self._text.append(text)
        return text

    def _add_call(self, part: Mapping[str, Any], position: int) -> None:
        index = part.get("index")
        if not isinstance(index, int):
            # Without an index, a new id begins a new call and anything else goes on with the last.
            key = text_of(part.get("id"))
            new = bool(key) and all(call.get("id") != key for call in self._calls.values())
            index = len(self._calls) + position if new or not self._calls else max(self._calls)
        call = self._calls.setdefault(index, {"function": {}})
        call.update({field: value for field, value in part.items() if field != "function" and value})
        function = object_of(part.get("function"))
        if function.get("name"):
            call["function"]["name"] = function["name"]
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            self._arguments.setdefault(index, []).append(arguments)
        elif arguments is not None:
            call["function"]["arguments"] = arguments

    def document(self) -> dict[str, Any]:
        """The chat completion, as if it had come in one piece."""
        calls: list[dict[str, Any]] = []
        for index in sorted(self._calls):
            call = self._calls[index]
            if index in self._arguments:
                call["function"]["arguments"] = "".join(self._arguments[index])
            calls.append(call)
        message: dict[str, Any] = {"content": "".join(self._text)}
        message.update({field: "".join(parts) for field, parts in self._fields.items()})
        if self._details:
            message["reasoning_details"] = self._details
        if refusal := "".join(self._refusal):
            message["refusal"] = refusal
        if calls:
            message["tool_calls"] = calls
        return {
            "model": self._model,
            "choices": [{"message": message, "finish_reason": self._finish}],
            "usage": self._usage,
        }
