"""Where a sentence has the words of its passage and says something else: other names, figures swapped, the opposite."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property

from leadhand.domain.figures import MONTHS, WEEKDAYS

from .measures import Measure, alike, fractions, implied, measures
from .sentences import sentences_of
from .vocabulary import COUNTRIES, EMPTY, FUNCTION_WORDS, NEGATIONS, OPPOSITES, ORDINARY, UNITS

_WORD = re.compile(r"[^\W\d_]{3,}")
_TOKEN = re.compile(r"[^\W\d_]{3,}|(?<![\w.,])(?:1[5-9]|20)\d\d(?![\w]|[.,]\d)")
_SEPARATOR = re.compile(
    r"[;:()–—|]|,(?!\d)|\b(?:and|while|whereas|but|to|against|versus|vs|than|compared|und|während|aber|auf|gegenüber|als|"
    r"before|vor|davon|dont|avant|et|tandis|mais|contre|à|y|mientras|pero|frente|a)\b",
    re.IGNORECASE,
)
_MOST_FIGURES = 60
"""Figures of a text, at most, of which it is asked what each is about."""
_FAR = 24
"""Words from a figure, a separator counting ten, up to which a word says what the figure is about."""
_CAPITAL = r"[A-ZÀ-ÖØ-ÞĀ-Ž][^\W\d_]*(?:[’'-][A-ZÀ-ÖØ-ÞĀ-Ž]?[^\W\d_]+)*"
_NAME = re.compile(
    rf"(?<=[\w,;)’'] ){_CAPITAL}(?: (?:(?:van|von|de|del|der|den|di|da|la|le|du|of|the|for) ){{0,2}}{_CAPITAL})*"
)
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
_CLAUSE = re.compile(r"[,;:()–—](?!\d)|\b(?:and|but|und|aber|mais|pero)\b")
_SAME = 0.5
"""The share of a sentence's words in a sentence of a passage from which on they speak of the same thing."""
_COPIED = 0.85


class Words:
    """A text and its words: of a sentence, or of a passage with what is known ``about`` its source."""

    def __init__(self, text: str, language: str = "", about: str = "") -> None:
        self.text = text
        self.about_source = about
        self._language = language

    @cached_property
    def language(self) -> str:
        """The language of the text, or of the draft that it is from; "" if that is not certain."""
        folded = self.text.casefold()
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
        return frozenset(_stems(self.text))

    @cached_property
    def known(self) -> str:
        """Everything in small letters, without accents."""
        return _fold(f"{self.text} {self.about_source}")

    @cached_property
    def measures(self) -> list[Measure]:
        return measures(self.text)

    @cached_property
    def all_measures(self) -> list[Measure]:
        return [*self.measures, *implied(self.text), *measures(self.about_source)]

    @cached_property
    def parts(self) -> list[Words]:
        """The sentences of a passage."""
        return [_Part(each.text, self.language) for each in sentences_of(self.text)]

    @cached_property
    def contexts(self) -> list[frozenset[str]]:
        """The words and years that belong to each of ``measures``."""
        return _contexts(self.text, self.measures)

    @cached_property
    def countries(self) -> frozenset[int]:
        words = re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)?", f"{self.text} {self.about_source}".casefold())
        return frozenset(n for n, prefixes in enumerate(COUNTRIES) for word in words if word.startswith(prefixes))

    @cached_property
    def tokens(self) -> list[tuple[int, str]]:
        """The words and years of the text, with their places."""
        return [(match.start(), _token(match[0])) for match in _TOKEN.finditer(self.text)]

    @cached_property
    def names(self) -> frozenset[str]:
        """The words with a capital letter."""
        return frozenset(_token(match[0]) for match in _TOKEN.finditer(self.text) if match[0][0].isupper())

    @cached_property
    def attributing(self) -> frozenset[str]:
        """The words beside "says" and the like, and in German the verbs at the end of a sentence: of all figures."""
        found = {_token(word) for match in _SAID.finditer(self.text) for word in _WORD.findall(match[1])}
        if self.language == "de":
            found.update(_token(word) for word in re.findall(r"\b([^\W\d_A-ZÄÖÜ][^\W\d_]+)[.!?]", self.text))
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


