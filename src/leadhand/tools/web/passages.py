"""Cut a text into passages, and choose those that fit a question.

A passage has at most 700 characters and ends where a sentence may end, if it can. Its id is ``<source>.<n>``:
``source`` is the first 8 hex digits of the SHA-256 of the whole text, ``n`` counts from 1. So the same text has the
same ids everywhere, whichever passages are chosen.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing

MOST_CHARS = 700
"""Characters of a passage."""
MOST_CHOSEN = 12
"""Passages of one text that are chosen for a question."""

_HEADING = re.compile(r"#{1,6}\s+\S")
_SENTENCE_END = re.compile(r"""(?<=[.!?…])["'”’)\]]*\s+(?=["'“(\[]?[A-Z0-9À-ÖØ-Þ])|(?<=[。\uff01\uff1f])""")
_WORD = re.compile(r"\w+")
_TEXTS = "CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter unicode61 remove_diacritics 2')"


def source_id(text: str) -> str:
    """Return the id of a source: the first 8 hex digits of the SHA-256 of its whole text."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def passages(text: str) -> list[str]:
    """Return the passages of a text. A heading stays with the text that follows it."""
    found: list[str] = []
    headings: list[str] = []
    open_ = ""
    for block in _blocks(text):
        if _HEADING.match(block):
            found += [open_] if open_ else []
            headings, open_ = [*headings, block], ""
            continue
        for start, piece in enumerate(_pieces(block)):
            between = "\n\n" if start == 0 else "\n" if "\n" in block else " "
            if headings:
                above = "\n".join(headings)[: MOST_CHARS // 2]
                found += [open_] if open_ else []
                headings, open_ = [], above
                between = "\n"
            if open_ and len(open_) + len(between) + len(piece) > MOST_CHARS:
                found.append(open_)
                open_ = ""
            open_ = f"{open_}{between}{piece}" if open_ else piece
    return [*found, *([open_] if open_ else []), *(["\n".join(headings)[:MOST_CHARS]] if headings else [])]


def _blocks(text: str) -> Iterable[str]:
    """Yield paragraphs and headings."""
    for block in re.split(r"\n\s*\n", text):
        lines: list[str] = []
        for line in block.strip("\n").split("\n"):
            if _HEADING.match(line):
                if lines:
                    yield "\n".join(lines)
                lines = []
                yield line.strip()
            elif line.strip():
                lines.append(line.rstrip())
        if lines:
            yield "\n".join(lines)


def _pieces(block: str) -> Iterable[str]:
    """Yield a block in parts of at most 700 characters: as a whole, else its sentences or lines, else their words."""
    if len(block) <= MOST_CHARS:
        yield block
        return
    for line in block.split("\n"):
        for sentence in [line] if line.startswith("|") else _SENTENCE_END.split(line.strip()):  # a row stays whole
            while len(sentence) > MOST_CHARS:
                cut = sentence.rfind(" ", 1, MOST_CHARS + 1)
                cut = MOST_CHARS if cut < 0 else cut
                yield sentence[:cut].rstrip()
                sentence = sentence[cut:].lstrip()
            if sentence:
                yield sentence


def best(found: Sequence[str], question: str, count: int = MOST_CHOSEN) -> list[int]:
    """Return the positions of the ``count`` passages that fit a question best (BM25), in the order of the text.

    Those with words in common come before the others, of which the first are taken.
    """
    if len(found) <= count:
        return list(range(len(found)))
    ranked: list[int] = []
    words = dict.fromkeys(_WORD.findall(question.casefold()))
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(_TEXTS)
        database.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(found))
        if words:
            match = " OR ".join(f'"{word}"' for word in words)
            query = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts), rowid LIMIT ?"
            ranked = [at for (at,) in database.execute(query, (match, count))]
    others = (at for at in range(len(found)) if at not in set(ranked))
    return sorted([*ranked, *others][:count])
