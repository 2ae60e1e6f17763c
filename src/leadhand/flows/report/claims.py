"""Where a sentence claims more than its passage, for another period, or of somebody else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .measures import Measure, alike, fractions
from .vocabulary import ALL, CONTRAST, MOST, NEGATIONS, PARTLY, PERIODS, REPORTED, VAGUE
from .words import PART, Words, stems

_EACH = re.compile(r"\b(?:each|every|per|a|jede\w*|pro|je|chaque|par|cada|por)\s+$", re.IGNORECASE)
_NOUN = re.compile(r"\s+(?:of )?(?:the |der |den |les |los |las )?([^\W\d_]{3,})")
_OF_SUCH = r"(?:\s+(?:with|without|from|in|of|aged|who|that|mit|ohne|aus|von|avec|sans|de|con|sin)\b([^.,;]*))?"
_WHOLE = r"\b(?:of|von|sur|de) [^.;\d]{0,40}"
"""Before the number of all, of which others are parts: "of the 24 lifts, 9 still run"."""
_ADVERB = re.compile(r"(?:ly|lich|lichen|al|els|el|rio)$")
_CLAUSE_WORDS = 2
"""Words that a sentence shares with a clause of a passage, from which on it speaks of that clause."""
_NEITHER = re.compile(r"\b(?:both|neither|single|any|kein\w*|aucun\w*|ning\w+)\b", re.IGNORECASE)


def other_rates(said: Words, passages: Sequence[Words]) -> Iterator[str]:
    """Say which figures are for a period that the passages do not state: 480 million a year instead of in total."""
    for figure in said.measures:
        if figure.per is None:
            continue
        kind, size = figure.per
        plain = figure._replace(per=None, bound=0)
        places = [
            (each, other) for each in passages for other in each.measures if alike(plain, other._replace(per=None))
        ]
        if kind == "time":
            if places and not any(_is_for(figure, other) or _during(size, other.at, each) for each, other in places):
                yield f"{figure.text} is not for this period of time"
        elif places and all(other.per and other.per[0] == kind and other.per[1] != size for _, other in places):
            yield f"{figure.text} is for another amount"


def _is_for(figure: Measure, other: Measure) -> bool:
    return other.per is not None and (other.per[0] != "time" or figure.per == other.per)


def _during(size: float, at: int, passage: Words) -> bool:
    """Whether the sentence of a passage speaks of such periods before the figure at ``at``, or is about a year."""
    sentence = passage.sentence_of(at)
    for each in passage.measures:
        if each.per and each.per[1] == size and each.at < at and passage.sentence_of(each.at) == sentence:
            return True
    if size == PERIODS["year"] and any(passage.sentence_of(each.measure.at) == sentence for each in passage.years):
        return True
    for match in re.finditer(r"[^\W\d_]+", passage.text):
        if passage.sentence_of(match.start()) == sentence and PERIODS.get(match[0].casefold()) == size:
            before = _EACH.search(passage.text[: match.start()]) if match.start() < at else None
            if before is not None or _ADVERB.search(match[0].casefold()):
                return True
    return False


def miscounted(said: Words, passages: Sequence[Words]) -> Iterator[str]:
    """Say which figures of a sentence count what the passages count with another figure, or another share in words."""
    mine = [each for each in fractions(said.text) if not each.bound]
    for part in _nearest(said, passages) if mine else ():
        theirs = fractions(part.text)
        if theirs and not any(alike(each, other) for each in mine for other in theirs):
            yield f"“{mine[0].text}” instead of “{theirs[0].text}”"
    counted = [each for passage in passages for each in passage.counts]
    for figure, noun in said.counts:
        own = [its for each, its in counted if alike(figure, each)]
        others = [its for each, its in counted if not alike(figure, each)]
        whole = (each.text for each, its in counted if its == noun and not alike(figure, each))
        parts = any(
            re.search(rf"{_WHOLE}{re.escape(text)}", each.text, re.IGNORECASE) for text in whole for each in passages
        )
        if noun and not figure.hedged and own and noun not in own and noun in others and not parts:
            yield f"{figure.text} is not the number of “{noun}”"


def widened(said: Words, passages: Sequence[Words]) -> Iterator[str]:
    """Say where a sentence speaks of all, and the sentence of a passage with its words of some."""
    universal = ALL.search(said.text)
    most = MOST.search(said.text)
    for part in _nearest(said, passages) if most is not None else ():
        shares = [each for each in [*part.measures, *fractions(part.text)] if each.kind == "share"]
        if most is not None and shares and all(each.readings[0][0] < 50 for each in shares):
            yield f"“{most[0]}” instead of “{shares[0].text}”"
    if universal is None or PARTLY.search(said.text):
        return
    noun = _NOUN.match(said.text, universal.end())
    for part in _nearest(said, passages):
        clause = max(PART.split(part.text), key=lambda each: len(frozenset(stems(each)) & said.stems))
        text = clause if len(frozenset(stems(clause)) & said.stems) >= _CLAUSE_WORDS else part.text
        if ALL.search(PARTLY.sub("", text)) or _NEITHER.search(text):
            continue
        partial = PARTLY.search(part.text)
        if partial is None and noun is not None:
            limited = re.search(rf"(?:([^\W\d_]+)\s+)?\b{noun[1][:6]}\w*{_OF_SUCH}", part.text, re.IGNORECASE)
            if limited is not None and frozenset(stems(" ".join(filter(None, limited.groups())))) - said.stems:
                partial = limited
        if partial is not None:
            yield f"“{universal[0]}” instead of “{partial[0]}”"


def _nearest(said: Words, passages: Sequence[Words]) -> list[Words]:
    near = [part for passage in passages for part in passage.parts if part.language == said.language]
    best = max(near, key=lambda part: len(part.stems & said.stems), default=None)
    return [best] if best is not None and 2 * len(best.stems & said.stems) >= len(said.stems) > 0 else []


def misattributed(said: Words, passages: Sequence[Words]) -> Iterator[str]:
    """Say where a sentence ascribes to one speaker of a passage what the passage ascribes to another."""
    mine = next(_speeches(said), None)
    if mine is None:
        return
    speaker = mine.speaker
    for passage in passages:
        spoken = [each for part in passage.parts for each in _speeches(part)]
        own = max(spoken, key=lambda each: len(each.speaker & speaker), default=None)
        if own is None or not own.speaker & speaker or own.vague:
            continue
        for other in spoken:
            theirs = other.content - own.content - own.speaker
            missing = own.content - other.content - said.terms
            if not other.speaker & said.stems and theirs & said.terms and missing:
                yield f"“{min(theirs & said.terms)}” is what “{' '.join(sorted(other.speaker))}” says"
                return


class _Speech(NamedTuple):
    """Who says something, and what: the words of each."""

    speaker: frozenset[str]
    content: frozenset[str]
    vague: bool
    """Whether what is said is only pointed at: "the union doubts that"."""


def _speeches(words: Words) -> Iterator[_Speech]:
    """What is said in a sentence, by whom: one for each part with a verb of saying."""
    pieces: list[str] = []
    for piece in PART.split(words.text):
        if not pieces or (REPORTED.search(piece) and REPORTED.search(pieces[-1])):
            pieces.append(piece)
        else:
            pieces[-1] += f", {piece}"
    for piece in pieces:
        verb = REPORTED.search(piece)
        if verb is None:
            continue
        before = list(stems(piece[: verb.start()]))
        speaker = before or list(stems(piece[verb.end() :]))[:4]
        content = Words(piece).terms - frozenset(speaker)
        yield _Speech(frozenset(speaker), content, VAGUE.search(piece[verb.end() :]) is not None)


def denied(said: Words, passages: Sequence[Words]) -> Iterator[str]:
    """Say where a sentence states what the passage excludes: "at a school, not at the airport"."""
    if CONTRAST.search(said.text) or any(each.search(said.text) for each in NEGATIONS.values()):
        return
    for part in _nearest(said, passages):
        for match in CONTRAST.finditer(part.text):
            elsewhere = part.text[: match.start()] + part.text[match.end() :]
            excluded = frozenset(stems(match[1])) - frozenset(stems(elsewhere))
            instead = next(reversed(list(stems(part.text[: match.start()]))), "")
            if excluded and excluded <= said.stems and instead not in said.stems:
                yield f"“{match[1]}” is excluded"
