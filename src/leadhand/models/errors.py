"""Classify what a model server answers instead of a reply: one failure from status, headers and body."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from leadhand.core.errors import Failure
from leadhand.core.value import object_of
from leadhand.ports.retry_after import header, retry_after

from .answers import decode_json
from .failures import error_message, failed, looks_like_html

LARGER_WINDOW = (
    "ask for less at once, use a model with a larger window, or, if the server is yours, start it with a larger one "
    "(Ollama: OLLAMA_CONTEXT_LENGTH; llama.cpp: --ctx-size; vLLM: --max-model-len)"
)
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|string_above_max_length|too many tokens|(prompt|input) is too long"
    r"|context (length|window|size)"  # OpenAI, vLLM, OpenRouter, DeepSeek, Ollama, LM Studio, llama.cpp
    r"|maximum model length"  # vLLM
    r"|maximum prompt length"  # xAI
    r"|maximum number of tokens allowed"  # Gemini
    r"|max_new_tokens must be <="  # TGI, Together
    r"|reduce the length"  # Groq
)
_NEVER_FITS = "tokens must be reduced"  # OpenAI's 429 for a request larger than what a minute allows
_QUOTA = re.compile(
    r"insufficient[ _](quota|balance|credit)|billing_hard_limit|credit balance is too low|out of credits"
)
_UNKNOWN_MODEL = re.compile(r"model[ _]not[ _]found|unknown model|invalid model|not a valid model")
_BAD_KEY = re.compile(r"api key not valid|api_key_invalid")  # Gemini's 400
_WRONG_PATH = re.compile(r"unexpected endpoint|404 page not found")
_STATUSES = {"rate_limit": 429, "quota": 429, "api_key": 401, "auth": 401, "not_found": 404, "invalid_request": 400}
"""The statuses of errors by parts of their codes, for errors without a number."""
# Groq's errors for a model's output that its own server could not parse; a retry can succeed.
_BAD_GENERATION = re.compile(r"tool_use_failed|json_validate_failed|failed to parse tool call|failed_generation")


def failure_of(
    status: int,
    headers: Mapping[str, str],
    body: str,
    *,
    key: str = "",
    key_setting: str = "the API key",
    server: str = "the model server",
) -> Failure:
    """Return the failure for an error ``status`` of ``server``, with ``key`` redacted; ``key_setting`` is where it is
    set. A 200 is that of an error inside an answer, whose own status is in the body.
    """
    error, inside = _error_in(body), status == 200
    if inside:
        status = _status_in(error)
    html = looks_like_html(header(headers, "content-type"), body)
    said = "" if html else error_message(body)
    # Quota and rate limit of a gateway differ only in their codes, not in their messages.
    codes = " ".join(str(error.get(field) or "") for field in ("code", "type", "param"))
    lows = f"{said} {codes}".casefold().replace("`", "").replace("'", "")
    type, action = _kind(status, lows, html=html)
    if type == "bad_key":
        action = f"correct {key_setting}" if key else f"no key was sent: set {key_setting}"
    if 300 <= status < 400 and (elsewhere := header(headers, "location")):
        what = f"{server} answered {status}: it has moved to {elsewhere}"
    else:
        what = f"{server} " + ("reported an error instead of an answer" if inside else f"answered {status}")
        what += f": {said}" if said else " with a web page" if html else ""
    return failed(
        type, what, next_action=action, retry_after_s=retry_after(headers, datetime.now(UTC)), key=key
    ).failure


def _kind(status: int, said: str, *, html: bool) -> tuple[str, str]:
    """The type, and what a person can do ("" for the usual advice)."""
    if status == 402 or (status in (400, 403, 429) and _QUOTA.search(said)):
        return "quota", ""
    if status == 429 and _NEVER_FITS not in said:
        return "rate_limited", ""
    if status in (413, 429) or (status not in (401, 403) and _TOO_LONG.search(said)):
        return "context_length", LARGER_WINDOW
    if _WRONG_PATH.search(said):
        return "not_an_api", ""
    if status in (408, 409, 425) or status >= 500:
        return f"http_{status}", ""
    if html and status == 403:
        return "forbidden", "check for a proxy or firewall in front of the server, and check the base URL"
    if html or status == 405 or 300 <= status < 400:
        return "not_an_api", ""
    if status in (401, 403) or _BAD_KEY.search(said):
        return "bad_key", ""
    if status in (404, 410) or _UNKNOWN_MODEL.search(said):
        return "unknown_model", "fix the name of the model, or the base URL"
    if _BAD_GENERATION.search(said):
        return "bad_generation", ""
    return f"http_{status}", "see the server's message"


def _error_in(body: str) -> dict[str, Any]:
    """The error object of a body; {} if it has none."""
    try:
        document = object_of(decode_json(body))
    except ValueError:
        return {}
    return object_of(document.get("error", document))


def _status_in(error: Mapping[str, Any]) -> int:
    """The HTTP status of an error inside an answer with status 200, by its code or name; else 502."""
    for code in (error.get("code"), error.get("status")):
        number = int(code) if isinstance(code, str) and code.isdecimal() else code
        if isinstance(number, int) and 400 <= number < 600:
            return number
    named = f"{error.get('code')} {error.get('type')}".casefold()
    return next((status for word, status in _STATUSES.items() if word in named), 502)
