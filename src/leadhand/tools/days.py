"""Days as the weather tool takes and writes them."""

from __future__ import annotations

from datetime import date

from leadhand.domain.days import MONTHS, WEEKDAYS, date_of, day_phrase
from leadhand.domain.errors import ToolError

__all__ = ["WEEKDAYS", "in_words", "read_day"]


def read_day(text: str, today: date) -> tuple[date, int]:
    """Return the first date that ``text`` names and how many days it covers (2 for "weekend", on a Sunday 1; else 1).

    ``monday`` is today or the first Monday after it, ``next monday`` the first one after today. Raises ``ToolError``
    (``invalid``, ``bad_day``) for anything it cannot read.
    """
    said = text.title().split() or ["Today"]
    found = day_phrase(said, today)
    if found is None or found[1] != len(said) or found[0].days > 2:
        raise ToolError(
            f"cannot read the day {text!r}",
            type="bad_day",
            next_action='say "now", "today", "tomorrow", a weekday, "weekend" or a date such as 2026-11-24',
        )
    return date_of(found[0], today), found[0].days


def in_words(day: date) -> str:
    """``Saturday 21 November 2026``, whatever the locale."""
    return f"{WEEKDAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]} {day.year}"
