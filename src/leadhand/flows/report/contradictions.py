"""Where a sentence has the words of its passage and says something else: other names, figures swapped, the opposite."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property

from leadhand.domain.figures import MONTHS, WEEKDAYS

from .measures import Measure, alike, fractions, measures
from .sentences import sentences_of
from .vocabulary import COUNTRIES, EMPTY, FUNCTION_WORDS, NEGATIONS, OPPOSITES, ORDINARY

_WORD = re.compile(r"[^\W\d_]{3,}")
_TOKEN = re.compile(r"[^\W\d_]{3,}|(?<![\w.,])(?:1[5-9]|20)\d\d(?![\w]|[.,]\d)")
_SEPARATOR = re.compile(
    r"[;:()–—|]|,(?!\d)|\b(?:and|while|whereas|but|to|against|versus|vs|than|compared|und|während|aber|auf|gegenüber|als|"
    r"et|tandis|mais|contre|à|y|mientras|pero|frente|a)\b",
    re.IGNORECASE,
)
_FAR = 14
"""Words from a figure, a separator counting six, up to which a word says what the figure is about."""
_CAPITAL = r"[A-ZÀ-ÖØ-ÞĀ-Ž][^\W\d_]*(?:[’'-][A-ZÀ-ÖØ-ÞĀ-Ž]?[^\W\d_]+)*"
_NAME = re.compile(
    rf"(?<=[\w,;)’'] ){_CAPITAL}(?: (?:(?:van|von|de|del|der|den|di|da|la|le|du|of|the|for) ){{0,2}}{_CAPITAL})*"
)
_CLAUSE = re.compile(r"[,;:()–—](?!\d)")
_SAME = 0.6
"""The share of a sentence's words in a sentence of a passage from which on they speak of the same thing."""
_COPIED = 0.75


class Words:
    """A text and its words: of a sentence, or of a passage with what is known ``about`` its source."""

    def __init__(self, text: str, language: str = "", about: str = "") -> None:
        self.text = text
        self.about_source = about
        self._language = language

    @cached_property
    def language(self) -> str:
        """The language of the text, or of the draft that it is from; "" if that is not certain."""
        words = re.findall(r"[^\W\d_]+", self.text.casefold())
        counts = sorted(
            ((sum(word in known for word in words), name) for name, known in FUNCTION_WORDS.items()), reverse=True
        )
        return counts[0][1] if counts[0][0] >= 3 and counts[0][0] > counts[1][0] else self._language

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
        return [*self.measures, *fractions(self.text), *measures(self.about_source)]

    @cached_property
    def parts(self) -> list[Words]:
        """The sentences of a passage."""
        return [Words(each.text, self.language) for each in sentences_of(self.text)]

    @cached_property
    def contexts(self) -> list[frozenset[str]]:
        """The words and years that belong to each of ``measures``."""
        return _contexts(self.text, self.measures)

    @cached_property
    def countries(self) -> frozenset[int]:
        words = re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)?", f"{self.text} {self.about_source}".casefold())
        return frozenset(n for n, prefixes in enumerate(COUNTRIES) for word in words if word.startswith(prefixes))

    def about(self, other: Words) -> bool:
        """Whether two sentences share enough words to speak of the same things."""
        return len(self.stems & other.stems) >= min(2, len(self.stems))


def changed_names(said: Words, passages: Sequence[Words], given: str) -> list[str]:
    """Return the names inside a sentence that its passages do not have.

    Where the languages differ, a name may be translated: then only one that shares a part with a name of a passage,
    and differs in another part, is certain. In German, all nouns have a capital letter: there, a name has two words.
    """
    known = " ".join([*(each.known for each in passages), _fold(given)])
    same = all(each.language == said.language for each in passages)
    found: list[str] = []
    for match in _NAME.finditer(said.text):
        parts = [part for part in re.findall(_CAPITAL, match[0]) if len(part) > 1 and not _ordinary(part)]
        unknown = [part for part in parts if not _known(part, known)]
        if not unknown:
            continue
        if len(unknown) < len(parts):
            held = [part for part in parts if part not in unknown]
            found += [match[0]] if any(_renamed(part, unknown, said, passages) for part in held) else []
        elif same and (len(parts) > 1 or said.language != "de"):
            found.append(match[0])
    if passages and not found:
        elsewhere = frozenset[int]().union(*(each.countries for each in passages)) | Words(given).countries
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
    return word in MONTHS or word in WEEKDAYS or word in ORDINARY or word in EMPTY


