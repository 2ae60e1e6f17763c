"""The wait that a service asks for in the headers of its response."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from leadhand.core.limits import LONGEST_WAIT_S


def header(headers: Mapping[str, str], name: str) -> str:
    """Return a header by its name, ignoring case; "" if it is missing."""
    return next((value for key, value in headers.items() if key.casefold() == name), "")


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds from ``retry-after-ms`` or Retry-After (RFC 9110 §10.2.3: seconds or a date), None without either."""
    milliseconds = _number(header(headers, "retry-after-ms"))
    if milliseconds is not None:
        return min(milliseconds / 1_000, LONGEST_WAIT_S)
    value = header(headers, "retry-after")
    seconds = _number(value)
    if seconds is None and value:
        from email.utils import parsedate_to_datetime  # slow to import, and rarely needed

        try:
            when = parsedate_to_datetime(value)
        except ValueError:
            return None
        when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
        seconds = max(0.0, (when - now).total_seconds())
    return min(seconds, LONGEST_WAIT_S) if seconds is not None else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
