"""Decode a stream of server-sent events that arrives in arbitrary chunks.

The format is that of https://html.spec.whatwg.org/multipage/server-sent-events.html, with one exception: an event at
the end of the stream counts even without its blank line, because many servers end that way.
"""

from __future__ import annotations

from typing import NamedTuple

_BOM = b"\xef\xbb\xbf"


class ServerEvent(NamedTuple):
    """One event: its ``data``, lines joined by newlines, and its name, "message" unless the server gave one."""

    data: str
    event: str = "message"


class SseDecoder:
    """Takes bytes as they come and gives whole events.

    ``feed`` returns the events that the chunk completed, ``close`` what was left at the end. Lines end with LF, CR or
    CRLF. A line may be spread over any number of chunks; its parts are joined once.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._data: list[str] = []
        self._event = ""
        self._started = False

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events completed by ``chunk``, in order."""
        if not chunk:
            return []
        ended = b"\n" in chunk or b"\r" in chunk or bool(self._parts and self._parts[-1].endswith(b"\r"))
        self._parts.append(chunk)
        return self._take() if ended else []

    def close(self) -> list[ServerEvent]:
        """The event the stream ended in, if there is one."""
        rest = b"".join(self._parts)
        self._parts = []
        events = [event for line in rest.splitlines() if (event := self._line(self._first(line))) is not None]
        last = self._dispatch()
        return [*events, last] if last is not None else events

    def _take(self) -> list[ServerEvent]:
        lines = b"".join(self._parts).splitlines(keepends=True)
        self._parts = []
        # A last line without an end waits for the rest of it; one that ends in CR for the LF that may follow.
        if lines and not lines[-1].endswith(b"\n"):
            self._parts.append(lines.pop())
        events: list[ServerEvent] = []
        for line in lines:
            event = self._line(self._first(line.rstrip(b"\r\n")))
            if event is not None:
                events.append(event)
        return events

    def _first(self, line: bytes) -> bytes:
        """The line without the byte-order mark that may begin a stream."""
        if not self._started:
            self._started = True
            return line.removeprefix(_BOM)
        return line

    def _line(self, line: bytes) -> ServerEvent | None:
        if not line:
            return self._dispatch()
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        return None  # a comment (":"), an id, or a field nobody knows

    def _dispatch(self) -> ServerEvent | None:
        data, event = self._data, self._event
        self._data, self._event = [], ""
        return ServerEvent("\n".join(data), event or "message") if data else None
