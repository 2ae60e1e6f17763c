"""Reads words for days ("tomorrow", "saturday", "2026-11-24") as dates, counted from a given today."""

from __future__ import annotations

import re
from datetime import date, timedelta

from leadhand.domain.errors import ToolError

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

_OFFSETS = {"": 0, "now": 0, "today": 0, "tonight": 0, "tomorrow": 1, "day after tomorrow": 2, "in a week": 7}
_NAMED = {name[:length].lower(): number for number, name in enumerate(WEEKDAYS) for length in (3, len(name))}
_IN_DAYS = re.compile(r"in (\d{1,3}) days?")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")


def read_day(text: str, today: date) -> tuple[date, int]:
    """The first date that ``text`` names and how many days it covers (2 for "weekend", on a Sunday 1; else 1).

    ``monday`` is today or the first Monday after it, ``next monday`` the first one after today. Raises ``ToolError``
    (``invalid``, ``bad_day``) for anything it cannot read.
    """
    words = " ".join(text.lower().split()).removeprefix("the ")
    if words in _OFFSETS:
        return today + timedelta(days=_OFFSETS[words]), 1
    if _ISO.fullmatch(words):
        try:
            return date.fromisoformat(words), 1
        except ValueError:
            raise _unreadable(text) from None
    if found := _IN_DAYS.fullmatch(words):
        return today + timedelta(days=int(found[1])), 1
    if words in ("weekend", "this weekend", "on weekend", "at weekend"):
        if today.weekday() == 6:
            return today, 1
        return today + timedelta(days=5 - today.weekday()), 2
    after_today = words.startswith("next ")
    number = _NAMED.get(words.removeprefix("next ").removeprefix("this ").removeprefix("on "))
    if number is not None:
        ahead = (number - today.weekday()) % 7
        return today + timedelta(days=ahead or (7 if after_today else 0)), 1
    raise _unreadable(text)


def in_words(day: date) -> str:
    """``Saturday 21 November 2026``, whatever the locale."""
    return f"{WEEKDAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]} {day.year}"


def _unreadable(text: str) -> ToolError:
    return ToolError(
        f"{text!r} is no day we can read",
        type="bad_day",
        next_action='say "now", "today", "tomorrow", a weekday, "weekend" or a date such as 2026-11-24',
    )
