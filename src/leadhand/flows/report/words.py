"""The words of a sentence or a passage, and what each of its figures is about."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from leadhand.domain.figures import stated

from .grammar import IRREGULAR
from .implied import implied
from .measures import Measure, fractions, is_part, measures, months_in
from .numerals import in_digits
from .sentences import sentences_of
from .vocabulary import COUNTRIES, EMPTY, FUNCTION_WORDS, SCALES, UNITS

_WORD = re.compile(r"[^\W\d_]{3,}")
_TOKEN = re.compile(r"[^\W\d_]{3,}|(?<![\w.,])(?:1[5-9]|20)\d\d(?![\w]|[.,]\d)")
_SEPARATOR = re.compile(
    r"[;:()–—|]|,(?!\d)|\b(?:and|while|whereas|but|to|against|versus|vs|than|compared|und|während|aber|auf|gegenüber|als|wie|"
    r"as|before|vor|davon|dont|avant|et|tandis|mais|contre|à|y|mientras|pero|frente|a)\b",
    re.IGNORECASE,
)
PART = re.compile(r"[;:,–—()](?!\d)|\b(?:and|but|while|whereas|und|aber|während|et|mais|tandis|y|pero|mientras)\b")
"""Between the parts of a sentence."""
_BREAK = re.compile(r"[;:()–—|]|,(?!\d)|\b(?:than|als|wie|as|versus|vs)\b", re.IGNORECASE)
_MOST_FIGURES = 60
"""Figures of a text, at most, of which it is asked what each is about."""
_COUNTED = re.compile(r"[\d.,]*\d(?:\s*[^\W\d_]{1,2})?\s+")
"""A figure right before what it counts."""
_NOUN = re.compile(r"\s+([^\W\d_]{3,})")
_SILENT = EMPTY | UNITS.keys() | SCALES
_FAR = 24
"""Words from a figure, a separator counting ten, up to which a word says what the figure is about."""
_LETTERS = {
    "en": re.compile(r"\b(?:the|of)\b"),
    "de": re.compile("[äöüß]"),
    "fr": re.compile(r"[èêçœàù]|\b[ldsnqc]['’]"),
    "es": re.compile(r"[ñ¿¡áíóú]"),
}
"""Letters and words by which the language of a short sentence is recognized."""
_SAID = re.compile(
    r"((?:\w+\W+){0,4})(?:estimat\w*|sa(?:id|ys?)|according|laut|sagt|selon|según|dit|afirma|note)\b", re.IGNORECASE
)


class Placed(NamedTuple):
    """A figure with the words that belong to it; ``row`` if it is in a table."""

    measure: Measure
    context: frozenset[str]
    row: bool


class Words:
    """A text and its words: of a sentence, or of a passage with what is known ``about`` its source."""

    def __init__(self, text: str, language: str = "", about: str = "") -> None:
        self._written = text
        self.about_source = about
        self._language = language

    @cached_property
    def text(self) -> str:
        """The text, with digits for numbers in words."""
        return in_digits(self._written, self.language)

    @cached_property
    def language(self) -> str:
        """The language of the text, or of the draft that it is from; "" if that is not certain."""
        folded = self._written.casefold()
        words = re.findall(r"[^\W\d_]+", folded)
        counts = sorted(
            (
                (sum(word in known for word in words) + len(_LETTERS[name].findall(folded)), name)
                for name, known in FUNCTION_WORDS.items()
            ),
            reverse=True,
        )
        return counts[0][1] if counts[0][0] >= 2 and counts[0][0] > counts[1][0] else self._language

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(stems(self.text))

    @cached_property
    def terms(self) -> frozenset[str]:
        """The words and the figures, as written."""
        return self.stems.union(re.findall(r"\d(?:[\d.,]*\d)?", self.text))

    @cached_property
    def known(self) -> str:
        """Everything in small letters, without accents."""
        return fold(f"{self.text} {self.about_source}")

    @cached_property
    def measures(self) -> Sequence[Measure]:
        return measures(self.text, self.language)

    @cached_property
    def all_measures(self) -> list[Measure]:
        return [*self.measures, *implied(self.text, self.language), *measures(self.about_source)]

    @cached_property
    def months(self) -> frozenset[int]:
        """The months that the text names, also in dates of figures."""
        dates = (month for day in stated(self.text).days for month, _ in day.days)
        return frozenset([*months_in(self.text).values(), *dates])

    @cached_property
    def together(self) -> list[list[Measure]]:
        """The figures of each sentence, of each row and column of a table, and those of one unit in the whole text."""
        pools: dict[tuple[object, ...], list[Measure]] = {}
        columns = {begin: (end, column) for begin, end, column, _ in _cells(self.text)}
        whole = [each for each in self.measures if not (each.text.isdecimal() and is_part(each, self.measures))]
        for each in [*whole, *fractions(self.text)]:
            if each.kind not in ("", "share"):
                pools.setdefault((each.kind,), []).append(each)
            pools.setdefault((self.sentence_of(each.at), self.text.count("\n", 0, each.at)), []).append(each)
            for begin, (end, column) in columns.items():
                if begin <= each.at < end:
                    pools.setdefault(("column", column), []).append(each)
        return list(pools.values())

    @cached_property
    def parts(self) -> list[Words]:
        """The sentences of a passage."""
        return [_Part(each.text, self.language) for each in sentences_of(self.text)]

    @cached_property
    def title(self) -> frozenset[str]:
        return frozenset(stems(self.about_source))

    @cached_property
    def figures(self) -> list[Placed]:
        """The figures other than years, each with the words and years that belong to it."""
        return _placed(self.text, [each for each in self.measures if not each.year], shared=bool(self.about_source))

    @cached_property
    def years(self) -> list[Placed]:
        """The years, each with the words that belong to it."""
        return _placed(self.text, [each for each in self.measures if each.year], shared=bool(self.about_source))

    @cached_property
    def counts(self) -> list[tuple[Measure, str]]:
        """The figures, each with the stem of the word that follows: what it counts. It is "" behind a unit."""
        found = [(each, _NOUN.match(self.text, each.at + len(each.text))) for each in self.measures]
        return [
            (each, "" if each.kind or noun is None or noun[1].casefold() in _SILENT else stem(noun[1]))
            for each, noun in found
            if each.kind or not each.alone
        ]

    @cached_property
    def countries(self) -> frozenset[int]:
        words = re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)?", f"{self.text} {self.about_source}".casefold())
        return frozenset(n for n, prefixes in enumerate(COUNTRIES) for word in words if word.startswith(prefixes))

    @cached_property
    def tokens(self) -> list[tuple[int, str]]:
        """The words and years of the text, with their places."""
        return [(match.start(), token(match[0])) for match in _TOKEN.finditer(self.text)]

    @cached_property
    def names(self) -> frozenset[str]:
        """The words with a capital letter."""
        return frozenset(token(match[0]) for match in _TOKEN.finditer(self.text) if match[0][0].isupper())

    @cached_property
    def attributing(self) -> frozenset[str]:
        """The words beside "says" and the like, and in German the verbs at the end of a sentence: of all figures."""
        found = {token(word) for match in _SAID.finditer(self.text) for word in _WORD.findall(match[1])}
        if self.language == "de":
            found.update(token(word) for word in re.findall(r"\b([^\W\d_A-ZÄÖÜ][^\W\d_]+)[.!?]", self.text))
        return frozenset(found)

    @cached_property
    def _starts(self) -> list[int]:
        return [each.offset for each in sentences_of(self.text)]

    def sentence_of(self, at: int) -> int:
        return bisect_right(self._starts, at)

    def is_range(self, one: int, other: int) -> bool:
        """Whether nothing but a unit or a small word is between two figures: 30 to 70 percent."""
        low, high = min(one, other), max(one, other)
        between = [word for at, word in self.tokens if low < at < high]
        return all(word in EMPTY or word in UNITS for word in between)

    def about(self, other: Words) -> bool:
        """Whether two sentences share enough words to speak of the same things."""
        return len(self.stems & other.stems) >= min(2, len(self.stems))


class _Part(Words):
    """A sentence of a passage: it is in the passage's language."""

    @cached_property
    def language(self) -> str:
        return self._language


