"""Phrases that name a day or a stretch of days, read at one place of a sentence."""

from __future__ import annotations

from datetime import date, timedelta
from typing import NamedTuple

from . import vocabulary as words
from .tokens import Token, low_at

_WEEK, _MONTH = 7, 30


class When(NamedTuple):
    """A day as a tool is told it, and how many days from it on.

    ``day`` is ``now``, ``today``, ``tomorrow``, a weekday's name or an ISO date.
    """

    day: str
    days: int = 1

    def __str__(self) -> str:
        return self.day if self.days == 1 else f"{self.days} days from {self.day}"


class DayPhrase(NamedTuple):
    """A day phrase, ``length`` tokens long."""

    when: When
    length: int


def day_at(tokens: list[Token], index: int, end: int, today: date | None) -> DayPhrase | None:
    """The day phrase that begins at ``index``, or None. ``today`` turns "in three days" into a date."""
    lead = index
    while lead < end and lead - index < 3 and tokens[lead].low in words.DAY_LEADS:
        lead += 1
    if lead >= end or tokens[lead].mark:
        return None
    led = lead > index
    found = _range(tokens, lead, end) or _plain_day(tokens, lead, end, today, led=led)
    if found is None and led:
        found = _stretch(tokens, lead, end, today)
    if found is None:
        found = _dated_day(tokens, lead, end, today)
    if found is None and not led:
        found = _distant_day(tokens, index, end, today) or _forecast_length(tokens, index, end)
    return None if found is None else DayPhrase(found.when, found.length + lead - index)


def _range(tokens: list[Token], index: int, end: int) -> DayPhrase | None:
    """ "from Monday to Friday", "Monday through Friday"."""
    start = index + 1 if tokens[index].low in ("from", "between") else index
    first = _weekday(low_at(tokens, start, end), short=False)
    if first is None or low_at(tokens, start + 1, end) not in ("to", "through", "until", "till", "and"):
        return None
    if low_at(tokens, start + 1, end) == "and" and start == index:
        return None  # "Monday and Friday" are two days, "between Monday and Friday" five
    last = _weekday(low_at(tokens, start + 2, end), short=False)
    if last is None:
        return None
    return DayPhrase(When(words.WEEKDAYS[first], (last - first) % 7 + 1), start + 3 - index)


def _plain_day(tokens: list[Token], index: int, end: int, today: date | None, *, led: bool) -> DayPhrase | None:
    low, before = tokens[index].low, tokens[index - 1].low if led else ""
    if low in ("now", "currently") or (low == "moment" and led):
        return DayPhrase(When("now"), 1)
    if low == "right" and low_at(tokens, index + 1, end) == "now":
        return DayPhrase(When("now"), 2)
    if low in ("today", "tonight") or (low in words.DAY_PARTS and before == "this"):
        return DayPhrase(When("today"), 1)
    if low == "tomorrow":
        return DayPhrase(When("tomorrow"), _with_part(tokens, index, end))
    if low == "yesterday":
        return _from_today(today, -1, 1)
    if low == "day" and low_at(tokens, index + 1, end) == "after" and low_at(tokens, index + 2, end) == "tomorrow":
        return _from_today(today, 2, 3)
    if low in ("weekend", "weekends") and led:
        return _weekend(today, after_this=before in ("next", "following"))
    after_on = before in ("on", "this", "next", "coming")
    weekday = _weekday(low, short=after_on or (index > 0 and tokens[index].text in ("Sat", "Sun") and not led))
    if weekday is None:
        return None
    length = _with_part(tokens, index, end)
    if before in ("next", "following") and today is not None and today.weekday() == weekday:
        return _from_today(today, _WEEK, length)
    return DayPhrase(When(words.WEEKDAYS[weekday]), length)


def _with_part(tokens: list[Token], index: int, end: int) -> int:
    """The length of a day's name, with the part of the day behind it ("Friday morning")."""
    return 2 if low_at(tokens, index + 1, end) in words.DAY_PARTS else 1


def _from_today(today: date | None, days: int, length: int, count: int = 1) -> DayPhrase | None:
    if today is None:
        return None
    try:
        return DayPhrase(When((today + timedelta(days=days)).isoformat(), count), length)
    except OverflowError:
        return None


