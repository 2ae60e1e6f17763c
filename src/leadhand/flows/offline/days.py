"""Read words for days: "tomorrow", "next Friday", "3 December", "in three days", "this weekend".

A table, and no library: ``dateparser`` takes 8 MB and 140 ms, ``parsedatetime`` has had no release since 2020 and reads
"the day after tomorrow" as tomorrow, and neither knows a weekend.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
LONGEST_PHRASE = 9  # words: "on Thursday, the 3rd of December 2026"; a punctuation mark counts as one
_NUMBERS = ("a", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NAMES = "montuewedthufrisatsun"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = f"(?:{'|'.join(_MONTHS)})[a-z]*"
_DAY = "(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?"
_TH = "(?:st|nd|rd|th)?"
_PART = "(?:morning|afternoon|evening|night)"
_PHRASE = re.compile(
    rf"(?:(?:on|for|at|the|during|over|coming|by|this) ){{0,3}}(?P<next>next )?(?:(?P<now>now)"
    rf"|(?P<today>today|tonight|(?<=this ){_PART})|(?P<tomorrow>tomorrow)|(?P<after>day after tomorrow)"
    rf"|(?P<weekend>weekend)|(?P<week>(?<=(?:this|next) )week)"
    rf"|(?:{_DAY} (?:, )?(?:the )?)?(?:(?P<iso>\d{{4}}-\d\d-\d\d)|(?P<day>\d\d?){_TH} (?:of )?(?P<month>{_MONTH})"
    rf"|(?P<month_first>{_MONTH}) (?P<day_last>\d\d?){_TH})(?: (?P<year>\d{{4}}))?"
    rf"|(?P<from>from |between )?(?P<first>{_DAY})(?: (?:to|until|through|(?(from)and|to)) (?P<last>{_DAY}))?"
    rf"|(?P<ahead>in )?(?P<count>\d\d?|{'|'.join(_NUMBERS)})[ -](?P<unit>day|week)s?"
    rf")(?: {_PART})?(?= |$)",
    re.ASCII | re.IGNORECASE,
)


def day_phrase(said: Sequence[str], today: date) -> tuple[str, int, int] | None:
    """Return the day that ``said`` (words, "" for a mark) begins with, as the weather tool accepts it (``now``,
    ``tomorrow``, a weekday, an ISO date), how many days there are, and the number of its words; otherwise None."""
    found = _PHRASE.match(" ".join(word or "," for word in said[:LONGEST_PHRASE]))
    if found is None or found[0] in ("sun", "sat"):  # both are ordinary words, too
        return None
    try:
        return *_days(found.groupdict(""), today), found[0].count(" ") + 1
    except (ValueError, OverflowError):  # not a date of the calendar
        return None


def _days(found: dict[str, str], today: date) -> tuple[str, int]:
    said, number, later = {name: text.lower() for name, text in found.items()}, today.weekday(), bool(found["next"])
    for day in ("now", "today", "tomorrow"):
        if said[day]:
            return day, 1
    first, last = (_NAMES.find(said[name][:3]) // 3 if said[name] else -1 for name in ("first", "last"))
    if said["iso"] or said["day"] or said["day_last"]:
        month, day = said["month"] or said["month_first"] or "jan", int(said["day"] or said["day_last"] or 1)
        dated = date(int(said["year"] or today.year), _MONTHS.index(month[:3]) + 1, day)
        dated = dated if said["year"] or dated >= today else dated.replace(year=dated.year + 1)
        return (date.fromisoformat(said["iso"]) if said["iso"] else dated).isoformat(), 1
    if first >= 0 and not (later and first == number):
        return WEEKDAYS[first].lower(), (last - first) % 7 + 1 if last >= 0 else 1
    if said["weekend"]:  # on a Sunday, one day of the weekend is left
        ahead, count = (12 - number if later else 0, 2 if later else 7 - number) if number >= 5 else (5 - number, 2)
    elif said["after"] or first >= 0:
        ahead, count = 2 if said["after"] else 7, 1
    elif said["week"]:
        ahead, count = 7 - number if later else 0, 7
    else:
        days = _NUMBERS.index(said["count"]) or 1 if said["count"] in _NUMBERS else int(said["count"]) or 1
        days *= 7 if said["unit"] == "week" else 1
        ahead, count = (days, 1) if said["ahead"] else (0, days)
    return (today + timedelta(days=ahead)).isoformat() if ahead else "today", count
