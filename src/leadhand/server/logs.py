"""Log the server's output as JSON lines, or as text on a terminal, with secrets redacted.

All records go through Python's logging: ours, uvicorn's, those of libraries. :class:`AccessLog` logs requests, so
uvicorn's own access log is disabled: run it with ``log_config=None``.
"""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TextIO, cast
from urllib.parse import quote

from leadhand.app.telemetry.run_lines import FIELDS
from leadhand.core.errors import ConfigurationError
from leadhand.core.value import iso
from leadhand.engine.redaction import Redactor

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LEVEL = "LEADHAND_LOG_LEVEL"
FORMAT = "LEADHAND_LOG_FORMAT"
LEVELS = ("debug", "info", "warning", "error", "critical")
FORMATS = ("json", "text")

ACCESS = "leadhand.access"
PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that machines poll: logged at the level ``debug``."""
GAVE_UP = 499
"""The status of a request whose client disconnected before the response, as in nginx."""

OnRequest = Callable[[str, str | None, int, float], None]
"""Called for every request: method, route template (None: no route matched), status, seconds."""

_ERRORS = 400
"""The first status that is an error."""
_UVICORN = ("uvicorn", "uvicorn.error", "uvicorn.asgi", "uvicorn.access")
_CONTROL = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}


def set_up_logging(environment: Mapping[str, str], stream: TextIO, redactor: Redactor) -> bool:
    """Log to ``stream``, as the environment says, and return whether as text.

    Raises ConfigurationError for an unknown level or format.
    """
    level = _choice(environment, LEVEL, "info", LEVELS)
    text = _choice(environment, FORMAT, "text" if stream.isatty() else "json", FORMATS) == "text"
    reset_logging()
    root = logging.getLogger()
    handler = _Handler(stream)
    handler.setFormatter(_Formatter(redactor, text=text))
    if text and stream.isatty() and level != "debug":
        handler.addFilter(_is_news)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in ("leadhand", *_UVICORN):  # until now, the command line printed our warnings itself
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = name != "uvicorn.access"
        logger.setLevel(logging.NOTSET)
    if level == "info":
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)  # do not log starts and stops
    return text


def log_start(**about: str) -> None:
    """Log that the server starts, and where."""
    logging.getLogger("leadhand.server").info("serving", extra={FIELDS: about})


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a line is worth showing on a terminal: an open console polls continuously."""
    fields: Mapping[str, object] = getattr(record, FIELDS, {})
    return record.name != ACCESS or fields.get("method") != "GET" or cast("int", fields["status"]) >= _ERRORS


def reset_logging() -> None:
    """Write no more lines. Loggers do not get back the handlers that :func:`set_up_logging` took from them."""
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, _Handler)]:
        root.removeHandler(handler)
        root.setLevel(logging.WARNING)


def _choice(environment: Mapping[str, str], variable: str, default: str, choices: tuple[str, ...]) -> str:
    value = environment.get(variable, "").strip().lower() or default
    if value not in choices:
        raise ConfigurationError(
            f"invalid value for {variable}: {environment[variable]!r}",
            f"Choose from: {', '.join(choices)}; or unset it.",
        )
    return value


class _Handler(logging.StreamHandler[TextIO]):
    """Writes the lines."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - named by the standard library
        """Report that a line was lost, but not its text, which may contain a secret."""
        lost = {"level": "error", "event": "a line of the log could not be written", "logger": record.name}
        with contextlib.suppress(OSError, ValueError):  # the stream has no reader anymore
            self.stream.write(json.dumps(lost) + self.terminator)
            self.flush()


class _Formatter(logging.Formatter):
    """Formats a record, redacting first its values and then the whole line."""

    def __init__(self, redactor: Redactor, *, text: bool) -> None:
        super().__init__()
        self._redactor = redactor
        self._text = text

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "timestamp": iso(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        redact = self._redactor.of_log()
        line = cast("dict[str, Any]", redact.payload(json.loads(json.dumps(line, default=str))))
        return redact.text(_as_text(**line) if self._text else json.dumps(line, ensure_ascii=False))


def _as_text(timestamp: str, level: str, logger: str, event: str, exception: str = "", **fields: object) -> str:
    """Return a line for people. Control characters in a record must not control the terminal."""
    words = [timestamp, f"[{level:<8}]", event, *(f"{name}={value}" for name, value in fields.items()), f"[{logger}]"]
    return "\n".join(filter(None, [" ".join(words), exception])).translate(_CONTROL)


class AccessLog:
    """The outermost ASGI middleware: logs each request without its query string and calls ``on_request``."""

    def __init__(self, app: ASGIApp, on_request: OnRequest | None = None) -> None:
        self._app = app
        self._on_request = on_request
        self._logger = logging.getLogger(ACCESS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})  # authentication stores the name of the principal there
        began, status = time.perf_counter(), GAVE_UP

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, note)
        except Exception:
            if status == GAVE_UP:
                status = HTTPStatus.INTERNAL_SERVER_ERROR
            raise
        finally:
            self._report(scope, int(status), time.perf_counter() - began)

    def _report(self, scope: Scope, status: int, seconds: float) -> None:
        if self._on_request is not None:
            self._on_request(scope["method"], _template(scope), status, seconds)
        level = logging.DEBUG if scope["path"] in PROBES else logging.INFO
        if self._logger.isEnabledFor(level):
            fields: dict[str, object] = {
                "method": scope["method"],
                "path": quote(scope["path"], safe="/:@!$&'()*+,;=~%"),
                "status": status,
                "ms": round(seconds * 1_000, 1),
            }
            principal = scope["state"].get("principal")
            if principal is not None:
                fields["principal"] = getattr(principal, "name", principal)
            self._logger.log(level, "request", extra={FIELDS: fields})


def _template(scope: Scope) -> str | None:
    """The template of the matched route, or None. The prefixes of its routers are in FastAPI's context only."""
    included = scope.get("fastapi", {}).get("effective_route_context")
    path = getattr(included, "path", None) or getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else None
