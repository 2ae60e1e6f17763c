"""What a server logged, as tests look at it, and a request to be logged."""

from __future__ import annotations

import io
import json
from typing import Any

from leadhand.engine.redaction import Redactor
from leadhand.server.logs import set_up_logging

SECRET = "canary-value-4711-hidden"
QUOTED = 'canary "4711" hidden\\ in two\nlines'


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Log:
    """What was logged, by whatever stands in the environment."""

    def __init__(self, stream: io.StringIO) -> None:
        self._stream = stream

    @property
    def text(self) -> str:
        return self._stream.getvalue()

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]

    @property
    def line(self) -> dict[str, Any]:
        (line,) = self.lines
        return line


def log_to(stream: io.StringIO | None = None, **environment: str) -> Log:
    """Log to a stream that is no terminal, unless it is one, as this environment says."""
    stream = stream or io.StringIO()
    set_up_logging(environment, stream, Redactor([SECRET, QUOTED]))
    return Log(stream)


async def request(app: Any, path: str, query: bytes = b"") -> None:
    """A request, put to an app without a server."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_message: Any) -> None:
        pass

    scope: dict[str, Any] = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "query_string": query,
        "root_path": "",
        "headers": [],
        "server": ("127.0.0.1", 80),
    }
    await app(scope, receive, send)
