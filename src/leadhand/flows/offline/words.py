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
SAID = FUNCTION.union(*(WORDS[name] for name in ("topic", "weather", "route", "movement")))
"""The words of a clause that say nothing more than its weather or its route."""
MEANS = {word: value for value in ("drive", "walk", "bicycle") for word in WORDS[value]}
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

LONGEST_PHRASE = 5  # words: "on the 3rd of December"; a punctuation mark counts as one
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = f"(?:{'|'.join(_MONTHS)})[a-z]*"
_TH = "(?:st|nd|rd|th)?"
_PHRASE = re.compile(
    r"(?:(?:on|for|at|over|the|this) ){0,2}(?:"
    r"(?P<named>now|today|tonight|tomorrow|weekend|(?:mon|tues|wednes|thurs|fri|satur|sun)day|\d{4}-\d\d-\d\d)"
    rf"|(?P<after>day after tomorrow)|(?P<day>\d\d?){_TH} (?:of )?(?P<month>{_MONTH})"
    rf"|(?P<month_first>{_MONTH}) (?P<day_last>\d\d?){_TH}"
    r"|in (?P<ahead>\d\d?) days?)(?= (?!(?:to|until|through) )|$)",
    re.ASCII,
)


def day_phrase(said: Sequence[str], today: date) -> tuple[str, int] | None:
    """Return the day that ``said`` (words, "" for a mark) begins with, as the weather tool accepts it (``now``,
    ``tomorrow``, ``weekend``, a weekday, an ISO date), and the number of its words; otherwise None."""
    found = _PHRASE.match(" ".join(word.lower() or "," for word in said[:LONGEST_PHRASE]))
    if found is None:
        return None
    length, ahead = found[0].count(" ") + 1, found["ahead"]
    if found["named"]:
        return found["named"].replace("tonight", "today"), length
    if found["after"] or ahead:
        return (today + timedelta(days=int(ahead or 2))).isoformat(), length
    try:
        month = _MONTHS.index((found["month"] or found["month_first"])[:3]) + 1
        dated = date(today.year, month, int(found["day"] or found["day_last"]))
        return (dated if dated >= today else dated.replace(year=today.year + 1)).isoformat(), length
    except ValueError:  # not a date of the calendar
        return None
