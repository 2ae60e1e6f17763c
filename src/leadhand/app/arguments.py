"""Validate arguments of callers: requests, ids, limits, names."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, cast

from leadhand.domain.errors import UsageError
from leadhand.domain.limits import Limits, nanousd
from leadhand.domain.value import Json

LONGEST_REQUEST = 100_000
"""The most characters in a request; longer material belongs in files that tools read."""

_WHOLE: dict[str, tuple[int, int]] = {
    "max_steps": (1, 100),
    "max_workers": (1, 10_000),
    "batch_size": (1, 1_000_000),
    "max_requests": (1, 1_000_000_000),
    "max_tokens": (1, 1_000_000_000_000),
    "max_output_tokens": (16, 1_000_000),
}
_NUMBERS: dict[str, tuple[float, float]] = {
    "budget": (0, 1_000_000),
    "timeout": (0.001, 366 * 86_400),
    "approval_timeout": (0.001, 366 * 86_400),
}
_OPTIONAL = frozenset({"batch_size", "max_requests", "max_tokens", "budget", "timeout", "approval_timeout"})


class Usual(float):
    """A default limit, which the caller did not set."""


USUAL_BUDGET = Usual(1.0)
"""US dollars."""


def limits(
    *,
    max_steps: int,
    max_workers: int,
    batch_size: int | None,
    budget: float | None,
    timeout: float | None,
    max_requests: int | None = None,
    max_tokens: int | None = None,
    max_output_tokens: int = 2_000,
    approval_timeout: float | None = None,
) -> Limits:
    """Return limits from a caller's values: money in dollars, time in seconds. Raises UsageError for invalid values."""
    given = {
        "max_steps": max_steps,
        "max_workers": max_workers,
        "batch_size": batch_size,
        "budget": budget,
        "timeout": timeout,
        "max_requests": max_requests,
        "max_tokens": max_tokens,
        "max_output_tokens": max_output_tokens,
        "approval_timeout": approval_timeout,
    }
    for name, value in given.items():
        if value is None and name in _OPTIONAL:
            continue
        least, most = (_WHOLE | _NUMBERS)[name]
        if not _is_number(value, whole=name in _WHOLE):
            kind = "a whole number" if name in _WHOLE else "a number"
            raise UsageError(f"invalid value for {name}: {shown(value)}", f"Pass {kind} from {least:g} to {most:,.0f}.")
        if not least <= cast("float", value) <= most:
            raise UsageError(
                f"{name} is out of range: {number(value)}", f"Pass a number from {least:g} to {most:,.0f}."
            )
    return Limits(
        max_steps=max_steps,
        max_workers=max_workers,
        batch_size=batch_size,
        budget_nanousd=None if budget is None else nanousd(budget),
        timeout_s=timeout,
        max_requests=max_requests,
        max_tokens=max_tokens,
        max_output_tokens=max_output_tokens,
        approval_timeout_s=approval_timeout,
    )


def _is_number(value: object, *, whole: bool) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (not whole and isinstance(value, (float, Decimal)) and not math.isnan(value))


def number(value: Any) -> str:
    """Format a number without an exponent where possible."""
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def shown(value: object) -> str:
    """Format a value for a message."""
    written = repr(value)
    return written if len(written) <= 60 else f"{written[:57]}..."


def check_request(request: object, *, example: str) -> str:
    """Return the request, trimmed. Raises UsageError if it is not text, empty or too long. ``example``: a valid one."""
    trimmed = text(request, "the request", f"Example: {example}").strip()
    if not trimmed:
        raise UsageError("the request is empty", f"Example: {example}")
    if len(trimmed) > LONGEST_REQUEST:
        raise UsageError(
            f"the request has {len(trimmed):,} characters; the limit is {LONGEST_REQUEST:,}",
            "Put long material into files, and say in the request what to do with them.",
        )
    return trimmed


def text(value: object, what: str, how: str) -> str:
    """Return ``value`` if it is a string that encodes as UTF-8 without NUL; otherwise raise UsageError."""
    if not isinstance(value, str):
        raise UsageError(f"{what} is not text: {shown(value)}", how)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{what} is not valid UTF-8", "Encode the text as UTF-8.") from error
    if "\0" in value:
        raise UsageError(f"{what} contains a NUL character", "Remove it; databases cannot store it.")
    return value


def json_value(value: object, what: str, how: str) -> Json:
    """Return ``value`` if it is JSON that a database can store; otherwise raise UsageError."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{what} cannot be stored: the text is not valid UTF-8", how) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"{what} cannot be written as JSON: {error}", how) from error
    return cast("Json", value)


def check_methods(value: object, what: str, methods: Iterable[str], how: str) -> None:
    """Raise UsageError unless ``value`` is None or has all these methods (``__call__``: is callable)."""
    lacking = [method for method in methods if not callable(getattr(value, method, None))]
    if value is not None and lacking:
        raise UsageError(f"invalid value for {what}: {shown(value)} has no method {lacking[0]}()", how)


def name(value: object, what: str, how: str) -> str | None:
    """Return a name or None. Raises UsageError for a name that is empty or not text."""
    if value is None:
        return None
    given = text(value, what, how)
    if not given.strip():
        raise UsageError(f"{what} is empty", how)
    return given
