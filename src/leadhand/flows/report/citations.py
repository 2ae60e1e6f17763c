"""Whether each sentence of a draft is supported by the passages that it cites, as far as code can see.

Code compares what a sentence states (figures, units, dates, names, quotations, addresses) with the passages beside it.
It understands neither; what only a reader can judge is the reviewer's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from leadhand.domain.citations import CITATION
from leadhand.domain.document.report_task import SupportStatus as Status
from leadhand.domain.explaining import Evidence
from leadhand.domain.figures import stated
from leadhand.domain.passages import Passage
from leadhand.domain.quotations import quotations_in
from leadhand.domain.value import Value

from .certainty import caused, foretold, unbounded
from .claims import denied, misattributed, miscounted, other_rates, widened
from .contradictions import changed_names, foreign_to, opposed, reverted, swapped
from .measures import fractions, measures, months_in, unheld, without_fractions
from .numerals import in_digits
from .sentences import MARK, Kind, Sentence, named_in, sentences_of
from .vocabulary import ATTRIBUTED
from .words import Words


class Statement(Value):
    """A sentence of a draft: ``text`` begins at ``offset``, in line ``line`` (from 1), and cites ``passages``.

    ``problems`` say what is wrong with an unsupported one, one sentence each, for the writer.
    """

    index: int
    text: str
    offset: int
    line: int
    kind: Kind
    passages: tuple[str, ...]
    status: Status
    problems: tuple[str, ...] = ()


_MARK = re.compile(rf"\s*{MARK}", re.IGNORECASE)
_ID = re.compile(r"[0-9a-f]{8}\.\d{1,5}")
_LABEL = re.compile(r"\[(\^[\w.-]{1,40})\]")
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\(([^()\s]{0,500})(?:\s+\"[^\"\n]*\")?\)")
_EMPHASIS = re.compile(r"\*+|~~|`+|(?<!\w)_+|_+(?!\w)|^[ \t]*>[ \t>]*", re.MULTILINE)
_INTRODUCES = re.compile(r":[*_\s]*$")
_NUMBERED = re.compile(r"^[\s*_#]*\d{1,3}(?:\.\d+)*[.):]?\s+")
_STOPPED = re.compile(r"(?<=[.,]\d)\.(?=\s+[^\W\d_a-zà-ÿ]|\s*$)|(?<=[.,]\d\d)\.(?=\s+[^\W\d_a-zà-ÿ]|\s*$)")
_SHORT_MILLIONS = re.compile(r"([€$£]\s?\d[\d.,]*)\s?m\b")
_READERS = (
    *(swapped, reverted, opposed, denied, miscounted, other_rates, widened, misattributed),
    *(foretold, unbounded, caused),
)
"""Each says where a sentence contradicts the passages that it cites."""
_SHOWN = 4
_MOST_FIGURES = 120
"""Figures of a sentence, at most: what has more is a table that lost its rows, and takes long to compare."""


def check(draft: str, passages: Mapping[str, Passage], given: str = "") -> list[Statement]:
    """Return every sentence of a draft with its status. The keys of ``passages`` are those that a draft cites: p1, p2.

    ``given`` is what a draft may repeat without a source: the request, the outline.
    """
    return _Draft(draft, passages, given).statements()


class _Draft:
    """The sentences of a draft, beside what they cite."""

    def __init__(self, draft: str, passages: Mapping[str, Passage], given: str) -> None:
        self._passages = {key.casefold(): passage for key, passage in passages.items()}
        self._words = {
            key: _words_of(passage.text, passage.title, passage.url, passage.published)
            for key, passage in self._passages.items()
        }
        self._keys = {key.casefold(): key for key in passages}
        self._by_id = {passage.id: key.casefold() for key, passage in passages.items()}
        self._given = given
        self._sentences = sentences_of(draft)
        self._ends = {each.block: number for number, each in enumerate(self._sentences)}
        self._notes: dict[str, list[str]] = {}
        self._notes = {
            label[1].casefold(): self._cited(each.text[label.end() :])[0]
            for each in self._sentences
            if each.kind is Kind.FOOTNOTE and (label := _LABEL.match(each.text))
        }
        self._evidence: dict[tuple[str, ...], Evidence] = {}
        self._language = Words(draft).language

    def statements(self) -> list[Statement]:
        cited = list(self._citations())
        found = [
            self._statement(index, each, *marks)
            for index, (each, marks) in enumerate(zip(self._sentences, cited, strict=True))
        ]
        supported = [(each, _sentence(each.text, self._language)) for each in found if each.status is Status.SUPPORTED]
        return [each if each.passages or each.problems else self._without_citation(each, supported) for each in found]

    def _citations(self) -> Iterator[tuple[list[str], list[str], str]]:
        """The keys that each sentence cites, the citations that do not exist, and the text without either."""
        own = [self._cited(each.text) for each in self._sentences]
        intro: list[str] = []
        header: list[str] = []
        for number, (sentence, (keys, invented, text)) in enumerate(zip(self._sentences, own, strict=True)):
            if sentence.kind is Kind.HEADER:
                header = keys
            elif sentence.kind is Kind.TEXT or sentence.kind is Kind.HEADING:
                following = self._sentences[number + 1].kind if number + 1 < len(self._sentences) else Kind.TEXT
                leads = following is Kind.HEADER or (following is Kind.ITEM and _INTRODUCES.search(text) is not None)
                intro, header = (keys if leads else []), []
            if keys or invented or sentence.kind not in (Kind.ITEM, Kind.ROW):
                yield keys, invented, text
                continue
            inherited = self._of_item(number, own) if sentence.kind is Kind.ITEM else []
            yield inherited or [*intro, *header], invented, text

    def _of_item(self, number: int, own: Sequence[tuple[list[str], list[str], str]]) -> list[str]:
        """The citations at the end of the list item that a sentence is part of."""
        return own[self._ends[self._sentences[number].block]][0]

    def _cited(self, text: str) -> tuple[list[str], list[str], str]:
        keys: list[str] = []
        invented: list[str] = []

        def take(mark: re.Match[str]) -> str:
            written = mark[0].strip()
            named = self._named(written)
            keys.extend(key for key in named if key in self._passages)
            invented.extend(f"[{key}]" for key in named if key not in self._passages)
            if not named:
                invented.append(written)
            return " "

        text = CITATION.sub(take, _MARK.sub(take, text)) if not text.startswith("[^") else text
        return list(dict.fromkeys(keys)), list(dict.fromkeys(invented)), text

    def _named(self, mark: str) -> list[str]:
        """The keys that a citation names, known or not; none for one in another notation."""
        if (label := _LABEL.fullmatch(mark)) and label[1].casefold() in self._notes:
            return self._notes[label[1].casefold()]
        ids: list[str] = _ID.findall(mark)
        if ids:
            return [self._by_id.get(each, each) for each in ids]
        return named_in(mark)

    def _statement(self, index: int, sentence: Sentence, keys: list[str], invented: list[str], text: str) -> Statement:
        problems = [f"{mark} does not exist in this report" for mark in invented[:_SHOWN]]
        if keys and sentence.kind is not Kind.CODE:
            problems += self._problems(keys, _plain(text), sentence.kind)
        return Statement(
            index=index,
            text=sentence.text,
            offset=sentence.offset,
            line=sentence.line,
            kind=sentence.kind,
            passages=tuple(self._keys[key] for key in keys),
            status=Status.UNSUPPORTED if problems else Status.SUPPORTED if keys else Status.OWN_REASONING,
            problems=tuple(problems),
        )

    def _problems(self, keys: Sequence[str], text: str, kind: Kind) -> list[str]:
        """What a sentence states and the passages it cites do not hold."""
        words = [self._words[key] for key in keys]
        said = self._said(keys, text)
        absent = self._absent(keys, text)
        named = ", ".join(f"[{self._keys[key]}]" for key in keys[:_SHOWN])
        found = [f"{', '.join(absent[:_SHOWN])}: not in {named}{self._elsewhere(absent, text)}"] if absent else []
        if kind in (Kind.TEXT, Kind.ITEM):
            names = changed_names(said, words, self._given)
            found += [f"{', '.join(names[:_SHOWN])}: a name that is not in {named}"] if names else []
        if not absent and not said.measures and foreign_to(said, words):
            found.append(f"{named} does not speak of this")
        if not found:
            found += [f"{each}, as {named} states it" for find in _READERS for each in find(said, words)]
        return found

    def _said(self, keys: Sequence[str], text: str) -> Words:
        """The words of a sentence; if it is too short to tell, in the language of a passage with its words."""
        said = _sentence(text, self._language)
        near = (each for each in map(self._words.__getitem__, keys) if _near(each.stems & said.stems, said.stems))
        language = next((each.language for each in near), self._language)
        return said if language == self._language else _sentence(text, language)

    def _absent(self, keys: Sequence[str], text: str) -> list[str]:
        """The figures, dates, quotations and addresses of a text that passages do not hold, as written there."""
        evidence = self._evidence_of(tuple(keys))
        words = self._said(keys, text)
        if len(re.findall(r"\d+", text)) > _MOST_FIGURES:
            return [f"more than {_MOST_FIGURES} figures in one sentence"]
        raw, text = text, in_digits(text, words.language)
        said = [*measures(without_fractions(text), words.language), *fractions(text)]
        held = [each for key in keys for each in self._words[key].all_measures]
        own = unheld(said, held, text, [pool for key in keys for pool in self._words[key].together])
        read = {figure.text for figure in stated(text).figures}
        quoted = [each for each in quotations_in(raw, always=True) if not evidence.quotes(each)]
        rest = [each for each in evidence.unexplained(text) if each not in read and not self._published(each, keys)]
        named = set[int]().union(*(self._words[key].months for key in keys))
        rest += [name for name, month in months_in(text).items() if named and month not in named]
        known = {figure.text for figure in stated(self._given, labels=True).figures} if self._given else set[str]()
        return [each for each in dict.fromkeys([*own, *rest, *quoted]) if each not in known]

    def _published(self, date: str, keys: Sequence[str]) -> bool:
        """Whether a date is a month that a passage names without its year, and the year in which it was published."""
        months = set(months_in(date).values())
        return bool(months) and any(
            months <= self._words[key].months and re.sub(r"[^\W\d]+|\W+", "", date) == self._passages[key].published[:4]
            for key in keys
        )

    def _elsewhere(self, absent: Sequence[str], text: str) -> str:
        """Which passage holds what another is cited for, to help the writer."""
        said = _sentence(text, self._language)
        near = sorted(self._passages, key=lambda key: -len(said.stems & self._words[key].stems))[:3]
        holding = [key for key in near if not self._absent([key], " ; ".join(absent))]
        return f" (see [{self._keys[holding[0]]}])" if holding else ""

    def _without_citation(self, statement: Statement, supported: Sequence[tuple[Statement, Words]]) -> Statement:
        """A sentence that cites nothing may repeat what supported sentences about the same things say."""
        if statement.kind in (Kind.CODE, Kind.FOOTNOTE, Kind.HEADER):
            return statement
        text = _NUMBERED.sub("", _plain(statement.text))
        heading = statement.kind is Kind.HEADING
        problems: list[str] = []
        if not heading and ATTRIBUTED.search(text) and not text.rstrip().endswith("?"):
            problems.append("it says what somebody found or said and cites no passage")
        facts = self._facts(text, heading=heading)
        if facts:
            said = _sentence(text, self._language)
            keys = [
                key.casefold()
                for each, words in supported
                if heading or abs(each.index - statement.index) <= 1 or said.about(words)
                for key in each.passages
            ]
            keys = list(dict.fromkeys(keys))
            absent = self._absent(keys, text) if keys else facts
            absent = [each for each in absent if each in facts]
            if absent:
                problems.append(f"{', '.join(absent[:_SHOWN])}: no citation")
        if not problems:
            return statement
        return statement.evolve(status=Status.UNSUPPORTED, problems=tuple(problems))

    def _facts(self, text: str, *, heading: bool) -> list[str]:
        """What a sentence without a citation states that needs a source; of a heading, measured figures alone."""
        if len(re.findall(r"\d+", text)) > _MOST_FIGURES:
            return [f"more than {_MOST_FIGURES} figures in one sentence"]
        said = measures(text)
        figures = [
            each.text
            for each in said
            if each.kind or (not heading and any(value > 10 for value, _ in each.readings[:1]))
        ]
        figures = [each for each in figures if each not in self._given]
        if heading:
            return figures
        read = {each.text for each in said} | {figure.text for figure in stated(text).figures}
        return [*figures, *(each for each in self._absent([], text) if each not in read)]

    def _evidence_of(self, keys: tuple[str, ...]) -> Evidence:
        if keys not in self._evidence:
            cited = [self._passages[key] for key in keys]
            self._evidence[keys] = Evidence(
                [
                    " · ".join((_unstopped(each.text), each.title, each.url, each.published)).replace("\n", " ")
                    for each in cited
                ]
            )
        return self._evidence[keys]


@lru_cache(maxsize=256)
def _words_of(text: str, *about: str) -> Words:
    """The words of a passage: kept, because a draft is checked again after each change, beside the same passages."""
    return Words(_unstopped(text), about=" · ".join(about))


@lru_cache(maxsize=1_024)
def _sentence(text: str, language: str) -> Words:
    """The words of a sentence: kept, because each check of it asks for them, and a draft is checked again."""
    return Words(text, language)


def _near(common: frozenset[str], stems: frozenset[str]) -> bool:
    return len(common) >= 3 and 2 * len(common) >= len(stems)


def _unstopped(text: str) -> str:
    """A text in which the full stop behind 4.1 does not make it a date, and €4m is an amount of money."""
    return _STOPPED.sub(" .", _SHORT_MILLIONS.sub(r"\1 million", text))


def _plain(text: str) -> str:
    """A sentence without the marks of Markdown; the address of a link stays beside its text."""
    text = _EMPHASIS.sub("", _LINK.sub(r"\1 \2 ", text)).replace("\n", " ").replace("|", " ; ")
    return _unstopped(text.strip())
