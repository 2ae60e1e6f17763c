"""Classify the errors of an OpenAI-compatible server: one failure from status, headers and body."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from leadhand.domain.errors import Failure, FailureClass
from leadhand.domain.limits import Usage
from leadhand.models.json_values import decode_json, list_of, object_of, text_of
from leadhand.ports import ModelError

LARGER_WINDOW = (
    "ask for less at once, use a model with a larger window, or, if the server is yours, start it with a larger one "
    "(Ollama: OLLAMA_CONTEXT_LENGTH; llama.cpp: --ctx-size; vLLM: --max-model-len)"
)
_TOO_LONG_WORDS = (
    "context_length_exceeded",
    "maximum context length",  # OpenAI, vLLM, OpenRouter, DeepSeek
    "context length",  # Ollama, LM Studio
    "context window",
    "context size",  # llama.cpp
    "exceed_context_size",
    "maximum model length",  # vLLM
    "maximum prompt length",  # xAI
    "maximum number of tokens allowed",  # Gemini
    "max_new_tokens must be <=",  # TGI, Together
    "string_above_max_length",
    "too many tokens",
    "prompt is too long",
    "input is too long",
    "reduce the length",  # Groq
)
_NEVER_FITS = "tokens must be reduced"  # OpenAI's 429 for a request larger than what a minute allows
_QUOTA_WORDS = (
    "insufficient_quota",
    "insufficient quota",
    "insufficient balance",
    "insufficient credit",
    "billing_hard_limit",
    "credit balance is too low",
    "out of credits",
)
_UNKNOWN_MODEL_WORDS = ("model_not_found", "model not found", "unknown model", "invalid model", "not a valid model")
_WRONG_PATH_WORDS = ("unexpected endpoint", "404 page not found")
# Groq's words for a model that wrote something its own server could not read: the next try may well do better.
_BAD_GENERATION_WORDS = ("tool_use_failed", "json_validate_failed", "failed to parse tool call", "failed_generation")
_LONGEST_WAIT_S = 24 * 3_600.0


def failed(message: str, type: str, class_: FailureClass, usage: Usage | None, *, next_action: str = "") -> ModelError:
    """A model error, from its parts; the message is put on one line."""
    failure = {"message": _one_line(message), "type": type, "class": class_, "next_action": next_action}
    return ModelError(Failure.model_validate(failure), usage)


def failure_of(
    status: int,
    headers: Mapping[str, str],
    body: str,
    *,
    key: str = "",
    now: datetime | None = None,
    inside: bool = False,
    key_setting: str = "the API key",
) -> Failure:
    """The failure that an answer with an error ``status`` stands for. ``key`` is cut out of everything it says;
    ``key_setting`` is where it is set, for what a person can do.
    ``inside`` says that the status was not HTTP's, which was 200, but in the body.

    ``now`` is what a Retry-After date is measured against; the system's time if it is not given.
    """
    html = looks_like_html(headers.get("content-type", headers.get("Content-Type", "")), body)
    said = "" if html else error_message(body)
    # Quota and rate limit of a gateway differ only in their codes, not in their messages.
    lows = f"{said} {_codes(body)}".casefold().replace("`", "").replace("'", "")
    class_, type, action = _kind(status, lows, html=html, keyed=bool(key), key_setting=key_setting)
    wait = retry_after(headers, now) if class_ in (FailureClass.RATE_LIMITED, FailureClass.TRANSIENT) else None
    begin = (
        "the model server reported an error instead of an answer" if inside else f"the model server answered {status}"
    )
    what = begin + (f": {said}" if said else " with a web page" if html else "")
    if 300 <= status < 400 and (elsewhere := _header(headers, "location")):
        what = f"the model server answered {status}: it has moved to {elsewhere}"
    return Failure.model_validate(
        {
            "message": _one_line(redacted(what, key)),
            "type": type,
            "class": class_,
            "next_action": action,
            "retry_after_s": wait,
        }
    )


def _kind(status: int, said: str, *, html: bool, keyed: bool, key_setting: str) -> tuple[FailureClass, str, str]:
    """The class, the type and what a person can do (""; the class's own advice)."""
    if status == 402 or (status in (400, 403, 429) and any(word in said for word in _QUOTA_WORDS)):
        return FailureClass.UNAVAILABLE, "quota", "add credit at the provider, or choose another model"
    if status == 429 and _NEVER_FITS not in said:
        return FailureClass.RATE_LIMITED, "rate_limited", ""
    if status in (413, 429) or (status not in (401, 403) and speaks_of_length(said)):
        return FailureClass.TOO_LARGE, "context_length", LARGER_WINDOW
    if any(word in said for word in _WRONG_PATH_WORDS):
        return FailureClass.UNAVAILABLE, "not_an_api", "correct the base URL: it usually ends in /v1"
    if status in (408, 409, 425) or status >= 500:
        return FailureClass.TRANSIENT, f"http_{status}", ""
    if html and status == 403:
        action = "check for a proxy or firewall in front of the server, and check the base URL"
        return FailureClass.UNAVAILABLE, "forbidden", action
    if html or status == 405 or 300 <= status < 400:
        return FailureClass.UNAVAILABLE, "not_an_api", "correct the base URL: it usually ends in /v1"
    if status in (401, 403):
        action = f"correct {key_setting}" if keyed else f"no key was sent: set {key_setting}"
        return FailureClass.UNAVAILABLE, "bad_key", action
    if status in (404, 410) or any(word in said for word in _UNKNOWN_MODEL_WORDS):
        return FailureClass.UNAVAILABLE, "unknown_model", "correct the model's name, or the base URL"
    if any(word in said for word in _BAD_GENERATION_WORDS):
        return FailureClass.TRANSIENT, "bad_generation", ""
    return FailureClass.INVALID, f"http_{status}", "see the server's message"


def speaks_of_length(said: str) -> bool:
    """Whether a refusal, in lower case, is about how long the request is."""
    return any(word in said for word in _TOO_LONG_WORDS)


_STATUS_WORDS = {
    "rate_limit": 429,
    "insufficient_quota": 429,
    "invalid_api_key": 401,
    "authentication": 401,
    "model_not_found": 404,
    "context_length_exceeded": 400,
    "invalid_request": 400,
}


def status_inside(document: Mapping[str, object]) -> int:
    """The HTTP status of an error inside an answer with status 200, by its code or name; else 502."""
    error = object_of(document.get("error"))
    for code in (error.get("code"), error.get("status"), error.get("status_code"), document.get("code")):
        number = int(code) if isinstance(code, str) and code.isdecimal() and len(code) == 3 else code
        if isinstance(number, int) and 400 <= number < 600:
            return number
    named = f"{error.get('code')} {error.get('type')}".casefold()
    return next((status for word, status in _STATUS_WORDS.items() if word in named), 502)


def error_message(body: str) -> str:
    """What an error body says, on one line: ``error.message`` and its many cousins, else the text itself.

    The part of the request comes first if the body names it, as FastAPI does (``body.stream_options: …``).
    """
    try:
        document = decode_json(body)
    except ValueError:
        return " ".join(body[:2_000].split())[:500]
    found = _message_in(document) or body[:2_000]
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


def parameter_named(body: str) -> str:
    """The request's field that an error body names in a field of its own (OpenAI's ``param``), "" if it names none."""
    try:
        document = object_of(decode_json(body))
    except ValueError:
        return ""
    return text_of(object_of(document.get("error")).get("param")) or text_of(document.get("param"))


def _codes(body: str) -> str:
    """The code and type of an error body, for telling quota from pace and a long prompt from a wrong one."""
    try:
        document = decode_json(body)
    except ValueError:
        return ""
    error = object_of(object_of(document).get("error", document))
    return " ".join(str(error.get(field) or "") for field in ("code", "type", "param"))


def looks_like_html(content_type: str, body: str) -> bool:
    """Whether a body is a web page: what a wrong base URL and a proxy answer with."""
    start = body[:200].lstrip().casefold()
    return "text/html" in content_type.casefold() or start.startswith(("<!doctype", "<html"))


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """The seconds a server asks to wait, by ``retry-after-ms`` or Retry-After (seconds or a date), else None."""
    milliseconds = _seconds(_header(headers, "retry-after-ms"))
    if milliseconds is not None:
        return min(milliseconds / 1_000, _LONGEST_WAIT_S)
    value = _header(headers, "retry-after")
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


def _header(headers: Mapping[str, str], name: str) -> str:
    return next((value for key, value in headers.items() if key.casefold() == name), "")


def _seconds(value: str | None) -> float | None:
    try:
        seconds = float(value or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _one_line(text: str) -> str:
    """``text`` as a message: on one line, bounded, and without what a log cannot hold (stray bytes of a header)."""
    return " ".join(text.encode("utf-8", "replace").decode().split())[:600]


def redacted(text: str, key: str) -> str:
    """``text`` without the key, in case a server says it back."""
    return text.replace(key, "[key]") if len(key) >= 4 else text
