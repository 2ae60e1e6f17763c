"""Read a streamed chat completion: bytes to server-sent events, and events to the document of a plain answer.

The format is that of https://html.spec.whatwg.org/multipage/server-sent-events.html, but each line of data is an event,
also at the end of the stream without a blank line: servers write each chunk as one line of JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from leadhand.core.value import list_of, object_of, objects_of, text_of
from leadhand.models.answers import decode_json, token_count
from leadhand.models.failures import failed

from .answers import AnswerOnly, content_text, first_choice, usage_in

_TEXTS = ("reasoning_content", "reasoning", "refusal")


class Assembly:
    """Builds the answer from the decoded ``data`` of each event, and returns the text that each event added.

    ``ended`` is set once the server has sent a stop reason; a stream that ends earlier was cut. ``error`` is an error
    that the server sent instead of an answer or in the middle of it.
    """

    def __init__(self) -> None:
        self.ended = False
        self.error: Mapping[str, Any] | None = None
        self._text: list[str] = []
        self._fields: dict[str, list[str]] = {}
        self._details: list[Any] = []
        self._calls: list[dict[str, Any]] = []
        self._finish = ""
        self._usage: dict[str, Any] = {}
        self._model: object = None
        self._visible = AnswerOnly()

    @property
    def begun(self) -> bool:
        """Whether a chunk held a part of an answer; reasoning counts."""
        return bool(self.ended or self._fields or self._details or self._calls or any(self._text))

    def take(self, chunk: Mapping[str, Any]) -> str:
        """Adds one chunk; the visible text in it."""
        choice = first_choice(chunk)
        if error := chunk.get("error") or choice.get("error"):
            self.error = object_of(error) or {"message": str(error)}
            return ""
        self._model = chunk.get("model") or self._model
        for field, counted in usage_in(chunk).items():  # the last chunk need not have counted all
            if (token_count(self._usage.get(field)) or 0) <= (token_count(counted) or 0):
                self._usage[field] = counted
        if reason := text_of(choice.get("finish_reason")):
            self._finish, self.ended = reason, True
        # A few servers put a whole message into their last chunk.
        return self._add(object_of(choice.get("delta") or choice.get("message")))

    def close(self) -> str:
        """What of the answer's text was held back, once nothing more comes."""
        return self._visible.close()

    def _add(self, delta: Mapping[str, Any]) -> str:
        for field in _TEXTS:
            if piece := text_of(delta.get(field)):
                self._fields.setdefault(field, []).append(piece)
        self._details.extend(list_of(delta.get("reasoning_details")))
        for part in objects_of(delta.get("tool_calls")):
            self._add_call(part)
        text = content_text(delta.get("content"))
        self._text.append(text)
        return self._visible.take(text)

    def _add_call(self, part: Mapping[str, Any]) -> None:
        function = object_of(part.get("function"))
        call = self._call_of(part, text_of(function.get("name")))
        written = call["function"]
        call.update({field: value for field, value in part.items() if field != "function" and value is not None})
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            written.setdefault("pieces", []).append(arguments)
        elif arguments is not None:
            written["arguments"] = arguments
        if function.get("name"):
            written["name"] = function["name"]

    def _call_of(self, part: Mapping[str, Any], name: str) -> dict[str, Any]:
        """Return the call that a piece belongs to, by its id, its index, or the previous piece."""
        key, index = text_of(part.get("id")), part.get("index")
        found = [call for call in self._calls if key and call.get("id") == key]
        if not found and index is not None:
            at_index = [call for call in self._calls if call.get("index") == index]
            # Gemini and others put every call of an answer at index 0; a name with a new id is another call.
            found = [call for call in at_index if not (name and key and call.get("id"))]
        elif not found and not key and not name:
            found = self._calls
        if found:
            return found[-1]
        self._calls.append(made := {"function": {}})
        return made

    def document(self) -> dict[str, Any]:
        """The chat completion, as if it had come in one piece."""
        for call in self._calls:
            if pieces := call["function"].pop("pieces", None):
                call["function"]["arguments"] = "".join(pieces)
        message: dict[str, Any] = {"content": "".join(self._text)}
        message.update({field: "".join(parts) for field, parts in self._fields.items()})
        if self._details:
            message["reasoning_details"] = self._details
        if self._calls:
            message["tool_calls"] = self._calls
        return {
            "model": self._model,
            "choices": [{"message": message, "finish_reason": self._finish}],
            "usage": self._usage,
        }


class ChatStream(Assembly):
    """Reads the bytes of a streamed answer, passes its text to ``on_text``, and builds the document at the end.

    ``done`` is set when the server has ended the stream, ``heard`` when there was text. Raises :class:`ModelError` for
    a stream that is cut or is not JSON, with ``key`` redacted.
    """

    def __init__(self, on_text: Callable[[str], None] | None, key: str) -> None:
        super().__init__()
        self.done = False
        self.heard = False
        self._on_text = on_text
        self._key = key
        self._rest: list[bytes] = []

    def feed(self, chunk: bytes) -> None:
        """Read the events that ``chunk`` completes: the lines that begin with ``data:``."""
        self._rest.append(chunk)
        if b"\n" not in chunk:
            return
        *lines, rest = b"".join(self._rest).split(b"\n")
        self._rest = [rest]
        for line in lines:
            if line.startswith(b"data:") and not self.done:
                self._read(line[5:].strip())

    def document(self) -> dict[str, Any]:
        """Return the chat completion, or the error that the server sent instead."""
        self.feed(b"\n")
        if self.error is not None:
            return {"error": dict(self.error)}
        if not (self.ended or (self.done and self.begun)):
            raise failed("cut_stream", "the stream ended before the answer was complete")
        self._pass_on(self.close())
        return super().document()

    def _pass_on(self, text: str) -> None:
        if text and self._on_text is not None:
            self.heard = True
            self._on_text(text)

    def _read(self, written: bytes) -> None:
        if written == b"[DONE]":
            self.done = True
        elif written:  # some servers send empty data to keep a connection alive
            try:
                chunk = decode_json(written)
            except ValueError:
                message = f"a chunk of the answer is not valid JSON: it starts with {written[:80]!r}"
                raise failed("bad_body", message, key=self._key) from None
            self._pass_on(self.take(object_of(chunk)))
            self.done = self.error is not None
