"""Citations: numbers in square brackets that refer to the sources of an answer, as opposed to brackets in the data."""

from __future__ import annotations

import re

CITATION = re.compile(r"\[(\d{1,4})\]")
_WORD_JOINER = "\u2060"


def cited(text: str) -> set[int]:
    """The numbers of the sources that a text cites."""
    return {int(number) for number in CITATION.findall(text)}


def as_data(text: str) -> str:
    """A text in which nothing is a citation: a bracketed number of a tool's (``argv[1]``) must not become one.

    It looks the same to people: an invisible word joiner (U+2060) follows the bracket.
    """
    return CITATION.sub(rf"[{_WORD_JOINER}\1]", text)
