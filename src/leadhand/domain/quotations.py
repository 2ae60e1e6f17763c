"""Quotations: what a text says that somebody said, word for word."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .text import late_pattern

_QUOTED = late_pattern(
    r"“([^“”]{12,})”|„([^„“”\"]{12,})[“”\"]|«([^«»]{12,})»|「([^「」]{8,})」|(?<!\w)\"([^\"\n]{12,})\"(?!\w)"
)
_SAYS = late_pattern(
    r"\b(?:sa(?:ys?|id|ying)|stat(?:es?|ed|ing)|wr(?:ites?|ote)|written|reads?|quot\w*|according to|reported|reports|"
    r"explain(?:s|ed)|announce[sd]|warn(?:s|ed)|claim(?:s|ed)|sagt\w*|schreibt|schrieb|laut|heißt es|"
    r"dit|écrit|selon|dice|dijo|según|scrive|secondo|zegt|volgens)\b",
    re.IGNORECASE,
)
_FEWEST_WORDS = 4
"""Words from which on what is in quotation marks is a quotation, if somebody is said to have said it."""


def quotations_in(text: str, *, always: bool = False) -> Iterator[str]:
    """The quotations of a text: what is in quotation marks where somebody says it; ``always``, anywhere."""
    for found in _QUOTED.finditer(text):
        quoted = next(group for group in found.groups() if group is not None)
        begin, end = found.span()
        sentence = (
            re.split(r"[.!?]\s|\n", text[max(0, begin - 120) : begin])[-1]
            + " "
            + re.split(r"[.!?]\s|\n", text[end : end + 80])[0]
        )
        long = len(re.findall(r"\w+", quoted)) >= _FEWEST_WORDS - always or not quoted.isascii()
        if long and (always or _SAYS.search(sentence)):
            yield quoted