def _placed(text: str, measured: Sequence[Measure], *, shared: bool) -> list[Placed]:
    """Return the figures with the words and years nearest to each, in the same sentence.

    Where ``shared``, a word between two figures belongs to both, unless it is what the first one counts.
    """
    found = [set[str]() for _ in measured]
    places = [(index, each) for index, each in enumerate(measured) if not (each.word and _small(each))]
    if len(places) > _MOST_FIGURES:
        return []
    words = [match.start() for match in re.finditer(r"\w+", text)]
    separators = [match.start() for match in _SEPARATOR.finditer(text)]
    breaks = [match.start() for match in _BREAK.finditer(text)]
    stops = [each.offset for each in sentences_of(text)]
    for match in _TOKEN.finditer(text):
        word, at = match[0], match.start()
        costs: list[tuple[int, int, bool]] = []
        for index, each in places if word.casefold() not in _SILENT else ():
            low, high = min(at, each.at), max(at, each.at)
            if low == high or bisect_right(stops, low) != bisect_right(stops, high):
                continue
            if at > each.at and not shared and _between(breaks, low, high):
                continue  # what follows behind a comma is something else's
            apart = _between(separators, low, high)
            counted = at > each.at and _COUNTED.fullmatch(text[each.at : at]) is not None
            costs.append((0 if counted else _between(words, low, high) + 10 * apart, index, not apart))
        nearest, closest, _ = min(costs, default=(_FAR + 1, 0, False))
        if nearest <= _FAR:
            both = [index for _, index, joined in costs if joined] if shared and nearest else []
            for index in {closest, *both}:
                found[index].add(token(word))
    rows = list(_cells(text))
    placed: list[Placed] = []
    for each, near in zip(measured, found, strict=True):
        row = next((cell for begin, end, _, cell in rows if begin <= each.at < end), None)
        placed.append(Placed(each, frozenset(near) if row is None else row, row is not None))
    return placed


