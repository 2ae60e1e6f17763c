"""Citations in a text: the ids in brackets that it names, in the notations that models use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

PASSAGE_ID = r"[0-9a-f]{8}\.\d{1,5}"
_PLACE = r"(?:p\s?\d{1,5}|" + PASSAGE_ID + r"|memory/[^\s\[\],;]+)"
_NUMBERS = r"\^?\d{1,4}(?:\s*[,;–-]\s*\^?\d{1,4})*"
CITATION = re.compile(
    r"(?P<code>(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`))"
    rf"|[\[【][^\[\]【】\n]{{0,40}}?(?<![\w.]){_PLACE}(?![\w])[^\[\]【】\n]{{0,300}}[\]】](?!\()"
    rf"|\(\s*p\d{{1,5}}(?:\s*[,;–-]\s*p?\d{{1,5}})*\s*\)"
    rf"|[\[【](?P<numbers>{_NUMBERS})(?:†[^【】\n]{{0,200}})?[\]】](?!\()",
    re.IGNORECASE | re.DOTALL,
)
_ID = re.compile(
    rf"(?P<name>{PASSAGE_ID}|memory/[^\s\[\],;]+)|(?<!\w)p\s?(?P<first>\d{{1,5}})(?:\s*[–-]\s*p?\s?(?P<last>\d{{1,5}}))?"
    r"|(?<=[,;])\s*(?P<further>\d{1,5})(?=\s*[,;\])】])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(\d+)(?:\s*[–-]\s*\^?(\d+))?")
_LONGEST_RANGE = 50


class Citation(NamedTuple):
    """A citation in a text, from ``start`` to ``end``, and the ids that it names: ``p3``, ``3f9a1c20.1``, ``2``."""

    start: int
    end: int
    ids: tuple[str, ...]


def citations_in(text: str) -> Iterator[Citation]:
    """Yield the citations of a text in order, except those in code and in the labels of links."""
    for found in CITATION.finditer(text):
        if found["code"] is None:
            ids = _numbers(found["numbers"]) if found["numbers"] else _names(found[0])
            yield Citation(found.start(), found.end(), tuple(dict.fromkeys(ids)))


def _names(mark: str) -> Iterator[str]:
    """Yield the ids of [p3, p7], [p3, 7], [p3-p5] and [3f9a1c20.1, memory/costs.md]."""
    for found in _ID.finditer(mark):
        if found["name"]:
            yield found["name"]
        else:
            yield from (f"p{n}" for n in _range(found["first"] or found["further"], found["last"]))


def _numbers(listed: str) -> Iterator[str]:
    for first, last in _NUMBER.findall(listed):
        yield from map(str, _range(first, last))


def _range(first: str, last: str | None) -> range:
    begin, end = int(first), int(last or first)
    return range(begin, end + 1) if 0 <= end - begin < _LONGEST_RANGE else range(begin, begin + 1)
