"""Classes what an OpenAI-compatible server refuses with: status, headers and body become one failure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from leadhand.domain.errors import Failure, FailureClass

from .json_values import list_of, object_of

_TOO_LONG_WORDS = (
    "context_length_exceeded",
    "maximum context length",
    "context length",
    "context window",
    "context size",
    "exceed_context_size",
    "too many tokens",
    "prompt is too long",
    "input is too long",
    "reduce the length",
)
_QUOTA_WORDS = (
    "insufficient_quota",
    "insufficient quota",
    "insufficient balance",
    "insufficient credit",
    "billing_hard_limit",
)
_LONGEST_WAIT_S = 24 * 3_600.0


def failure_of(
    status: int, headers: Mapping[str, str], body: str, *, key: str = "", now: datetime | None = None
) -> Failure:
    """The failure that an answer with an error ``status`` stands for. ``key`` is cut out of everything it says.

    ``now`` is what a Retry-After date is measured against; the system's time if it is not given.
    """
    html = looks_like_html(headers.get("content-type", headers.get("Content-Type", "")), body)
    said = "" if html else error_message(body)
    # A gateway's quota or rate limit is told by codes, since their prose is much the same.
    lows = f"{said} {_codes(body)}".casefold()
    class_, type, action = _kind(status, lows, html=html)
    wait = retry_after(headers, now) if class_ in (FailureClass.RATE_LIMITED, FailureClass.TRANSIENT) else None
    what = f"the model server answered {status}" + (f": {said}" if said else " with a web page" if html else "")
    return Failure.model_validate(
        {
            "message": redacted(what, key)[:600],
            "type": type,
            "class": class_,
            "next_action": action,
            "retry_after_s": wait,
        }
    )


def _kind(status: int, said: str, *, html: bool) -> tuple[FailureClass, str, str]:
    """The class, the type and what a person can do (""; the class's own advice)."""
    if status == 402 or (status in (403, 429) and any(word in said for word in _QUOTA_WORDS)):
        return FailureClass.UNAVAILABLE, "quota", "add credit at the provider, or choose another model"
    if status == 429:
        return FailureClass.RATE_LIMITED, "rate_limited", ""
    if status in (408, 409, 425) or status >= 500:
        return FailureClass.TRANSIENT, f"http_{status}", ""
    if status in (401, 403):
        return FailureClass.UNAVAILABLE, "bad_key", "set the provider's key in the environment, or correct it"
    if html or 300 <= status < 400:
        return FailureClass.UNAVAILABLE, "not_an_api", "correct the base URL: it usually ends in /v1"
    if status in (404, 410):
        return FailureClass.UNAVAILABLE, "unknown_model", "correct the model's name, or the base URL"
    if status == 413 or any(word in said for word in _TOO_LONG_WORDS):
        return FailureClass.TOO_LARGE, "context_length", ""
    if "model_not_found" in said or "model not found" in said or "unknown model" in said or "invalid model" in said:
        return FailureClass.UNAVAILABLE, "unknown_model", "correct the model's name"
    return FailureClass.INVALID, f"http_{status}", "the server refused the request itself: see its message"


def error_message(body: str) -> str:
    """What an error body says, on one line: ``error.message`` and its many cousins, else the text itself."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return " ".join(body[:2_000].split())[:500]
    found = _message_in(document)
    return " ".join(found.split())[:500] if found else " ".join(body[:2_000].split())[:500]


def _message_in(document: object, depth: int = 0) -> str:
    if isinstance(document, str):
        return document
    if depth == 3:
        return ""
    inner = [object_of(document).get(field) for field in ("error", "message", "detail", "msg", "title")]
    found = (_message_in(part, depth + 1) for part in [*list_of(document)[:1], *inner] if part)
    return next((message for message in found if message), "")


def _codes(body: str) -> str:
    """The code and type of an error body, for telling quota from pace and a long prompt from a wrong one."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    error = object_of(object_of(document).get("error", document))
    return " ".join(str(error.get(field) or "") for field in ("code", "type", "param"))


def looks_like_html(content_type: str, body: str) -> bool:
    """Whether a body is a web page: what a wrong base URL and a proxy answer with."""
    start = body[:200].lstrip().casefold()
    return "text/html" in content_type.casefold() or start.startswith(("<!doctype", "<html"))


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """The seconds a server asks to wait, by ``retry-after-ms`` or Retry-After (seconds or a date), else None."""
    lowered = {name.casefold(): value for name, value in headers.items()}
    milliseconds = _seconds(lowered.get("retry-after-ms"))
    if milliseconds is not None:
        return min(milliseconds / 1_000, _LONGEST_WAIT_S)
    value = lowered.get("retry-after")
    seconds = _seconds(value)
    if seconds is None and value:
        from email.utils import parsedate_to_datetime

        try:
            when = parsedate_to_datetime(value)
        except ValueError:
            return None
        when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
        seconds = max(0.0, (when - (now or datetime.now(UTC))).total_seconds())
    return min(seconds, _LONGEST_WAIT_S) if seconds is not None else None


def _seconds(value: str | None) -> float | None:
    try:
        seconds = float(value or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def redacted(text: str, key: str) -> str:
    """``text`` without the key, in case a server says it back."""
    return text.replace(key, "[key]") if len(key) >= 4 else text
