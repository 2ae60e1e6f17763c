"""Cuts a request into words and marks, in one pass: the only place that looks at single characters.

Everything after it walks the tokens by index, so reading a request takes time in proportion to its length, however it
is written.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .vocabulary import word_set


class Token(NamedTuple):
    """A word or a mark of a text, ``text[start:end]``.

    ``text`` is the word as written, without a possessive ``'s``; ``low`` the same for comparing. A mark is one
    character of punctuation.
    """

    text: str
    low: str
    start: int
    end: int
    mark: bool = False
    possessive: bool = False

    @property
    def capital(self) -> bool:
        """Whether it can begin a name: written large, or in a script that knows no capitals."""
        return not self.mark and (self.text[0].isupper() or not (self.text[0].islower() or self.text[0].isdigit()))


# Each alternative begins with a character that no other begins with, and the joiners are none of the word characters:
# there is one way to match, so nothing to backtrack over. A dot joins ("U.K", "5.30") unless a sentence begins behind
# it.
_TOKEN = re.compile(r"[^\W_]+(?:(?:['’_&-]|\.(?![A-Z][a-z]))[^\W_]+)*|[,;:?!.()\[\]/\n\"“”°&—–]")
_POSSESSIVE = ("'s", "’s", "'S", "’S")

SENTENCE_MARKS = frozenset(";?!.\n")
LIST_MARKS = frozenset(",:()[]/&—–")

# A dot after these ends no sentence.
_ABBREVIATIONS = word_set("st ste mt ft dr mr mrs ms prof ave blvd rd sq jr sr vs approx e.g i.e etc no u.s u.k d.c")


def tokenize(text: str) -> list[Token]:
    """The words and marks of ``text``, in order; characters that are neither are left out.

    The numbers of a list ("1. …", "2) …") are sentence marks: what follows them is a sentence of its own.
    """
    tokens: list[Token] = []
    item = 1
    for match in _TOKEN.finditer(text):
        word = match.group()
        first = item > 1 or not tokens or tokens[-1].mark
        if word == str(item) and first and _is_item_number(text, match.end()):
            item += 1
            tokens.append(Token(";", ";", match.start(), match.end(), mark=True))
            continue
        mark = not word[0].isalnum()
        possessive = not mark and len(word) > 2 and word.endswith(_POSSESSIVE)
        if possessive:
            word = word[:-2]
        low = word.casefold().replace("’", "'")
        tokens.append(Token(word, low, match.start(), match.end(), mark, possessive))
    return tokens


def _is_item_number(text: str, end: int) -> bool:
    """Whether a number that ends at ``end`` is written as those of a list are: "1. ", "(2) "."""
    return text[end : end + 1] in (".", ")") and text[end + 1 : end + 2].isspace()


def ends_sentence(tokens: list[Token], index: int) -> bool:
    """Whether the token at ``index`` ends a sentence: not the dot of ``St. Louis`` or ``J. F. Kennedy``."""
    token = tokens[index]
    if not token.mark or token.text not in SENTENCE_MARKS:
        return False
    if token.text != "." or index == 0:
        return True
    before = tokens[index - 1]
    abbreviated = before.end == token.start and (
        before.low in _ABBREVIATIONS or (len(before.low) == 1 and before.capital)
    )
    return not abbreviated


def low_at(tokens: list[Token], index: int, end: int) -> str:
    """The word at ``index``, folded; "" from ``end`` on and for a mark."""
    return tokens[index].low if index < end and not tokens[index].mark else ""
