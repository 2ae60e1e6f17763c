"""Failures of model calls, for all adapters: the type decides the class and the usual advice."""

from __future__ import annotations

from typing import Any

from leadhand.core.conversation import AssistantMessage, Opaque, ToolCall
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.limits import LONGEST_WAIT_S, Usage
from leadhand.core.value import list_of, object_of
from leadhand.ports import ModelError
from leadhand.ports.models import ModelReply, ModelRequest

from .answers import decode_json

LARGEST_BODY = 10_000_000
"""The longest answer, in bytes, that is read."""

UNSENT = Usage(requests=0, nanousd=0)
UNBILLED = Usage(requests=1, nanousd=0)

_TYPES = {
    FailureClass.TRANSIENT: (
        *("bad_body", "bad_generation", "broken_off", "connection", "cut_stream", "empty_answer", "empty_body"),
        *("gave_up", "overloaded", "timeout"),
    ),
    FailureClass.RATE_LIMITED: ("rate_limited",),
    FailureClass.INVALID: ("content_filter", "cut_answer", "refused", "too_long_answer"),
    FailureClass.UNAVAILABLE: (
        *("bad_key", "bad_url", "certificate", "configuration", "forbidden", "missing_extra", "not_an_api", "proxy"),
        *("quota", "unknown_model", "unsupported"),
    ),
    FailureClass.TOO_LARGE: ("context_length",),
}
_CLASSES = {type: class_ for class_, types in _TYPES.items() for type in types}
_ACTIONS = {
    "bad_url": "correct the base URL",
    "bad_body": "try again; if it happens again, check the server, its version, and any proxy in front of it",
    "certificate": "set SSL_CERT_FILE to the company's CA file; if the server has no TLS, begin its URL with http://",
    "configuration": "correct the region, the base URL or the kind of credentials",
    "connection": "check that the server runs, the base URL, and whether a proxy is needed (HTTPS_PROXY)",
    "content_filter": "rephrase the request, or use another model",
    "cut_answer": "raise max_output_tokens, ask for less at once, or use a model with less reasoning",
    "missing_extra": "reinstall the provider's extra: its packages are incompatible",
    "not_an_api": "fix the base URL: it usually ends in /v1",
    "proxy": "fix HTTPS_PROXY or HTTP_PROXY, or add the server to NO_PROXY",
    "quota": "add credit at the provider, or choose another model",
    "refused": "see the provider's message",
    "too_long_answer": "check the base URL: the response is too long for an answer of a model",
    "unsupported": "choose another model",
}


def failed(
    type: str,
    message: str,
    usage: Usage | None = None,
    next_action: str = "",
    *,
    class_: FailureClass | None = None,
    retry_after_s: float | None = None,
    key: str = "",
) -> ModelError:
    """Return the error of a failed call. ``usage`` is what the call used, None if that is unknown.

    The class follows from ``type`` unless given. ``retry_after_s`` applies if a retry may help. ``key`` is redacted.
    """
    class_ = class_ or _class_of(type)
    message = message.replace(key, "[key]") if len(key) >= 4 else message
    if class_ not in (FailureClass.RATE_LIMITED, FailureClass.TRANSIENT):
        retry_after_s = None
    message = " ".join(message.encode("utf-8", "replace").decode().split())[:600]
    wait_s = None if retry_after_s is None else min(max(0.0, retry_after_s), LONGEST_WAIT_S)
    return ModelError(Failure.of(message, type, class_, next_action or _ACTIONS.get(type, ""), wait_s), usage)


def _class_of(type: str) -> FailureClass:
    if type.startswith("http_"):
        status = int(type.removeprefix("http_"))
        return FailureClass.TRANSIENT if status in (408, 409, 425) or status >= 500 else FailureClass.INVALID
    return _CLASSES[type]


def finished(
    request: ModelRequest,
    finish: str,
    usage: Usage,
    *,
    text: str,
    calls: tuple[ToolCall, ...],
    value: dict[str, Any] | None,
    opaque: Opaque | None = None,
    model: str = "",
) -> ModelReply:
    """Return the reply of these parts. Raises :class:`ModelError` for an answer that is empty, cut off or withheld."""
    # An incomplete answer must never count as complete.
    unusable = value is None and not any(call.arguments is not None for call in calls)
    if unusable and finish == "length":
        raise failed("cut_answer", f"the answer did not fit into {request.max_tokens} tokens (reasoning counts)", usage)
    if unusable and finish == "content_filter":
        raise failed("content_filter", "the provider's content filter withheld the answer, or the rest of it", usage)
    if not (text or calls):
        raise failed("empty_answer", "the model returned an empty answer", usage)
    return ModelReply(
        message=AssistantMessage(text=text, tool_calls=calls, opaque=opaque),
        value=value,
        usage=usage,
        finish_reason="tool_calls" if calls and finish == "stop" else finish,
        model=model or request.model,
    )


def too_long() -> ModelError:
    """Return the error of an answer that is longer than :data:`LARGEST_BODY`."""
    message = f"the answer is longer than {LARGEST_BODY // 1_000_000} MB and was not read to the end"
    return failed("too_long_answer", message)


def error_message(body: str) -> str:
    """Return the message in an error body, on one line: ``error.message`` or a similar field, else the text itself.

    The part of the request comes first if the body names it, as FastAPI does (``body.stream_options: …``).
    """
    try:
        found = _message_in(decode_json(body)) or body[:2_000]
    except ValueError:
        found = body[:2_000]
    return " ".join(found.split())[:500]


def _message_in(document: object, depth: int = 0) -> str:
    if isinstance(document, str):
        return document
    if depth == 4:
        return ""
    described = object_of(document)
    inner = [described.get(field) for field in ("error", "message", "detail", "msg", "title")]
    found = (_message_in(part, depth + 1) for part in [*list_of(document)[:1], *inner] if part)
    message = next((message for message in found if message), "")
    place = ".".join(str(part) for part in list_of(described.get("loc")))
    return f"{place}: {message}" if message and place else message


def looks_like_html(content_type: str, body: str) -> bool:
    """Whether a body is a web page, as a wrong base URL or a proxy returns."""
    start = body[:200].lstrip().casefold()
    return "text/html" in content_type.casefold() or start.startswith(("<!doctype", "<html"))
