"""The sentences of passages that answer a question, chosen by the words that they share with it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from leadhand.domain.passages import Passage
from leadhand.domain.relevance import is_among, stem_of, stems
from leadhand.flows.report.sentences import Kind, sentences_of

from .questions import content

MOST_SENTENCES = 6
"""Sentences that are taken for one question, at most."""
IN_A_ROW = 4
"""Sentences of one passage that are taken together, at most."""
_ENOUGH = 0.55
"""The share of a question (of the weights of its words) that the best sentence has, with its heading, at least."""
_WORTH = 0.4
"""The worth of an excerpt in relation to that of the first one, at least."""
_HEADED, _TITLED, _NEAR = 0.7, 0.5, 0.2
"""The weight of a word in the heading, in the title and in the rest of the passage, beside 1 in the sentence."""
_COVERED = 0.5
"""What a word is still worth that an earlier excerpt has."""
_ABSENT = 1.0
"""How rare a word counts that no sentence has."""
_BONUS, _TECHNICAL = 1.6, 0.9
_SAME_SUBJECT = 0.8
"""The share of a question that a sentence of another document has, if the title says nothing of the question."""
_SHORTEST, _LONGEST = 15, 400
_LINK = re.compile(r"\[([^\[\]]+)\]\([^()\s]*\)")
_REFERS_BACK = re.compile(
    r"(?:it|its|they|their|them|this|that|these|those|he|she|both|such|so|then|but|however|otherwise|therefore|also"
    r"|there|here|instead|for example|in this case|another|the same|(?:an?|the) (?:first|second|third|last|other)s?)\b",
    re.IGNORECASE,
)
_EXPECTS = (
    (
        re.compile(r"\b(?:costs?|prices?|pay|expensive|cheap|how much)\b", re.IGNORECASE),
        re.compile(r"euro|dollar|\bcents?\b|[€$£]"),
    ),
    (re.compile(r"\b(?:hot|cold|warm|temperature)\b", re.IGNORECASE), re.compile(r"°")),
    (
        re.compile(r"\b(?:how (?:many|long|far|often|big|large|fast|old)|percent)\b", re.IGNORECASE),
        re.compile(r"\d"),
    ),
    (re.compile(r"\b(?:when|what year)\b", re.IGNORECASE), re.compile(r"\b(?:19|20)\d\d\b")),
)
"""What an answer has if the question asks for it: an amount of money, a temperature, a number, a year."""
_DEFINED = re.compile(r"\b(?:what|who) (?:is|are|was|were)\b|\bdefin(?:e|ition)\b|\bmean(?:s|ing)?\b", re.IGNORECASE)
_HOW_TO = re.compile(r"\bhow (?:do|can|could|should|would) (?:i|we|you)\b|\bhow to\b|\bcommands?\b", re.IGNORECASE)
_SHELL = re.compile(r"\s*(?:```|~~~)(?:shell|bash|sh|console)\b")
_BEGINS_NONE = "-:;,.)<"
_FIELD = re.compile(r"yes|no|required|optional", re.IGNORECASE)
_CODE = re.compile(r"`[^`]*`")
_DEFINITION = re.compile(
    r"[*`]*(?:the |an? )?(?P<name>[\w' -]{1,40}?)[*`]*(?::| (?:is|are) (?:an?|the|one|any|what|where|how)\b)",
    re.IGNORECASE,
)


class Excerpt(NamedTuple):
    """Sentences of one passage, in its order, each with what it is part of."""

    passage: Passage
    sentences: tuple[tuple[str, Kind], ...]


class Chosen(NamedTuple):
    """What was chosen for a question, and the words of it that none of that has (if nothing: that no passage has)."""

    excerpts: tuple[Excerpt, ...]
    missing: tuple[str, ...]


def choose(question: str, passages: Sequence[Passage], about: str = "") -> Chosen:
    """Choose what answers a question; nothing if no sentence shares enough of its words.

    ``about`` is the whole question that this one is a part of: its words help to choose and need no answer here.
    """
    return _Choice(question, passages, about).made()


class _Line(NamedTuple):
    """A sentence, and which words of the question are in it, in the headings above it, in its passage and its title."""

    passage: Passage
    text: str
    own: frozenset[str]
    above: frozenset[str]
    near: frozenset[str]
    title: frozenset[str]
    headings: tuple[str, ...]
    kind: Kind
    refers_back: bool

    def worth(self, weights: Mapping[str, float]) -> float:
        return sum(
            weight
            * (
                max(
                    (stem in self.own),
                    _HEADED * (stem in self.above),
                    _TITLED * (stem in self.title),
                    _NEAR * (stem in self.near),
                )
                + _NEAR * (stem in self.title)
            )
            for stem, weight in weights.items()
        )

    def has(self, stem: str) -> bool:
        return stem in self.own or stem in self.above or stem in self.title

    def share(self, weights: Mapping[str, float]) -> float:
        """The share of a question that the sentence has, with its headings and its title."""
        return sum(weight for stem, weight in weights.items() if self.has(stem)) / (sum(weights.values()) or 1.0)


class _Choice:
    """The sentences of passages, and which of them were taken."""

    def __init__(self, question: str, passages: Sequence[Passage], about: str) -> None:
        self._question = question
        words = {word.casefold(): word for word in re.findall(r"\w+", question)}
        self._asked = {stem_of(word): words.get(word, word) for word in content(question)}
        context = [stem for stem in map(stem_of, content(about)) if stem not in self._asked]
        held = _Held((*self._asked, *context))
        lines = {line.text: line for each in passages for line in _lines(each, held)}
        self._lines = [line._replace(own=line.own | _met(question, line.text)) for line in lines.values()]
        self._is_how_to = _HOW_TO.search(question) is not None
        if not self._is_how_to:
            self._lines = [line for line in self._lines if line.kind is not Kind.CODE]
        self._weights = self._weighed(self._asked)
        self._context = self._weighed(context)
        self._is_narrow = len(self._asked) == 1 and any(
            line.share(self._context) and line.has(stem) for line in self._lines for stem in self._asked
        )
        self._expected = [answer for asks, answer in _EXPECTS if asks.search(question)]
        self._is_definition = _DEFINED.search(question) is not None
        mean = sum(self._weights.values()) / max(1, len(self._weights))
        self._telling = [stem for stem, weight in self._weights.items() if weight >= mean]
        self._taken: list[int] = []

    def made(self) -> Chosen:
        covered, first = set[str](), 0.0
        while self._lines and len(self._taken) < MOST_SENTENCES:
            left = {stem: weight * (_COVERED if stem in covered else 1) for stem, weight in self._weights.items()}
            free = [at for at, line in enumerate(self._lines) if at not in self._taken and self._is_about(line)]
            worth, best = max(((self._worth(self._lines[at], left), -at) for at in free), default=(0.0, 0))
            first = first or worth
            if (
                not worth
                or worth < _WORTH * first
                or (not self._taken and self._lines[-best].share(self._weights) < _ENOUGH)
            ):
                break
            span = self._span(-best)
            self._taken += span
            covered |= {stem for stem in self._weights if any(self._lines[at].has(stem) for at in span)}
        chosen = [self._lines[at] for at in self._taken] or self._lines
        missing = [word for stem, word in self._asked.items() if not any(line.has(stem) for line in chosen)]
        missing = [word for word in missing if len(word) > 3 or word.isupper()]  # "wie", "der"
        return Chosen(tuple(self._excerpts()), tuple(missing))

    def _weighed(self, asked: Iterable[str]) -> dict[str, float]:
        """The weight of each word: the rarer it is in the sentences, the more it says."""
        held = Counter(stem for line in self._lines for stem in asked if line.has(stem))
        total = len(self._lines)
        rare = {stem: math.log(1 + (total - held[stem] + 0.5) / (held[stem] + 0.5)) for stem in held}
        return {stem: 1 + 0.5 * rare.get(stem, _ABSENT) for stem in asked}

    def _worth(self, line: _Line, left: Mapping[str, float]) -> float:
        worth = line.worth(left)
        if self._context:
            worth *= 0.5 + 0.5 * line.share(self._context)
        if any(answer.search(line.text) for answer in self._expected):
            worth *= _BONUS
        if self._is_definition and self._defines(line):
            worth *= _BONUS
        if not self._is_how_to and "`" in line.text:
            worth *= _TECHNICAL
        return worth * line.share(self._weights)

    def _defines(self, line: _Line) -> bool:
        """Whether a sentence says what a word of the question is: `Run: one request …`, `A run is one request …`."""
        found = _DEFINITION.match(line.text)
        return found is not None and set(stems(found["name"])) <= self._asked.keys() and bool(stems(found["name"]))

    def _is_about(self, line: _Line) -> bool:
        """Whether a sentence is about the subject of what was taken: by its document, its title or its words."""
        titles = {self._lines[at].title for at in self._taken}
        if self._is_narrow and not line.share(self._context):
            return False
        same = not titles or line.title in titles or any(stem in line.title for stem in self._telling)
        return same or line.share(self._weights) >= _SAME_SUBJECT

    def _span(self, at: int) -> list[int]:
        """Return a sentence with those around it that are needed to understand it, or go on about the same."""
        start, stop = at, at + 1
        while self._lines[start].refers_back and start - 1 not in self._taken:
            start -= 1
        first = self._lines[start]
        headed = sum(weight for stem, weight in self._weights.items() if stem in first.above)
        is_headed = 2 * headed >= sum(self._weights.values())
        while stop < len(self._lines) and stop not in self._taken and stop - start < IN_A_ROW:
            line = self._lines[stop]
            goes_on = line.refers_back or (
                any(stem in line.own for stem in self._telling)
                if line.kind is Kind.CODE
                else is_headed or any(stem in line.own for stem in self._telling)
            )
            if not goes_on or line.passage.id != first.passage.id or line.headings != first.headings:
                break
            stop += 1
        return list(range(start, stop))

    def _excerpts(self) -> Iterator[Excerpt]:
        """Each passage once, in the order in which they were taken, with its sentences in their own order."""
        for key in dict.fromkeys(self._lines[at].passage.id for at in self._taken):
            lines = [self._lines[at] for at in sorted(self._taken) if self._lines[at].passage.id == key]
            yield Excerpt(lines[0].passage, tuple((line.text, line.kind) for line in lines))


def _met(question: str, text: str) -> frozenset[str]:
    """The words of a question that a sentence answers without having them: it states a temperature, not `hot`."""
    met = [word for asks, answer in _EXPECTS if answer.search(text) for word in asks.findall(question)]
    return frozenset(stems(" ".join(met)))


class _Held:
    """Which of some words are in a text, also in another form."""

    def __init__(self, wanted: Iterable[str]) -> None:
        self._wanted = tuple(wanted)
        self._known: dict[str, frozenset[str]] = {}

    def __call__(self, text: str) -> frozenset[str]:
        found = set(stems(text))
        for stem in found - self._known.keys():
            self._known[stem] = frozenset(each for each in self._wanted if is_among(each, (stem,)))
        return frozenset[str]().union(*(self._known[stem] for stem in found))


def _lines(passage: Passage, held: _Held) -> Iterator[_Line]:
    """The full sentences of a passage. One that refers to a sentence which is none of them is left out."""
    above, lead, heads, kept = list[str](), "", True, False
    near, title = held(passage.text), held(passage.title)
    for kind, text in _parts(passage.text):
        if kind is Kind.HEADING:
            above, lead, heads, kept = [*above, text] if heads else [text], "", True, False
            continue
        heads = False
        lead = lead if kind is Kind.ITEM else text if text.endswith(":") else ""
        refers_back = _REFERS_BACK.match(text) is not None
        whole = (
            text.endswith((".", "!"))
            and _SHORTEST <= len(text) <= _LONGEST
            and text[0] not in _BEGINS_NONE
            and not text[0].islower()
        )
        kept = (whole or kind is Kind.CODE) and (kept or not refers_back)
        if kept:
            context = held(" ".join([*above, lead]))
            yield _Line(passage, text, held(text), context, near, title, tuple(above), kind, refers_back)


def _parts(text: str) -> Iterator[tuple[Kind, str]]:
    """The headings, sentences, rows and commands of a passage. A table can begin in the middle, without its header."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    for each in sentences_of("\n".join("" if line.startswith("|") else line for line in text.splitlines())):
        if each.kind in (Kind.HEADING, Kind.TEXT, Kind.ITEM):
            yield each.kind, _LINK.sub(r"\1", " ".join(each.text.split()))
        elif each.kind is Kind.CODE and _SHELL.match(each.text):
            commands = [line.strip() for line in each.text.splitlines()[1:] if re.match(r"[a-z]", line)]
            yield from ((Kind.CODE, f"`{command}`.") for command in commands if "`" not in command)
    for row in rows:
        cells = [cell.strip() for cell in _LINK.sub(r"\1", row).strip("|").split("|")]
        said = [cell.rstrip(".") for cell in cells[1:] if len(re.findall(r"[^\W\d_]{2,}", _CODE.sub("", cell))) > 1]
        if said and not _FIELD.fullmatch(cells[-1]):
            yield Kind.ROW, f"{cells[0]}: {'; '.join(said)}."