def _cells(text: str) -> Iterator[tuple[int, int, int, frozenset[str]]]:
    """Where each cell of a table begins and ends, its column, and the words of its row and its column."""
    header: list[str] = []
    for line in re.finditer(r"^[ \t]*\|(.*)\|[ \t]*$|^.*$", text, re.MULTILINE):
        if line[1] is None:
            header = []
            continue
        cells = line[1].split("|")
        named = [each for each in cells if not re.search(r"\d", each)]
        begin = line.start(1)
        for number, cell in enumerate(cells):
            above = header[number] if number < len(header) else ""
            if header:
                words = _TOKEN.findall(" ".join([*named, above]))
                yield begin, begin + len(cell), number, frozenset(token(each) for each in words)
            begin += len(cell) + 1
        header = header or cells


def _between(places: Sequence[int], low: int, high: int) -> int:
    return max(0, bisect_left(places, high) - bisect_right(places, low))


def _small(measure: Measure) -> bool:
    return measure.readings[0][0] <= 12 and not measure.kind


def token(word: str) -> str:
    """A year as it is, and a word as its stem."""
    return word if word[0].isdigit() else stem(word)


def stems(text: str) -> Iterator[str]:
    return (stem(word) for word in _WORD.findall(text) if word.casefold() not in EMPTY)


@lru_cache(maxsize=8_192)
def stem(word: str) -> str:
    folded = fold(word)
    return IRREGULAR.get(folded, folded)[:6]


def fold(text: str) -> str:
    folded = text.casefold()
    if folded.isascii():
        return folded
    return "".join(each for each in unicodedata.normalize("NFD", folded) if not unicodedata.combining(each))
