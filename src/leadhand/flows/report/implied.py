"""What a passage holds besides its figures: shares in words, years before and after, the time between two dates."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from itertools import combinations

from leadhand.domain.figures import FOREIGN_WORDS, stated

from .measures import Measure, fraction, fractions, measures, months_in
from .numerals import NUMBERS
from .vocabulary import UNITS

_MILLION = re.compile(r"\b(?:eine?|une?|un) mill(?:ion|ón)\b", re.IGNORECASE)
_OUT_OF = re.compile(
    r"\b(\d{1,4}|[^\W\d_]{2,8}) (?:in|out of|of|of the|von|sur|de cada) (\d{1,4}|[^\W\d_]{2,8})\b", re.IGNORECASE
)
_LESS = re.compile(
    r"\b(\d{1,2}(?:[.,]\d+)?)\s?(?:%|percent|prozent)\s+(?:less|fewer|lower|weniger|moins|menos)\b", re.IGNORECASE
)
"""What is 55 % less is 45 % of what it was."""
_ONE_UNIT = re.compile(
    r"\b(?:an?|one|eine?[mnrs]?|une?|una?)\s+(hour|day|week|month|year|stunde|tag|"
    r"woche|monat|jahr|heure|jour|semaine|mois|"
    r"année|hora|día|mes|año)\b",
    re.IGNORECASE,
)
"""A passage that says "for a year" holds 12 months."""
_NEXT_YEARS = (
    (
        re.compile(
            r"\b(?:(?:previous|last|prior|preceding) year|(?:a )?year (?:before|earlier)|"
            r"vorjahr\w*|(?:vorigen|letzten) jahr\w*|"
            r"jahr (?:zuvor|davor)|année (?:précédente|dernière|passée)|an (?:dernier|passé|"
            r"plus tôt)|año (?:anterior|pasado)|"
            r"un año antes)\b",
            re.IGNORECASE,
        ),
        -1,
    ),
    (
        re.compile(
            r"\b(?:(?:next|following|coming) year|year (?:after|later)|folgejahr\w*|"
            r"nächste[sn] jahr\w*|jahr (?:darauf|später)|"
            r"année (?:suivante|prochaine)|an (?:prochain|plus tard)|año (?:siguiente|que viene)|próximo año)\b",
            re.IGNORECASE,
        ),
        1,
    ),
)
"""Words for the year before or after one that a passage names."""
_LATER = re.compile(
    r"\b(?:years|jahre|ans|años) (?:after|before|later|earlier|nach|vor|später|früher|"
    r"zuvor|danach|après|avant|plus t|después|"
    r"antes|más tarde)",
    re.IGNORECASE,
)
_YEAR_SIZE = 31557600.0
_MOST_MOMENTS = 10
"""Years or times of a passage up to which a sentence may state how far two of them are apart."""


def implied(text: str, language: str = "") -> list[Measure]:
    """Return what a passage holds besides its figures: one in five, a year, the time between two times or years."""
    found = [*fractions(text)]
    for match in _OUT_OF.finditer(text):
        part, whole = (int(each) if each.isdecimal() else NUMBERS.get(each.casefold(), 0) for each in match.groups())
        if 0 < part < whole <= 1000:
            found.append(fraction(match, 100 * part / whole))
    for match in _LESS.finditer(text):
        left = 100 - float(match[1].replace(",", "."))
        found.append(Measure(match[0], ((left, 1.0),), "share", 1.0, match.start(), fraction=True))
    for match in _ONE_UNIT.finditer(text):
        kind, size = UNITS[match[1].casefold()]
        found.append(Measure(match[0], ((1.0, 1.0),), kind, size, match.start(), fraction=True))
    found += [Measure(match[0], ((1e6, 1.0),), "", 1.0, match.start()) for match in _MILLION.finditer(text)]
    words = set(re.findall(r"[^\W\d_]+", text.casefold() if language != "en" else ""))
    found += [Measure(word, ((float(FOREIGN_WORDS[word]), 1.0),), "", 1.0, 0) for word in words & FOREIGN_WORDS.keys()]
    said = stated(text, labels=True)
    times = sorted({minutes for _, minutes in said.times})
    dated = {day.year for day in said.days if day.year}
    years = sorted(dated.union(int(each.text) for each in measures(text) if each.year))
    near = [step for pattern, step in _NEXT_YEARS if pattern.search(text)]
    dated.update(year + step for year in years for step in near)
    if _LATER.search(text):
        spans = (each for each in measures(text, language) if each.kind == "time" and each.size == _YEAR_SIZE)
        dated.update(year + sign * int(each.readings[0][0]) for each in spans for year in years for sign in (-1, 1))
    found += [Measure(str(year), ((float(year), 1.0),), "", 1.0, 0) for year in dated]
    months = sorted(set(months_in(text).values()))
    days = sorted(
        {date(day.year or 2001, *each).toordinal() for day in said.days for each in day.days if _is_day(*each)}
    )
    for moments, size in ((times, 60.0), (months, 2629800.0), (years, _YEAR_SIZE), (days, 86400.0)):
        for one, other in combinations(moments, 2) if len(moments) <= _MOST_MOMENTS else ():
            found.append(Measure("", ((float(other - one), 1.0),), "time", size, 0, fraction=True))
    return found


def _is_day(month: int, day: int) -> bool:
    return 0 < day <= monthrange(2001, month)[1]
