"""Read a streamed chat completion: bytes to server-sent events, and events to the document of a plain answer.

The format is that of https://html.spec.whatwg.org/multipage/server-sent-events.html, but each line of data is an event,
also at the end of the stream without a blank line: servers write each chunk as one line of JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from leadhand.core.value import is_object, list_of, object_of, objects_of, text_of
from leadhand.models.answers import decode_json, token_count
from leadhand.models.failures import failed
from leadhand.ports import ModelError

from .answers import AnswerOnly, first_choice, usage_in

_TEXTS = ("reasoning_content", "reasoning", "refusal")
_OTHER_FIELDS = frozenset({"", "id", "retry"})
"""Fields of events that are not used; a comment is a line without a name."""
_SHOWN = 80
"""Characters of what cannot be read, in a message."""


class ServerEvent(NamedTuple):
    """One event: its ``data``, and its name, "message" unless the server gave one."""

    data: str
    event: str = "message"


class SseDecoder:
    """Parses bytes in chunks into events.

    ``feed`` returns the events that the chunk completed, ``close`` the last event if it was not terminated. ``unknown``
    is the first line that does not belong to an event, "" without one.
    """

    def __init__(self) -> None:
        self.unknown = ""
        self._parts: list[bytes] = []
        self._name = "message"

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events completed by ``chunk``, in order."""
        self._parts.append(chunk)
        if b"\n" not in chunk:
            return []
        *lines, rest = b"".join(self._parts).split(b"\n")
        self._parts = [rest]
        return [event for line in lines if (event := self._event_in(line)) is not None]

    def close(self) -> list[ServerEvent]:
        """The event the stream ended in, if there is one."""
        unknown = self.unknown
        events = self.feed(b"\n")
        self.unknown = unknown  # the last line may be only the beginning of one
        return events

    def _event_in(self, line: bytes) -> ServerEvent | None:
        written = line.decode("utf-8", "replace").strip("\r\ufeff")
        name, _, value = written.partition(":")
        if name == "data":
            return ServerEvent(value.removeprefix(" "), self._name)
        if name == "event":
            self._name = value.removeprefix(" ")
        elif not written:
            self._name = "message"
        elif name not in _OTHER_FIELDS:
            self.unknown = self.unknown or written
        return None


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
        self._calls: dict[int, dict[str, Any]] = {}
        self._arguments: dict[int, list[str]] = {}
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
        content = delta.get("content")
        text = text_of(content) or "".join(text_of(part.get("text")) for part in objects_of(content))
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
        """Return the call that a piece belongs to, by its index, its id, or the previous piece."""
        key, index, last = text_of(part.get("id")), part.get("index"), max(self._calls, default=-1)
        if isinstance(index, int) and not isinstance(index, bool):
            at_index = [place for place in self._calls if self._calls[place].get("index") == index]
            place = at_index[-1] if at_index else last + 1
        elif key and (same := [place for place in self._calls if self._calls[place].get("id") == key]):
            return same[-1]
        else:
            place = last + 1 if key or last < 0 or function.get("name") else last
        known = self._calls.get(place)
        # Gemini and others put every call of an answer at index 0; a name with a new id is another call.
        if known is not None and function.get("name") and key and known.get("id") not in (None, key):
            return last + 1
        return place

    def document(self) -> dict[str, Any]:
        """The chat completion, as if it had come in one piece."""
        for place, arguments in self._arguments.items():
            self._calls[place]["function"]["arguments"] = "".join(arguments)
        calls = [call for _, call in sorted(self._calls.items())]
        message: dict[str, Any] = {"content": "".join(self._text)}
        message.update({field: "".join(parts) for field, parts in self._fields.items()})
        if self._details:
            message["reasoning_details"] = self._details
        if calls:
            message["tool_calls"] = calls
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
        self._decoder = SseDecoder()
        self._skipped = ""

    def feed(self, chunk: bytes) -> None:
        self._read(self._decoder.feed(chunk))

    def document(self) -> dict[str, Any]:
        """Return the chat completion, or the error that the server sent instead."""
        if not self.done:
            self._read(self._decoder.close())
        if self.error is not None:
            return {"error": dict(self.error)}
        if not (self.ended or (self.done and (self.begun or not self._unread))):
            raise self.cut("before the answer was complete")
        self._pass_on(self.close())
        return super().document()

    def cut(self, where: str) -> ModelError:
        """Return the error of a stream that ended too early: if the server sent something else, that is the cause."""
        if self._unread:
            what = f"the server sent events that are not parts of an answer, such as {self._unread[:_SHOWN]!r}"
            return failed("bad_body", f"{what}, and the stream ended {where}", key=self._key)
        return failed("cut_stream", f"the stream ended {where}")

    @property
    def _unread(self) -> str:
        """The first part of the stream that could not be read and was skipped; "" without one."""
        return self._skipped or self._decoder.unknown

    def _pass_on(self, text: str) -> None:
        if text and self._on_text is not None:
            self.heard = True
            self._on_text(text)

    def _read(self, events: list[ServerEvent]) -> None:
        for event in events:
            written = event.data.strip()
            if written == "[DONE]":
                self.done = True
                return
            if not written:
                continue  # some servers send this to keep a connection alive
            try:
                chunk = decode_json(written)
            except ValueError:
                if event.event not in ("message", "error"):  # a custom heartbeat event
                    self._skipped = self._skipped or written
                    continue
                message = f"a chunk of the answer is not valid JSON: it starts with {written[:_SHOWN]!r}"
                raise failed("bad_body", message, key=self._key) from None
            piece = object_of(chunk)
            self._skipped = self._skipped or ("" if is_object(chunk) else written)
            if event.event == "error":
                piece = {"error": piece.get("error", chunk)}
            self._pass_on(self.take(piece))
            if self.error is not None:
                self.done = True
                return
