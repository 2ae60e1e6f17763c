"""Words for days: the only place that reads "tomorrow", "next Friday", "3 December" or "this weekend"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta
from typing import NamedTuple

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DAY_PARTS = ("morning", "afternoon", "evening", "night", "noon", "midday", "midnight", "lunchtime")
_TEN = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBERS = {word: n for n, word in enumerate(_TEN, start=1)}
LONGEST_PHRASE = 9
"""Words of the longest phrase: "on Thursday, the 3rd of December 2026"; a punctuation mark counts as one."""

_COUNTS = {"a": 1, "few": 3, **NUMBERS}
_NAMED = {name[:length].lower(): n for n, name in enumerate(WEEKDAYS) for length in (3, 4, 5, len(name))}
_MONTH_NUMBERS = {name[:length].lower(): n for n, name in enumerate(MONTHS, 1) for length in (3, 4, len(name))}
_PART, _WEEKDAY, _MONTH, _COUNT = ("|".join(words) for words in (DAY_PARTS, _NAMED, _MONTH_NUMBERS, _COUNTS))
# The outermost group names the kind of phrase; a look-behind requires one of the leading words.
_PHRASE = re.compile(
    r"(?P<leads>(?:(?:on|for|this|at|the|during|over|next|coming|by) ){0,3})(?:"
    r"(?P<now>now|right now|currently|(?<=the )moment)"
    rf"|(?P<today>today|tonight|(?<=this )(?:{_PART}))"
    rf"|(?P<tomorrow>tomorrow(?: (?:{_PART}))?)"
    r"|(?P<past>yesterday)"
    r"|(?P<overmorrow>day after tomorrow)"
    r"|(?P<weekend>weekends?)"
    rf"|(?P<span>(?P<from>from |between )?(?P<first>{_WEEKDAY}) (?:to|through|until|till|(?(from)and|to)) "
    rf"(?P<last>{_WEEKDAY}))"
    rf"|(?P<date>(?:(?P<also>{_WEEKDAY}) (?:, )?(?:the )?)?"
    rf"(?:(?P<iso>\d{{4}}-\d\d-\d\d)|(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<month>{_MONTH})"
    rf"|(?P<month_first>{_MONTH}) (?P<day_last>\d{{1,2}})(?:st|nd|rd|th)?)(?: (?P<year>\d{{4}}))?))"
    rf"|(?P<weekday>(?P<name>{_WEEKDAY})(?: (?:{_PART}))?)"
    r"|(?P<week>(?<= )week)"
    r"|(?P<days>(?:(?<=next )|(?<=coming ))days)"
    rf"|(?P<stretch>(?:(?P<ahead>in )|(?<= ))(?P<count>[1-9]\d{{0,2}}|{_COUNT}) (?P<unit>day|week)s?)"
    r")(?= |$)",
    re.ASCII | re.IGNORECASE,
)


class When(NamedTuple):
    """A day as a tool accepts it (``now``, ``today``, ``tomorrow``, a weekday or an ISO date), and how many days."""

    day: str
    days: int = 1

    def __str__(self) -> str:
        return self.day if self.days == 1 else f"{self.days} days from {self.day}"


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
    found = _PHRASE.match(" ".join(word or "," for word in said[:LONGEST_PHRASE]))
    if found is None:
        return None
    try:
        when = _when(found, today)
    except (ValueError, OverflowError):  # not a date of the calendar
        return None
    return None if when is None else (when, found[0].count(" ") + 1)


def _when(found: re.Match[str], today: date | None) -> When | None:
    said = {name: (text or "").lower() for name, text in found.groupdict().items()}
    kind, lead = found.lastgroup, said["leads"].rstrip().rpartition(" ")[2]
    following = lead == "next"
    match kind:
        case "now" | "today" | "tomorrow":
            return When(kind)
        case "past":
            return _later(today, -1)
        case "overmorrow":
            return _later(today, 2)
        case "weekend" if following and today is not None and today.weekday() >= 5:
            return _later(today, 12 - today.weekday(), 2)
        case "weekend":  # on a Sunday, one day of the weekend is left
            return When("today") if today is not None and today.weekday() == 6 else When("saturday", 2)
        case "span":
            first, last = _NAMED[said["first"]], _NAMED[said["last"]]
            return When(WEEKDAYS[first].lower(), (last - first) % 7 + 1)
        case "weekday":
            sure = found["name"] in ("Sat", "Sun") or lead in ("on", "this", "next", "coming")
            if said["name"] in ("sat", "sun") and not sure:
                return None  # "sun" and "sat" are also ordinary words
            number = _NAMED[said["name"]]
            again = following and today is not None and today.weekday() == number
            return _later(today, 7) if again else When(WEEKDAYS[number].lower())
        case "week" if following and today is not None:
            return _later(today, 7 - today.weekday(), 7)
        case "week" | "days":
            return When("today", 7 if kind == "week" else 3)
        case "stretch":
            count = _COUNTS.get(said["count"]) or int(said["count"])
            days = count * (7 if said["unit"] == "week" else 1)
            return _later(today, days) if said["ahead"] else When("today", days)
        case _:
            month = _MONTH_NUMBERS.get(said["month"] or said["month_first"], 0)
            day = int(said["day"] or said["day_last"] or 0)
            if said["iso"]:
                dated = date.fromisoformat(said["iso"])
            elif said["year"]:
                dated = date(int(said["year"]), month, day)
            elif today is not None:
                dated = date(today.year, month, day)
                dated = dated if dated >= today else dated.replace(year=today.year + 1)
            else:
                return None
            if said["also"] and dated.weekday() != _NAMED[said["also"]]:
                return None  # "Sunday 24 November", but it is a Tuesday
            return When(dated.isoformat())


def _later(today: date | None, days: int, count: int = 1) -> When | None:
    return None if today is None else When((today + timedelta(days=days)).isoformat(), count)