def _weekend(today: date | None, *, after_this: bool) -> DayPhrase | None:
    """Saturday and Sunday; on a Sunday, this weekend is what is left of it."""
    if after_this and today is not None and today.weekday() >= 5:
        return _from_today(today, 12 - today.weekday(), 1, 2)
    if today is not None and today.weekday() == 6:
        return DayPhrase(When("today"), 1)
    return DayPhrase(When("saturday", 2), 1)


def _weekday(low: str, *, short: bool) -> int | None:
    if low in words.WEEKDAYS:
        return words.WEEKDAYS.index(low)
    if low in words.WEEKDAY_SHORT:
        return words.WEEKDAY_SHORT[low]
    return words.WEEKDAY_SHORT_AFTER_ON.get(low) if short else None


def _distant_day(tokens: list[Token], index: int, end: int, today: date | None) -> DayPhrase | None:
    """ "in three days", "in a week"."""
    if tokens[index].low != "in":
        return None
    count = low_at(tokens, index + 1, end)
    number = 1 if count == "a" else _number(count)
    unit = low_at(tokens, index + 2, end)
    if number is None or number > 366 or unit not in ("day", "days", "week", "weeks"):
        return None
    return _from_today(today, number * (1 if unit.startswith("day") else _WEEK), 3)


def _stretch(tokens: list[Token], index: int, end: int, today: date | None) -> DayPhrase | None:
    """ "this week", "the next five days": behind a lead that was read already."""
    low, before = tokens[index].low, tokens[index - 1].low
    unit = low_at(tokens, index + 1, end)
    number = 3 if low == "few" else _number(low)
    if low == "week":
        if before in ("next", "following") and today is not None:
            return _from_today(today, _WEEK - today.weekday(), 1, _WEEK)
        return DayPhrase(When("today", _WEEK), 1)
    if low == "month":
        return DayPhrase(When("today", _MONTH), 1)
    if low == "days" and before in ("next", "coming"):
        return DayPhrase(When("today", 3), 1)
    if number is not None and unit in ("day", "days"):
        return DayPhrase(When("today", max(number, 1)), 2)
    if number is not None and unit in ("week", "weeks"):
        return DayPhrase(When("today", max(number, 1) * _WEEK), 2)
    return None


def _forecast_length(tokens: list[Token], index: int, end: int) -> DayPhrase | None:
    """ "5 day forecast", "7-day forecast"."""
    low, length = tokens[index].low, 1
    count, _, unit = low.partition("-")
    if not unit and low_at(tokens, index + 1, end) in ("day", "days"):
        unit, length = "day", 2
    number = _number(count)
    if unit not in ("day", "days") or number is None or number == 0:
        return None
    if low_at(tokens, index + length, end) not in ("forecast", "weather", "outlook"):
        return None
    return DayPhrase(When("today", number), length)


def _dated_day(tokens: list[Token], index: int, end: int, today: date | None) -> DayPhrase | None:
    """An ISO date, "24 December", "December 24th", with or without a year."""
    low = tokens[index].low
    if len(low) == 10 and low[4] == "-" == low[7]:
        try:
            return DayPhrase(When(date.fromisoformat(low).isoformat()), 1)
        except ValueError:
            return None
    number, month, length = _ordinal(low), None, 0
    if number is not None:
        gap = 1 if low_at(tokens, index + 1, end) == "of" else 0
        month, length = words.MONTHS.get(low_at(tokens, index + 1 + gap, end)), 2 + gap
    elif low in words.MONTHS:
        number, month, length = _ordinal(low_at(tokens, index + 1, end)), words.MONTHS[low], 2
    if number is None or month is None:
        return None
    year_text = low_at(tokens, index + length, end)
    year = int(year_text) if len(year_text) == 4 and year_text.isascii() and year_text.isdigit() else None
    if year is None and today is None:
        return None
    try:
        found = date(year or (today or date.min).year, month, number)
        if year is None and today is not None and found < today:
            found = found.replace(year=today.year + 1)
    except ValueError:
        return None
    return DayPhrase(When(found.isoformat()), length + (1 if year is not None else 0))


def _ordinal(low: str) -> int | None:
    digits = low.removesuffix("st").removesuffix("nd").removesuffix("rd").removesuffix("th")
    if 1 <= len(digits) <= 2 and digits.isascii() and digits.isdigit():
        return int(digits)
    return None


def _number(low: str) -> int | None:
    if low.isascii() and low.isdigit() and len(low) <= 3:
        return int(low)
    return words.NUMBERS.get(low)