def changed_names(said: Words, passages: Sequence[Words], given: str) -> list[str]:
    """Return the names inside a sentence that its passages do not have.

    Where the languages differ, a name may be translated: then only one that shares a part with a name of a passage,
    and differs in another part, is certain. In German, all nouns have a capital letter: there, a name has two words.
    """
    known = " ".join([*(each.known for each in passages), _fold(given)])
    same = all(each.language == said.language for each in passages)
    places = frozenset[int]().union(*(each.countries for each in passages))
    found: list[str] = []
    for match in _NAME.finditer(said.text):
        parts = [part for part in re.findall(_CAPITAL, match[0]) if len(part) > 1 and not _ordinary(part)]
        unknown = [part for part in parts if not _known(part, known) and not _country(part) & places]
        if not unknown or (said.language == "de" and said.text[: match.start()].rstrip()[-1:].isdigit()):
            continue  # in German, the noun after a figure has a capital letter
        if len(unknown) < len(parts):
            held = [part for part in parts if part not in unknown]
            found += [match[0]] if any(_renamed(part, unknown, said, passages) for part in held) else []
        elif same and (len(parts) > 1 or said.language != "de"):
            found.append(match[0])
    if passages and not found:
        elsewhere = places | Words(given).countries
        new = said.countries - elsewhere
        if new and elsewhere - said.countries:
            found += [
                word
                for word in re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)?", said.text)
                if any(word.casefold().startswith(COUNTRIES[country]) for country in new)
            ]
    return list(dict.fromkeys(found))


def _ordinary(word: str) -> bool:
    word = word.casefold()
    return (
        (len(word) > 3 and (word in MONTHS or word in WEEKDAYS)) or word in ORDINARY or word in EMPTY or word in UNITS
    )


def _known(part: str, known: str) -> bool:
    """Whether a word of a name, or the beginning of one, is known; of an acronym, the words that it stands for."""
    folded = _fold(part)
    if folded in known or (len(folded) > 5 and re.search(rf"\b{re.escape(folded[: max(5, len(folded) - 2)])}", known)):
        return True
    if part.isupper() and len(part) <= 6:
        letters = r"[a-z]*\W+(?:(?:of|for|the|and|de|la|des|du|der|und|del|y|et)\W+)*".join(map(re.escape, folded))
        return re.search(rf"\b{letters}", known) is not None
    initials = "".join(word[0] for word in re.findall(r"[a-z]+", folded))
    return len(initials) > 1 and initials in known


def _country(word: str) -> frozenset[int]:
    return frozenset(number for number, names in enumerate(COUNTRIES) if word.casefold().startswith(names))


def _renamed(part: str, unknown: Sequence[str], said: Words, passages: Sequence[Words]) -> bool:
    """Whether a passage has a name with ``part`` whose other words are not in the sentence: another person's."""
    if len(part) < 3:
        return False
    folded = _fold(said.text)
    for each in passages:
        for match in re.finditer(rf"(?:{_CAPITAL} )?\b{re.escape(part)}\b(?: {_CAPITAL})?", each.text):
            others = [word for word in re.findall(_CAPITAL, match[0]) if word != part and len(word) > 2]
            if others and all(_fold(word) not in folded and not _ordinary(word) for word in others):
                return all(len(word) > 2 for word in unknown)
    return False


def swapped(said: Words, passages: Sequence[Words]) -> Iterator[str]:
    """Say which figures of a sentence a passage has for something else: the words beside them are another figure's."""
    held = [measure for passage in passages for measure in passage.measures]
    if fractions(said.text) or not all(any(alike(each, other) for other in held) for each in said.measures):
        return  # it computes with the figures
    for figure, context in zip(said.measures, said.contexts, strict=True):
        if figure.year or not context:
            continue
        verdicts = [verdict for passage in passages for verdict in _suspects(figure, context, said, passage)]
        if verdicts and all(verdicts):
            yield f"{figure.text} does not belong to “{verdicts[0]}”"


def _suspects(figure: Measure, context: frozenset[str], said: Words, passage: Words) -> Iterator[str]:
    """For each place where a passage has a figure: a word that belongs to another figure there, or "".

    What a later part of a sentence is about is named there; what an earlier part names may hold for the later one, too.
    """
    own = passage.contexts
    for m, measure in enumerate(passage.measures):
        if measure.year or not alike(figure, measure):
            continue
        sentence = passage.sentence_of(measure.at)
        here = [token for at, token in passage.tokens if passage.sentence_of(at) == sentence]
        wrong = ""
        for n, other in enumerate(passage.measures):
            after = passage.sentence_of(other.at) - sentence
            if other.kind not in (measure.kind, figure.kind, "") or other.year or after not in (0, 1):
                continue
            if alike(figure, other) or passage.is_range(measure.at, other.at):
                continue
            foreign = (context & own[n]) - own[m] - passage.attributing
            foreign = {token for token in foreign if here.count(token) == (0 if after else 1)}
            if n < m or after:
                sorts = {_sort(token, passage) for token in own[m] - context} - {"word"}
                wanted = sorts if n < m else {"name", "year"}
                foreign = {token for token in foreign if _sort(token, passage) in wanted}
            beside = [words for each, words in zip(said.measures, said.contexts, strict=True) if alike(each, other)]
            if foreign and (not beside or any(words & own[m] for words in beside)):
                wrong = wrong or min(foreign)
        yield wrong


