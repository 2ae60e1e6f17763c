"""Words for days: the only place that reads "tomorrow", "next Friday", "3 December" or "this weekend"."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import NamedTuple

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
LONGEST_PHRASE = 7
"""Words of the longest phrase: "on the 3rd of December 2026"."""

DAY_PARTS = frozenset(("morning", "afternoon", "evening", "night", "noon", "midday", "midnight", "lunchtime"))
_LEADS = frozenset(("on", "for", "this", "at", "the", "during", "over", "next", "coming", "by"))
_NAMED = {name[:length].lower(): n for n, name in enumerate(WEEKDAYS) for length in (3, 4, 5, len(name))}
_MONTH_NUMBERS = {name[:length].lower(): n for n, name in enumerate(MONTHS, 1) for length in (3, 4, len(name))}
_TEN = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBERS = {word: n for n, word in enumerate(_TEN, start=1)}
_FIXED = {
    ("now",): "now",
    ("right", "now"): "now",
    ("currently",): "now",
    ("moment",): "now",
    ("today",): "today",
    ("tonight",): "today",
    ("tomorrow",): "tomorrow",
}


class When(NamedTuple):
    """A day as a tool accepts it (``now``, ``today``, ``tomorrow``, a weekday or an ISO date), and how many days."""

    day: str
    days: int = 1

    def __str__(self) -> str:
        return self.day if self.days == 1 else f"{self.days} days from {self.day}"


def date_of(when: When, today: date) -> date:
    """Return the first date of ``when``."""
    if when.day in ("now", "today"):
        return today
    if when.day == "tomorrow":
        return today + timedelta(days=1)
    if when.day in _NAMED:
        return today + timedelta(days=(_NAMED[when.day] - today.weekday()) % 7)
    return date.fromisoformat(when.day)


def read_date(value: object) -> date | None:
    """Return the date at the beginning of an ISO date and time; None for anything else."""
    try:
        return date.fromisoformat(value[:10]) if isinstance(value, str) else None
    except ValueError:
        return None


def day_phrase(said: Sequence[str], today: date | None) -> tuple[When, int] | None:
    """Return the day or stretch of days that ``said`` begins with, and its length in words; otherwise None.

    ``said`` are words as written, "" for a punctuation mark. Without ``today``, phrases that need it are not read.
    """
    words = [word.casefold() for word in said[:LONGEST_PHRASE]]
    words += [""] * (LONGEST_PHRASE + 1 - len(words))
    lead = 0
    while lead < 3 and words[lead] in _LEADS:
        lead += 1
    before, rest = words[lead - 1] if lead else "", [*words[lead:], "", ""]
    sure = before in ("on", "this", "next", "coming") or (lead < len(said) and said[lead] in ("Sat", "Sun"))
    found = _stretch_between(rest) or _fixed(rest, before, today) or _weekday(rest, before, today, sure=sure)
    found = found or (_stretch(rest, before, today) if lead else _distant(rest, today)) or _dated(rest, today)
    return None if found is None else (found[0], found[1] + lead)


def _fixed(words: list[str], before: str, today: date | None) -> tuple[When, int] | None:
    for phrase, day in _FIXED.items():
        if tuple(words[: len(phrase)]) == phrase and (phrase != ("moment",) or before == "the"):
            return When(day), len(phrase) + (day == "tomorrow" and words[1] in DAY_PARTS)
    if before == "this" and words[0] in DAY_PARTS:
        return When("today"), 1
    if words[0] == "yesterday":
        return _later(today, -1, 1)
    if words[:3] == ["day", "after", "tomorrow"]:
        return _later(today, 2, 3)
    if words[0] in ("weekend", "weekends"):
        if before == "next" and today is not None and today.weekday() >= 5:
            return _later(today, 12 - today.weekday(), 1, 2)
        # On a Sunday, one day of the weekend is left.
        return (When("today") if today is not None and today.weekday() == 6 else When("saturday", 2)), 1
    return None


def _weekday(words: list[str], before: str, today: date | None, *, sure: bool) -> tuple[When, int] | None:
    number = _NAMED.get(words[0])
    if number is None or (words[0] in ("sat", "sun") and not sure):
        return None  # the sun shines, and "sat" is a verb
    length = 2 if words[1] in DAY_PARTS else 1
    if before == "next" and today is not None and today.weekday() == number:
        return _later(today, 7, length)
    return When(WEEKDAYS[number].lower()), length


def _stretch_between(words: list[str]) -> tuple[When, int] | None:
    """Read "from Monday to Friday", "between Friday and Sunday", "Saturday through Monday"."""
    start = 1 if words[0] in ("from", "between") else 0
    first, last = _NAMED.get(words[start]), _NAMED.get(words[start + 2])
    joins = ("to", "through", "until", "till", *(["and"] if start else []))
    if first is None or last is None or words[start + 1] not in joins:
        return None
    return When(WEEKDAYS[first].lower(), (last - first) % 7 + 1), start + 3


def _stretch(words: list[str], before: str, today: date | None) -> tuple[When, int] | None:
    """Read "this week", "the next five days", behind their first words."""
    number = 3 if words[0] == "few" else _number(words[0])
    if words[0] == "week":
        if before == "next" and today is not None:
            return _later(today, 7 - today.weekday(), 1, 7)
        return When("today", 7), 1
    if words[0] == "days" and before in ("next", "coming"):
        return When("today", 3), 1
    if number and words[1] in ("day", "days", "week", "weeks"):
        return When("today", number * (1 if words[1].startswith("day") else 7)), 2
    return None


def _distant(words: list[str], today: date | None) -> tuple[When, int] | None:
    """Read "in three days", "in a week"."""
    number = 1 if words[1] == "a" else _number(words[1])
    if words[0] != "in" or number is None or words[2] not in ("day", "days", "week", "weeks"):
        return None
    return _later(today, number * (1 if words[2].startswith("day") else 7), 3)


def _dated(words: list[str], today: date | None) -> tuple[When, int] | None:
    """Read an ISO date, "24 December", "December 24th" or "the 3rd of May 2027"."""
    try:
        if len(words[0]) == 10 and words[0][4] == "-" == words[0][7]:
            return When(date.fromisoformat(words[0]).isoformat()), 1
        of = words[1] == "of"
        day, month, length = _ordinal(words[0]), _MONTH_NUMBERS.get(words[1 + of]), 2 + of
        if day is None or month is None:
            day, month, length = _ordinal(words[1]), _MONTH_NUMBERS.get(words[0]), 2
        if day is None or month is None:
            return None
        year = words[length]
        if len(year) == 4 and year.isascii() and year.isdigit():
            return When(date(int(year), month, day).isoformat()), length + 1
        if today is None:
            return None
        found = date(today.year, month, day)
        return When((found if found >= today else found.replace(year=today.year + 1)).isoformat()), length
    except ValueError:
        return None


def _later(today: date | None, days: int, length: int, count: int = 1) -> tuple[When, int] | None:
    try:
        return None if today is None else (When((today + timedelta(days=days)).isoformat(), count), length)
    except OverflowError:
        return None


def _ordinal(word: str) -> int | None:
    digits = word[:-2] if word.endswith(("st", "nd", "rd", "th")) else word
    return int(digits) if len(digits) <= 2 and digits.isascii() and digits.isdigit() else None


def _number(word: str) -> int | None:
    return int(word) if word.isascii() and word.isdigit() and len(word) <= 3 else NUMBERS.get(word)
