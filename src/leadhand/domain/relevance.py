"""How well texts fit a question, by the words that they share."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence

_WORD = re.compile(r"\w+")
_COMMON = frozenset(
    """
    a about after all also an and any are as at be been but by can could did do does each find for from get had
    has have her his how i if in into is it its me more most much my no not of on or our out over per should so
    some such tell than that the their them then there these they this to under up us use used was we were what
    when where which who why will with would you your
    """.split()  # noqa: SIM905 - a list of a hundred strings reads worse
)
"""Words that say nothing about what a text is about."""
_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ied", "es", "ed", "s", "y", "e")
_SHORTEST_STEM = 3
_TERM_WEIGHT, _LENGTH_WEIGHT = 1.2, 0.75
"""The usual parameters of BM25, k1 and b."""
_LONG_STEM = 5
"""From this length on, a stem also stands for the longer ones that begin with it: ``health`` and ``healthier``."""


def terms(text: str) -> list[str]:
    """Return the words of a text that say what it is about, in lower case."""
    return [word for word in _WORD.findall(text.casefold()) if word not in _COMMON]


def stems(text: str) -> list[str]:
    """Return the stems of the words that say what a text is about."""
    return [stem_of(word) for word in terms(text)]


def stem_of(word: str) -> str:
    """Return a word without the ending that differs between its forms."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word.removesuffix(ending)
    return word


def is_among(stem: str, known: Collection[str]) -> bool:
    """Whether a stem, or a long one that begins like it, is among others."""
    return stem in known or any(
        min(len(stem), len(each)) >= _LONG_STEM and (each.startswith(stem) or stem.startswith(each)) for each in known
    )


def fits(texts: Sequence[str], question: str) -> list[float]:
    """Return how well each text fits a question (BM25); 0 without words in common."""
    asked = set(stems(question))
    counted = [Counter(stems(text)) for text in texts]
    usual = sum(each.total() for each in counted) / max(1, len(counted)) or 1.0
    weights = {
        term: math.log(1 + (len(counted) - holding + 0.5) / (holding + 0.5))
        for term in asked
        if (holding := sum(term in each for each in counted))
    }
    return [
        sum(
            weight * each[term] * (_TERM_WEIGHT + 1)
            / (each[term] + _TERM_WEIGHT * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * each.total() / usual))
            for term, weight in weights.items()
        )
        for each in counted
    ]  # fmt: skip