def _known(part: str, known: str) -> bool:
    """Whether a word of a name, or the beginning of one, is known; of an acronym, the words that it stands for."""
    folded = _fold(part)
    if folded in known or (len(folded) > 4 and re.search(rf"\b{re.escape(folded[: max(4, len(folded) - 3)])}", known)):
        return True
    if part.isupper() and len(part) <= 6:
        letters = r"[a-z]*\W+(?:(?:of|for|the|and|de|la|des|du|der|und|del|y|et)\W+)*".join(map(re.escape, folded))
        return re.search(rf"\b{letters}", known) is not None
    initials = "".join(word[0] for word in re.findall(r"[a-z]+", folded))
    return len(initials) > 1 and initials in known


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
    for figure, context in zip(said.measures, said.contexts, strict=True):
        if figure.year or not context:
            continue
        verdicts = [verdict for passage in passages for verdict in _suspects(figure, context, passage)]
        if verdicts and all(verdicts):
            yield f"{figure.text} does not belong to “{verdicts[0]}”"


def _suspects(figure: Measure, context: frozenset[str], passage: Words) -> Iterator[str]:
    """For each place where a passage has a figure: a word that belongs to another figure there, or ""."""
    pairs = list(zip(passage.measures, passage.contexts, strict=True))
    for measure, own in pairs:
        if measure.year or not alike(figure, measure):
            continue
        wrong = ""
        for other, others in pairs:
            if other.kind != measure.kind or other.year or alike(figure, other) or context & (own - others):
                continue
            foreign = {
                word for word in context & (others - own) if any(_sort(word) == _sort(mine) for mine in own - others)
            }
            wrong = wrong or (min(foreign) if foreign else "")
        yield "" if context & own and not wrong else wrong


def _sort(token: str) -> str:
    return "year" if token[0].isdigit() else "name" if token[0].isupper() else "word"


def opposed(said: Words, passages: Sequence[Words]) -> Iterator[str]:
    """Say where a sentence with the words of a passage has the opposite of one, or a negation more or less."""
    near = [part for passage in passages for part in passage.parts if part.language == said.language]
    if len(said.stems) < 3 or not near:
        return
    best = max(near, key=lambda part: len(part.stems & said.stems))
    share = len(best.stems & said.stems) / len(said.stems)
    if share < _SAME:
        return
    for one, other in OPPOSITES:
        for here, there in ((one, other), (other, one)):
            mine, theirs = _plainly(here, said.text), _plainly(there, best.text)
            if mine and theirs and not _plainly(there, said.text) and not _plainly(here, best.text):
                yield f"“{mine}” is the opposite of “{theirs}”"
                return
    negation = NEGATIONS.get(said.language)
    if share >= _COPIED and negation is not None:
        clauses = [clause for clause in _CLAUSE.split(best.text) if len(frozenset(_stems(clause)) & said.stems) >= 2]
        if bool(negation.search(said.text)) != any(negation.search(clause) for clause in clauses):
            yield "a negation was added or left out"


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
    places = [(index, each) for index, each in enumerate(measured) if not each.year]
    if not places:
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
            if any(low < stop <= high for stop in stops):
                continue
            between = sum(low < each_at < high for each_at in words) + 6 * sum(low < sep < high for sep in separators)
            costs.append((between, index))
        if costs and min(costs)[0] <= _FAR:
            found[min(costs)[1]].add(_token(word))
    return [frozenset(each) for each in found]


def _token(word: str) -> str:
    """A year as it is, a name with a capital letter, and any other word as its stem."""
    return word if word[0].isdigit() else _stem(word)


def _stems(text: str) -> Iterator[str]:
    return (_stem(word) for word in _WORD.findall(text) if word.casefold() not in EMPTY)


def _stem(word: str) -> str:
    return _fold(word)[:6]


def _fold(text: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFD", text.casefold()) if not unicodedata.combining(each))
