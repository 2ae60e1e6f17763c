"""Find places, days, units and means of transport anywhere in a request, clause by clause."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from .days import LONGEST_PHRASE, When, day_phrase
from .words import FUNCTION, LINKS, MEANS, NO_NAME, PLACES, REGIONS, SAID, WORDS, slug, stem_of

# The numbers of a list ("1. …") end a sentence. A dot joins ("U.K", "5.30", "St. Louis") unless a sentence begins there.
_TOKEN = re.compile(
    r"(?m:^[ \t]*\d\d?[.)](?=\s))|\"[^\"\n]+\"|“[^”\n]+”|`[^`\n]+`|(?<=\s)-(?=\s)|[,;:?!.()\[\]/\n&—–]"
    r"|(?:\b(?:St|Mt|Ft)\. )?[^\W_]+(?:(?:['’_&-]|\.(?![A-Z][a-z]))[^\W_]+)*|°[CF]\b"
)
_LONGEST_NAME, _MOST_CHARACTERS = 8, 150


class Mark(NamedTuple):
    """Words with one meaning, the tokens from ``start`` to before ``stop``: a ``place``, ``day``, ``mode`` or ``units``.

    ``link`` is what the word before a place says: ``in``, ``from``, ``between``, ``to``, ``via`` or ``then``.
    """

    kind: str
    start: int
    stop: int
    value: str = ""
    link: str = ""
    when: When = When("")


@dataclass
class Clause:
    """The tokens from ``start`` to before ``stop``, between two separators; ``rest`` are those that are in no mark."""

    start: int
    sentence: int
    stop: int = 0
    marks: list[Mark] = field(default_factory=list[Mark])
    rest: list[int] = field(default_factory=list[int])
    lows: set[str] = field(default_factory=set[str])

    def span(self) -> range:
        """The tokens of the clause."""
        return range(self.start, self.stop)

    def of(self, *kinds: str) -> list[Mark]:
        """The marks of some kinds, in order."""
        return [mark for mark in self.marks if mark.kind in kinds]


class Text:
    """A request as words, quotations and marks. No place begins with one of the ``topics``, the stems of tools' names."""

    def __init__(self, source: str, today: date | None, topics: frozenset[str]) -> None:
        self._source, self._today, self._topics = source, today, topics
        self._tokens = list(_TOKEN.finditer(source))
        self.words = [re.sub('[\'’]s$|^["“`]|["”`]$', "", token[0]) or "." for token in self._tokens]
        self.quoted = {at for at, token in enumerate(self._tokens) if token[0][0] in '"“`'}

    def low(self, at: int) -> str:
        """Return the word at a place in lower case; "" for a quotation, a mark, and beyond the end."""
        is_word = 0 <= at < len(self.words) and self.words[at][-1].isalnum() and at not in self.quoted
        return self.words[at].casefold().replace("’", "'") if is_word else ""

    def said(self, start: int, stop: int) -> str:
        """Return the source text of the tokens from ``start`` to before ``stop``, with both of its brackets."""
        said = self._source[self._tokens[start].start() : self._tokens[stop - 1].end()]
        open_ = said.count("(") - said.count(")")
        return "(" * -open_ + said + ")" * open_

    def _is_name(self, at: int) -> bool:
        """Whether a token can begin a name: quoted, or capitalised and no known word."""
        low = self.low(at)
        return at in self.quoted or bool(
            low and not self.words[at][0].islower() and not low[0].isdigit() and low not in NO_NAME
        )

    def clauses(self) -> Iterator[Clause]:
        """Yield the clauses with words, in order. A negation and a condition begin a clause of their own."""
        at, sentence, listing = 0, 0, False
        clause: Clause | None = None
        while at < len(self._tokens):
            low, word = self.low(at), self.words[at]
            mark = self._mark_at(at, listing=listing) if low or at in self.quoted else None
            asks_if = low == "if" and self.low(at - 1) in WORDS["asks-if"]
            opens = mark is None and not asks_if and low in WORDS["negation"] | {"if"}
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
            return Mark("day", at, at + found[1], when=found[0])
        name = at + (self.low(at) in ("by", "on", "with", "in", "via", "using"))
        name += self.low(name) in ("a", "my", "degrees")
        if means := MEANS.get(self.low(name)):
            return Mark(means[0], at, name + 1, means[1])
        link = LINKS.get(self.low(at), "")
        start = at + bool(link)
        start += self.low(start) == "the"
        stop = self._known_end(start, linked=bool(link) or listing) or self._name_end(
            start, linked=bool(link) or listing
        )
        if not stop or (link and self._day_at(start)):
            return None
        name, stop = self._with_regions(start, stop)
        return Mark("place", at, stop, name, "then" if self.low(at - 1) == "then" else link)

    def _day_at(self, at: int) -> tuple[When, int] | None:
        window = range(at, min(at + LONGEST_PHRASE, len(self.words)))
        return day_phrase([self.words[n] if self.low(n) else "" for n in window], self._today)

    def _known_end(self, at: int, *, linked: bool) -> int:
        """Return the end of the well-known name that begins at a token, with nouns after it, or 0."""
        for count in range(4, 0, -1):
            name = slug("_".join(self.low(at + n) or "0" for n in range(count)))
            sure = linked or self._is_name(at)
            if name in PLACES["city"] or (sure and (name in _AREAS or any(name in names for names in PLACES.values()))):
                end = at + count
                while self.low(end) in WORDS["place-noun"]:
                    end += 1
                return max(end, self._name_end(at, linked=True))
        return 0

    def _name_end(self, at: int, *, linked: bool) -> int:
        """Return the end of the quotation or the capitalised name that begins at a token, or 0."""
        if not self._is_name(at) or stem_of(self.low(at)) in self._topics:
            return 0
        begins = at == 0 or self.words[at - 1] in ";?!.\n"  # "Introduce Anna to Bob": that may be a verb
        if begins and not linked and self.low(at + 1) not in SAID - FUNCTION | {"", "to"}:
            return 0
        end = at + 1
        while end < min(at + _LONGEST_NAME, len(self.words)) and at not in self.quoted:
            joins = self.low(end) in WORDS["particle"] and (self._is_name(end + 1) or self._is_name(end + 2))
            if self._day_at(end) or not (joins or self._is_name(end) or self.low(end) in WORDS["place-noun"]):
                break
            end += 1
        return end

    def _with_regions(self, start: int, stop: int) -> tuple[str, int]:
        """Return a place with the regions that qualify it (", Texas, USA", "(TX)", "texas"), and its end."""
        parts = [self.words[start] if start in self.quoted else _tidy(self.said(start, stop))]
        while stop < len(self.words) and slug(parts[-1]) not in REGIONS["country"]:
            mark = self.words[stop] if self.words[stop] in (",", "(") else ""
            at = stop + bool(mark)
            for end in range(at + 4, at, -1):
                region = "_".join(self.low(n) or "0" for n in range(at, end))
                code = region.upper() in _CODES and self.words[at].isupper()
                sight = (
                    region in PLACES["city"] and mark == "," and slug(parts[0]) in PLACES["sight"]
                )  # "Louvre, Paris"
                if code or sight or (region in _AREAS and region not in REGIONS["city-too"]):
                    parts.append(self.words[at] if code else _tidy(self.said(at, end)))
                    stop = end + (mark == "(" and self.words[end : end + 1] == [")"])
                    break
            else:
                break
        return ", ".join(parts)[:_MOST_CHARACTERS], stop


_AREAS = REGIONS["country"] | REGIONS["state"]
_CODES = REGIONS["state-code"] | REGIONS["country-code"]


def _tidy(said: str) -> str:
    """Return a name with one space between words, in capitals, without a possessive."""
    words = said.removesuffix("'s").removesuffix("’s").split()
    name = " ".join(word if word in WORDS["particle"] or not said.islower() else word.capitalize() for word in words)
    return name[:1].upper() + name[1:]
