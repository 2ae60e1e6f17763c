"""Find places, days and means of transport anywhere in a request, clause by clause, by the words for them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from importlib.resources import files
from typing import NamedTuple


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


# The numbers of a list ("1. …") end a sentence. A dot joins ("U.K", "5.30", "St. Louis") unless a sentence begins.
_TOKEN = re.compile(
    r"(?m:^[ \t]*\d\d?[.)](?=\s))|\"[^\"\n]+\"|“[^”\n]+”|`[^`\n]+`|(?<=\s)-(?=\s)|[,;:?!.()\[\]/\n&—–]"
    r"|(?:\b(?:St|Mt|Ft)\. )?[^\W_]+(?:(?:['’_&-]|\.(?![A-Z][a-z]))[^\W_]+)*"
)


class Mark(NamedTuple):
    """Words with one meaning: a ``place``, a ``day`` or a ``mode``; the tokens from ``start`` to ``stop``.

    ``link`` is what the word before a place says: ``in``, ``from``, ``between``, ``to``, ``via`` or ``then``.
    """

    kind: str
    start: int
    stop: int
    value: str = ""
    link: str = ""


@dataclass
class Clause:
    """The tokens from ``start`` to before ``stop``, between two separators; ``rest`` are those that are in no mark."""

    start: int
    sentence: int
    stop: int = 0
    marks: list[Mark] = field(default_factory=list[Mark])
    rest: list[int] = field(default_factory=list[int])
    lows: set[str] = field(default_factory=set[str])

    def of(self, *kinds: str) -> list[Mark]:
        """The marks of some kinds, in order."""
        return [mark for mark in self.marks if mark.kind in kinds]


class Text:
    """A request as words, quotations and marks. A word of a tool's name (``topics``) begins no place."""

    def __init__(self, source: str, today: object, topics: frozenset[str]) -> None:
        self._source, self._topics, self._today = source, topics, date.min
        with suppress(ValueError):
            self._today = date.fromisoformat(str(today)[:10])
        self._tokens = list(_TOKEN.finditer(source))
        self.words = [re.sub('[\'’]s$|^["“`]|["”`]$', "", token[0]) or "." for token in self._tokens]
        self.quoted = {at for at, token in enumerate(self._tokens) if token[0][0] in '"“`'}

    def low(self, at: int) -> str:
        """Return the word at a place in lower case; "" for a quotation, a mark, and beyond the end."""
        word = self.words[at] if 0 <= at < len(self.words) and at not in self.quoted else "."
        return word.casefold().replace("’", "'") if word[-1].isalnum() else ""

    def forms(self, at: int) -> set[str]:
        """Return the word at a place in lower case, and its stem."""
        return {low := self.low(at), stem_of(low)}

    def said(self, start: int, stop: int) -> str:
        """Return the source text of the tokens from ``start`` to before ``stop``."""
        return self._source[self._tokens[start].start() : self._tokens[stop - 1].end()]

    def clauses(self) -> Iterator[Clause]:
        """Yield the clauses with words, in order. A negation and a condition begin a clause of their own."""
        at, sentence, listing = 0, 0, False
        clause: Clause | None = None
        while at < len(self._tokens):
            low, word = self.low(at), self.words[at]
            mark = self._mark_at(at, listing=listing) if low or at in self.quoted else None
            opens = mark is None and low in WORDS["negation"] | {"if"}
            parts = mark is None and at not in self.quoted and (not low or low in WORDS["separator"])
            if (opens or parts) and clause is not None:
                yield clause
                clause = None
            if parts:
                sentence += word[-1] in "?!." or len(word) > 1 > len(low)
            else:
                clause = clause or Clause(at, sentence)
                clause.stop = mark.stop if mark else at + 1
                clause.marks += [mark] if mark else []
                clause.rest += [] if mark else [at]
                clause.lows |= set() if mark else {low}
            listing = listing if parts else mark is not None and (mark.kind == "place" or listing)
            at = mark.stop if mark else at + 1
        if clause is not None:
            yield clause

    def _mark_at(self, at: int, *, listing: bool) -> Mark | None:
        """Return the mark that begins at a token. ``listing``: there are only separators since the last place."""
        if found := self._day_at(at):
            return Mark("day", at, at + found[1], found[0])
        name = at + (self.low(at) in ("by", "on", "with", "in", "via", "using"))
        if means := MEANS.get(self.low(name)):
            return Mark("mode", at, name + 1, means)
        link = LINKS.get(self.low(at), "")
        start = at + bool(link)
        start += self.low(start) == "the"
        stop = self._place_end(start, linked=bool(link) or listing)
        if stop == start:
            return None
        value = self._name(start, stop)
        while end := self._region_end(stop, sight=slug(value) in PLACES["sight"]):
            value, stop = f"{value}, {self._name(stop, end)}", end
        return Mark("place", at, stop, value, "then" if self.low(at - 1) == "then" else link)

    def _day_at(self, at: int) -> tuple[str, int] | None:
        window = range(at, min(at + LONGEST_PHRASE, len(self.words)))
        return day_phrase([self.words[n] if self.low(n) else "" for n in window], self._today)

    def _name(self, start: int, stop: int) -> str:
        """Return the name of a place or a region from its words, in capitals."""
        name = " ".join(self.words[start:stop]).strip(",( ")
        return name.title() if name.islower() else name

    def _is_name(self, at: int) -> bool:
        """Whether a token can begin a name: quoted, or capitalised and no known word."""
        low = self.low(at)
        return at in self.quoted or (low[:1].isalpha() and not self.words[at][0].islower() and low not in NO_NAME)

    def _place_end(self, at: int, *, linked: bool) -> int:
        """Return the end of the place that begins at a token, ``at`` if none does. In lower case, it is well known."""
        capital = self._is_name(at) and stem_of(self.low(at)) not in self._topics
        begins = at == 0 or self.words[at - 1] in ";?!.\n"  # "Introduce Anna to Bob": that may be a verb
        odd = begins and not linked and self.low(at + 1) not in SAID - FUNCTION | {"", "to"}
        end = at + (capital and not odd)
        for count in range(4, 0, -1):
            name = slug("_".join(self.low(at + n) or "0" for n in range(count)))
            sure = (linked or capital) and (name in _AREAS or any(name in names for names in PLACES.values()))
            end = max(end, at + count) if name in PLACES["city"] or sure else end
        while at < end and at not in self.quoted and not self._day_at(end):
            joins = self.low(end) in WORDS["particle"] and (self._is_name(end + 1) or self._is_name(end + 2))
            if not (joins or self._is_name(end) or self.low(end) in WORDS["place-noun"]):
                break
            end += 1
        return end

    def _region_end(self, at: int, *, sight: bool) -> int:
        """Return the end of a region that qualifies the place before it (", Texas", "(TX)", "texas"), or 0."""
        at += self.words[at : at + 1] in ([","], ["("])
        for end in range(at + 4, at, -1):
            region = "_".join(self.low(n) or "0" for n in range(at, end))
            code = region.upper() in _CODES and self.words[at].isupper()
            if code or (region in _AREAS - REGIONS["city-too"]) or (sight and region in PLACES["city"]):
                return end
        return 0


_AREAS = REGIONS["country"] | REGIONS["state"]
_CODES = REGIONS["state-code"] | REGIONS["country-code"]
