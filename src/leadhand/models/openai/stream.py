"""Puts the pieces of a streamed chat completion together into the document a plain answer would have been."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leadhand.models.json_values import decode_json, is_object, list_of, object_of, objects_of, text_of

from .answers import usage_in
from .reasoning import AnswerOnly

_TEXTS = ("reasoning_content", "reasoning")


class Assembly:
    """Takes the decoded ``data`` of each event and gives the text of the answer that it added.

    ``ended`` once the server said why it stopped; a stream that ends before was cut. ``error`` is what it said instead
    of an answer, or of the rest of one.
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
        self._visible = AnswerOnly()

    def take(self, chunk: Mapping[str, Any]) -> str:
        """Adds one chunk; the visible text in it."""
        if chunk.get("error"):
            self.error = object_of(chunk["error"]) or {"message": str(chunk["error"])}
            return ""
        self._model = chunk.get("model") or self._model
        self._usage = usage_in(chunk) or self._usage
        choices = objects_of(chunk.get("choices"))
        if not choices:
            return ""
        if choices[0].get("error"):
            self.error = object_of(choices[0]["error"]) or {"message": str(choices[0]["error"])}
            return ""
        reason = text_of(choices[0].get("finish_reason"))
        if reason:
            self._finish, self.ended = reason, True
        # A few servers put a whole message into their last chunk.
        return self._add(object_of(choices[0].get("delta") or choices[0].get("message")))

    def close(self) -> str:
        """What of the answer's text was held back, once nothing more comes."""
        return self._visible.close()

    def _add(self, delta: Mapping[str, Any]) -> str:
        for field in _TEXTS:
            if piece := text_of(delta.get(field)):
                self._fields.setdefault(field, []).append(piece)
        self._details.extend(list_of(delta.get("reasoning_details")))
        self._refusal.append(text_of(delta.get("refusal")))
        for part in objects_of(delta.get("tool_calls")):
            self._add_call(part)
        if is_object(old := delta.get("function_call")):  # the protocol before there were tools
            self._add_call({"index": 0, "function": old})
        content = delta.get("content")
        text = text_of(content) or "".join(text_of(part.get("text")) for part in objects_of(content))
        if not text:
            return ""
        self._text.append(text)
        return self._visible.take(text)

    def _add_call(self, part: Mapping[str, Any]) -> None:
        function = object_of(part.get("function"))
        place = self._place(part, function)
        call = self._calls.setdefault(place, {"function": {}})
        call.update({field: value for field, value in part.items() if field != "function" and value is not None})
        if function.get("name"):
            call["function"]["name"] = function["name"]
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            self._arguments.setdefault(place, []).append(arguments)
        elif arguments is not None:
            call["function"]["arguments"] = arguments

    def _place(self, part: Mapping[str, Any], function: Mapping[str, Any]) -> int:
        """Which call a piece belongs to, by its index, its id, or the one before it."""
        key, index, last = text_of(part.get("id")), part.get("index"), max(self._calls, default=-1)
        if isinstance(index, int) and not isinstance(index, bool):
            at_index = [place for place in self._calls if self._calls[place].get("index") == index]
            place = at_index[-1] if at_index else last + 1
        elif key and (same := [place for place in self._calls if self._calls[place].get("id") == key]):
            return same[-1]
        else:
            place = last + 1 if key or last < 0 or self._is_whole(last, function) else last
        known = self._calls.get(place)
        # Gemini and others put every call of an answer at index 0: a name under a new id is a call of its own.
        if known is not None and function.get("name") and key and known.get("id") not in (None, key):
            return last + 1
        return place

    def _is_whole(self, place: int, function: Mapping[str, Any]) -> bool:
        """Whether the call at ``place`` is complete and this piece names another; nothing else tells them apart."""
        known, written = object_of(self._calls[place].get("function")), "".join(self._arguments.get(place, ()))
        if not function.get("name") or "name" not in known:
            return False
        if not written:
            return "arguments" in known or known["name"] != function["name"]
        try:
            return is_object(decode_json(written))
        except ValueError:
            return False

    def document(self) -> dict[str, Any]:
        """The chat completion, as if it had come in one piece."""
        calls: list[dict[str, Any]] = []
        for place in sorted(self._calls):
            call = self._calls[place]
            if place in self._arguments:
                call["function"]["arguments"] = "".join(self._arguments[place])
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
