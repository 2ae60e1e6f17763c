"""What callers hand over, checked before anything is made of it: requests, ids, limits, policies, names."""

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
"""Characters a request may have; more belongs into files that tools read."""

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
    """A limit that nobody asked for: the default."""


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
    """Limits as a person gives them: money in dollars, time in seconds. Raises UsageError for what cannot be."""
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
            raise UsageError(f"{name} is {shown(value)}", f"Give {name} as {kind} from {least:g} to {most:,.0f}.")
        if not least <= cast("float", value) <= most:
            raise UsageError(f"{name} is {number(value)}", f"Give {name} as a number from {least:g} to {most:,.0f}.")
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
    """A number as it was given, without an exponent where it can be read without one."""
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def shown(value: object) -> str:
    """A value as a message shows it."""
    written = repr(value)
    return written if len(written) <= 60 else f"{written[:57]}..."


def check_request(request: object, *, example: str) -> str:
    """The request, trimmed. Raises UsageError when it is no text, empty or too long; ``example`` is one that is not."""
    trimmed = text(request, "the request", f"Say what you want: {example}").strip()
    if not trimmed:
        raise UsageError("the request is empty", f"Say what you want: {example}")
    if len(trimmed) > LONGEST_REQUEST:
        raise UsageError(
            f"the request has {len(trimmed):,} characters, and {LONGEST_REQUEST:,} are the most",
            "Put long material into files, and say in the request what to do with it.",
        )
    return trimmed


def text(value: object, what: str, how: str) -> str:
    """A string that can be written down. Raises UsageError for what is none, and for half of a surrogate pair."""
    if not isinstance(value, str):
        raise UsageError(f"{what} is no text: {shown(value)}", how)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{what} is no text in UTF-8", "Give it in UTF-8.") from error
    if "\0" in value:
        raise UsageError(f"{what} holds a NUL character", "Leave it out: no database can keep it.")
    return value


def json_value(value: object, what: str, how: str) -> Json:
    """A value that JSON can say and a database can keep. Raises UsageError for another."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{what} cannot be kept: there is more than text in UTF-8", how) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"{what} cannot be written as JSON: {error}", how) from error
    return cast("Json", value)


def check_methods(value: object, what: str, methods: Iterable[str], how: str) -> None:
    """Raise UsageError for a value, other than None, that lacks one of these methods (``__call__``: is none itself)."""
    lacking = [method for method in methods if not callable(getattr(value, method, None))]
    if value is not None and lacking:
        raise UsageError(f"{what} is {shown(value)}, which has no {lacking[0]}()", how)


def name(value: object, what: str, how: str) -> str | None:
    """A name that was given, or None. Raises UsageError for an empty one, and for what is no text."""
    if value is None:
        return None
    given = text(value, what, how)
    if not given.strip():
        raise UsageError(f"{what} is empty", how)
    return given
