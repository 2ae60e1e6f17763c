"""Cuts a request into words, quotations and marks, in one pass; everything after it walks the tokens by index."""

from __future__ import annotations

import re
from typing import NamedTuple


class Token(NamedTuple):
    """A word, a quotation or a mark of a text, ``text[start:end]``.

    ``text`` is the word as written, without a possessive ``'s``, or what a quotation quotes; ``low`` the same for
    comparing. A mark is one character of punctuation.
    """

    text: str
    low: str
    start: int
    end: int
    mark: bool = False
    possessive: bool = False
    quoted: bool = False

    @property
    def capital(self) -> bool:
        """Whether it can begin a name: written large, quoted, or in a script without capitals."""
        first = self.text[0]
        return self.quoted or (not self.mark and (first.isupper() or not (first.islower() or first.isdigit())))


# The alternatives begin with different characters and the joiners are not word characters, so nothing is matched twice.
# A dot joins ("U.K", "5.30") unless a sentence begins behind it.
_TOKEN = re.compile(
    r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|`[^`\n]{1,200}`"
    r"|[^\W_]+(?:(?:['’_&-]|\.(?![A-Z][a-z]))[^\W_]+)*|[,;:?!.()\[\]/\n\"“”°&—–]"
)
_POSSESSIVE = ("'s", "’s", "'S", "’S")
_SENTENCE_MARKS = frozenset(";?!.\n")

# A dot after these ends no sentence.
_ABBREVIATIONS = frozenset(
    re.split(" ", "st ste mt ft dr mr mrs ms prof ave blvd rd sq jr sr vs approx e.g i.e etc no u.s u.k d.c")
)


def tokenize(text: str) -> list[Token]:
    """Return the words, quotations and marks of ``text``, in order; other characters are left out.

    The numbers of a list ("1. …", "2) …") become sentence marks: what follows them is a sentence of its own.
    """
    tokens: list[Token] = []
    item = 1
    for match in _TOKEN.finditer(text):
        word, start, end = match.group(), match.start(), match.end()
        if len(word) > 2 and word[0] in '"“`' and word[1:-1].strip():
            inner = word[1:-1].strip()
            tokens.append(Token(inner, inner.casefold(), start, end, quoted=True))
            continue
        numbered = text[end : end + 1] in (".", ")") and text[end + 1 : end + 2].isspace()
        if word == str(item) and numbered and (item > 1 or not tokens or tokens[-1].mark):
            item += 1
            tokens.append(Token(";", ";", start, end, mark=True))
            continue
        mark = not word[0].isalnum()
        possessive = not mark and len(word) > 2 and word.endswith(_POSSESSIVE)
        if possessive:
            word = word[:-2]
        tokens.append(
            Token(word[:1] if mark else word, word.casefold().replace("’", "'"), start, end, mark, possessive)
        )
    return tokens


def ends_sentence(tokens: list[Token], index: int) -> bool:
    """Whether the token at ``index`` ends a sentence: not the dot of ``St. Louis`` or ``J. F. Kennedy``."""
    token = tokens[index]
    if not token.mark or token.text not in _SENTENCE_MARKS:
        return False
    if token.text != "." or index == 0:
        return True
    before = tokens[index - 1]
    initial = len(before.low) == 1 and before.capital
    return not (before.end == token.start and (before.low in _ABBREVIATIONS or initial))


def low_at(tokens: list[Token], index: int, end: int) -> str:
    """The word at ``index``, in lower case; "" from ``end`` on and for a mark."""
    return tokens[index].low if 0 <= index < end and not tokens[index].mark else ""
