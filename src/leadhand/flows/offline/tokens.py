"""Split a request into words, quotations and marks, in one pass; later steps read the tokens by index."""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

from .days import LONGEST_PHRASE, When, day_phrase
from .words import word_set


class Token(NamedTuple):
    """A word, a quotation or a mark of a text, ``text[start:end]``.

    ``text`` is the word as written, without a possessive ``'s``, or the content of a quotation; a mark is one character
    of punctuation. ``low`` is the word in lower case, "" for quotations and marks.
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
        """Whether it can begin a name: capitalised, quoted, or in a script without capitals."""
        first = self.text[0]
        return self.quoted or (not self.mark and (first.isupper() or not (first.islower() or first.isdigit())))


# The alternatives begin with different characters and the joiners are not word characters, so nothing is matched twice.
# A dot joins ("U.K", "5.30") unless a sentence begins after it.
_TOKEN = re.compile(
    r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|`[^`\n]{1,200}`"
    r"|[^\W_]+(?:(?:['’_&-]|\.(?![A-Z][a-z]))[^\W_]+)*|°[CF]\b|[,;:?!.()\[\]/\n\"“”&—–]"
)

# A dot after these does not end a sentence.
_ABBREVIATIONS = word_set("st ste mt ft dr mr mrs ms prof ave blvd rd sq jr sr vs approx e.g i.e etc no u.s u.k d.c")


class Text(NamedTuple):
    """A request split into tokens; ``topics`` are the stems of the words of the run's tools."""

    source: str
    tokens: list[Token]
    today: date | None
    topics: frozenset[str]

    def low(self, index: int, end: int) -> str:
        """Return the word at ``index``, in lower case; "" from ``end`` on and for a mark."""
        return self.tokens[index].low if 0 <= index < end else ""

    def day_at(self, index: int, end: int) -> tuple[When, int] | None:
        """Return the day phrase that begins at ``index``, and its number of tokens."""
        window = self.tokens[index : min(end, index + LONGEST_PHRASE)]
        return day_phrase([token.text if token.low else "" for token in window], self.today)

    def said(self, start: int, stop: int) -> str:
        """Return the source text of the tokens from ``start`` to before ``stop``, with the brackets around or in it."""
        begin, end = self.tokens[start].start, self.tokens[stop - 1].end
        open_ = self.source.count("(", begin, end) - self.source.count(")", begin, end)
        if open_ > 0 and self.source.startswith(")" * open_, end):
            end += open_
        elif open_ < 0 and self.source.endswith("(" * -open_, 0, begin):
            begin += open_
        return self.source[begin:end]

    def ends_sentence(self, index: int) -> bool:
        """Whether the token at ``index`` ends a sentence: not the dot of ``St. Louis`` or ``J. F. Kennedy``."""
        token = self.tokens[index]
        if not token.mark or token.text not in ";?!.\n":
            return False
        before = self.tokens[index - 1]
        if token.text != "." or index == 0 or before.end != token.start:
            return True
        return before.low not in _ABBREVIATIONS and not (len(before.low) == 1 and before.capital)


def tokenize(text: str) -> list[Token]:
    """Return the words, quotations and marks of ``text``, in order, without other characters.

    The numbers of a list ("1. …", "2) …") become sentence marks, since a new sentence follows them.
    """
    tokens: list[Token] = []
    item = 1
    for match in _TOKEN.finditer(text):
        word, start, end = match.group(), match.start(), match.end()
        if len(word) > 2 and word[0] in '"“`' and word[1:-1].strip():
            tokens.append(Token(word[1:-1].strip(), "", start, end, quoted=True))
            continue
        numbered = text[end : end + 1] in (".", ")") and text[end + 1 : end + 2].isspace()
        if word == str(item) and numbered and (item > 1 or not tokens or tokens[-1].mark):
            item += 1
            tokens.append(Token(";", "", start, end, mark=True))
        elif not word[-1].isalnum():
            tokens.append(Token(word[:1], "", start, end, mark=True))
        else:
            possessive = len(word) > 2 and word.endswith(("'s", "’s", "'S", "’S"))
            word = word[:-2] if possessive else word
            tokens.append(Token(word, word.casefold().replace("’", "'"), start, end, possessive=possessive))
    return tokens