def _sort(token: str, passage: Words) -> str:
    return "year" if token[0].isdigit() else "name" if token in passage.names else "word"


def opposed(said: Words, passages: Sequence[Words]) -> Iterator[str]:
    """Say where a sentence with the words of a passage has the opposite of one, or a negation more or less."""
    near = [part for passage in passages for part in passage.parts if part.language == said.language]
    if len(said.stems) < 2 or not near:
        return
    best = max(near, key=lambda part: len(part.stems & said.stems))
    common = best.stems & said.stems
    for one, other in OPPOSITES:
        for here, there in ((one, other), (other, one)):
            mine, theirs = _plainly(here, said.text), _plainly(there, best.text)
            if not (mine and theirs):
                continue
            stems = said.stems - frozenset(_stems(mine))
            if _plainly(there, said.text) or _plainly(here, best.text):
                continue
            if len(common) >= _SAME * len(stems):
                yield f"“{mine}” is the opposite of “{theirs}”"
            return
    negation = NEGATIONS.get(said.language)
    if negation is None or len(common) < _COPIED * len(said.stems):
        return
    here = bool(negation.search(said.text))
    clauses = [each for each in _CLAUSE.split(best.text) if negation.search(each)]
    near_copy = [each for each in clauses if _is_in(frozenset(_stems(each)), said.stems)]
    if here != bool(near_copy) and (near_copy or not negation.search(best.text)):
        yield "a negation was added or left out"


def _is_in(clause: frozenset[str], said: frozenset[str]) -> bool:
    """Whether a sentence has the words of a clause, or consists of them for the most part."""
    common = len(clause & said)
    return common >= 2 and (common >= 0.8 * len(clause) or 2 * common >= len(said))


def foreign_to(said: Words, passages: Sequence[Words]) -> bool:
    """Whether a sentence has no word in common with its passages and their titles, in the same language."""
    return len(said.stems) >= 3 and all(
        each.language == said.language != "" and not any(stem in each.known for stem in said.stems) for each in passages
    )


def _plainly(pattern: re.Pattern[str], text: str) -> str:
    """What matches in a text and is not negated."""
    for found in pattern.finditer(text):
        before = text[max(0, found.start() - 12) : found.start()]
        if re.search(r"\b(?:not?|nicht|kein\w*|pas|ne)\s+(?:\w+\s)?$", before, re.IGNORECASE) is None:
            return found[0]
    return ""


def _contexts(text: str, measured: Sequence[Measure]) -> list[frozenset[str]]:
    """For each figure, the words and years nearest to it in the same sentence."""
    found: list[set[str]] = [set() for _ in measured]
    places = [
        (index, each) for index, each in enumerate(measured) if not each.year and not (each.word and _small(each))
    ]
    if not places or len(places) > _MOST_FIGURES:
        return [frozenset() for _ in measured]
    words = [match.start() for match in re.finditer(r"\w+", text)]
    separators = [match.start() for match in _SEPARATOR.finditer(text)]
    stops = [each.offset for each in sentences_of(text)]
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word.casefold() in EMPTY:
            continue
        at = token.start()
        costs: list[tuple[int, int]] = []
        for index, each in places:
            low, high = min(at, each.at), max(at, each.at)
            if bisect_right(stops, low) != bisect_right(stops, high):
                continue
            between = _between(words, low, high) + 10 * _between(separators, low, high)
            costs.append((between, index))
        if costs and min(costs)[0] <= _FAR:
            found[min(costs)[1]].add(_token(word))
    return [frozenset(each) for each in found]


def _between(places: Sequence[int], low: int, high: int) -> int:
    return max(0, bisect_left(places, high) - bisect_right(places, low))


def _small(measure: Measure) -> bool:
    return measure.readings[0][0] <= 12 and not measure.kind


def _token(word: str) -> str:
    """A year as it is, and a word as its stem."""
    return word if word[0].isdigit() else _stem(word)


def _stems(text: str) -> Iterator[str]:
    return (_stem(word) for word in _WORD.findall(text) if word.casefold() not in EMPTY)


def _stem(word: str) -> str:
    return _fold(word)[:6]


def _fold(text: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFD", text.casefold()) if not unicodedata.combining(each))
