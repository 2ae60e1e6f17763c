"""The words that the built-in model knows, by meaning: names of well-known places, and phrases for days.

Days are a table, and no library: ``dateparser`` takes 8 MB and 140 ms, ``parsedatetime`` has had no release since 2020
and reads "the day after tomorrow" as tomorrow, and neither knows a weekend.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import date, timedelta
from importlib.resources import files


def read_words(file: str) -> dict[str, frozenset[str]]:
    """Return the words of a file by what they are: paragraphs that begin with a name and a colon."""
    text = re.sub("(?m:^#.*\n?)", "", files("leadhand.flows.offline").joinpath(file).read_text("utf-8")).strip()
    parts = (part.partition(":") for part in re.split(r"\n{2,}", text))
    return {name: frozenset(words.split()) for name, _, words in parts}


def slug(name: str, limit: int = 60) -> str:
    """A name as part of an identifier: lower case, without accents, with other letters kept; cut at ``limit``."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return "_".join("".join(c if c.isalnum() else " " for c in plain.casefold()).split())[:limit].strip("_")


def stem_of(low: str) -> str:
    """Return a word without its plural ending, to find ``hotel_tool`` by "hotels"."""
    return low.removesuffix("s") if len(low) > 3 else low


WORDS = read_words("words.txt")
FUNCTION = WORDS["function"]
SAID = FUNCTION.union(*(WORDS[name] for name in ("topic", "weather", "weather-too", "route", "movement")))
"""The words of a clause that say nothing more than its weather or its route."""
_KINDS = {"drive": "mode", "walk": "mode", "bicycle": "mode", "imperial": "units", "metric": "units"}
MEANS = {word: (kind, value) for value, kind in _KINDS.items() for word in WORDS[value]}
LINKS = {word: link for link in ("in", "from", "between", "to", "via") for word in WORDS[link]}
REGIONS = read_words("regions.txt")
"""Names and codes of countries and states that qualify a place."""
PLACES = read_words("cities.txt")
"""Well-known places, which are found in lower case, too; ``word-too`` are names that are also words."""
NO_NAME = SAID.union(WORDS["other-transport"], WORDS["no-place"], WORDS["separator"], WORDS["negation"], MEANS, LINKS)
"""Words that cannot begin the name of a place."""


def content_of(text: str) -> set[str]:
    """Return the words of a text that say what it is about, in any language."""
    return {word for word in map(str.casefold, re.findall(r"[^\W_]{3,}", text)) if word not in FUNCTION}


# --- days ------------------------------------------------------------------------------------------------------------

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
