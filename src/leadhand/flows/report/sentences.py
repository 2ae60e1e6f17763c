"""The sentences of a Markdown text, each with its place; a list item, a heading and the row of a table are read apart.

The lines are read as a person reads them. What is not Markdown stays text, so no text is lost: every word of a draft is
in exactly one sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from leadhand.domain.figures import MONTHS

from .vocabulary import ABBREVIATIONS, AFTER_ORDINAL, BEFORE_NUMBER, BEFORE_ORDINAL, BEGINNERS, CLOSING


class Kind(StrEnum):
    """What a sentence is part of."""

    TEXT = "text"
    ITEM = "item"
    ROW = "row"
    HEADER = "header"
    HEADING = "heading"
    CODE = "code"
    FOOTNOTE = "footnote"


class Sentence(NamedTuple):
    """A sentence: ``text`` begins at ``offset`` of the draft, in line ``line`` (from 1).

    ``block`` counts paragraphs, items, rows and headings.
    """

    text: str
    offset: int
    line: int
    kind: Kind
    block: int


class _Block(NamedTuple):
    kind: Kind
    start: int
    end: int


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"\s{0,3}#{1,6}(?:\s+|$)")
_ITEM = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,3}[.)])(?:[ \t]+\[[ xX]\])?[ \t]+(?=\S)")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|=+[ \t]*)")
_DELIMITER = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_NOTE = re.compile(r" {0,3}\[\^?[\w.-]{1,40}\]:[ \t]+")
_QUOTE = re.compile(r"[ \t]*>[ \t>]*")

MARK = (
    r"(?:[\[(【]\s*\^?p\s?\d{1,5}\b[^\[\]()【】\n]{0,60}[\])】]|\[\^?\d{1,4}\]|\[\^[\w.-]{1,40}\]"
    r"|\[[0-9a-f]{8}\.\d{1,5}\])"
)
"""A citation in a text, in the notations that models use: [p3], [p3, p7], (p3), [3], [^3], [3f9a1c20.1]."""
_NAMED = re.compile(r"p\s?(\d{1,5})(?:\s*(?:-|–|to|bis)\s*p?\s?(\d{1,5}))?", re.IGNORECASE)
_BARE = re.compile(r"(?<=[,;&])\s*(\d{1,5})(?=\s*[,;&\])】])")
_LONGEST_RANGE = 50
_STOP = re.compile(
    rf"(?P<stop>[.!?…]+|[。\uff01\uff1f])(?P<close>(?:\s?»|[\"'”’“)\]*_~`])*)(?P<marks>(?:\s*{MARK})*)", re.IGNORECASE
)
_SPAN = re.compile(
    r"“[^“”]{0,800}”|„[^„“”]{0,800}[“”]|«[^«»]{0,800}»|(?<!\w)\"[^\"\n]{0,800}\"|`[^`\n]{1,200}`|\([^()\n]{0,300}\)"
)
_OPENING = " \t\r\n\"'“„«»([*_~`>¿¡\u2018”"


def named_in(mark: str) -> list[str]:
    """Return the names of the passages in a citation, in order: of [p3, p7], [p3, 7], [p3-p5]; none of [3]."""
    found: list[str] = []
    for first, last in _NAMED.findall(mark):
        numbers = [int(first), *([int(last)] if last else [])]
        if last and 0 < numbers[1] - numbers[0] < _LONGEST_RANGE:
            numbers = list(range(numbers[0], numbers[1] + 1))
        found += [f"p{number}" for number in numbers]
    return [*found, *(f"p{number}" for number in _BARE.findall(mark))] if found else []


def sentences_of(draft: str) -> list[Sentence]:
    """Return the sentences of a Markdown text, in order. ``text`` is the draft from ``offset`` on, unchanged."""
    found: list[Sentence] = []
    line, at = 1, 0
    for number, block in enumerate(_blocks(draft)):
        for start, end in _parts(draft, block):
            line += draft.count("\n", at, start)
            at = start
            found.append(Sentence(draft[start:end], start, line, block.kind, number))
    return found


def _blocks(draft: str) -> Iterator[_Block]:
    lines: list[tuple[int, int]] = []
    at = 0
    for text in draft.split("\n"):
        lines.append((at, at + len(text)))
        at += len(text) + 1
    number = 0
    while number < len(lines):
        start, end = lines[number]
        text = draft[start:end]
        number += 1
        if not text.strip(" \t\r>") or _RULE.fullmatch(text.rstrip("\r")):
            continue
        fence = _FENCE.match(text)
        if fence is not None:
            while number < len(lines) and not draft[slice(*lines[number])].lstrip().startswith(fence[1]):
                number += 1
            yield _Block(Kind.CODE, start, lines[min(number, len(lines) - 1)][1])
            number += 1
            continue
        below = draft[slice(*lines[number])] if number < len(lines) else ""
        if heading := _HEADING.match(text):
            yield _Block(Kind.HEADING, start + heading.end(), end)
        elif "|" in text and "-" in below and _DELIMITER.fullmatch(below.rstrip("\r")):
            yield _Block(Kind.HEADER, start, end)
            number += 1
            while number < len(lines) and "|" in draft[slice(*lines[number])]:
                yield _Block(Kind.ROW, *lines[number])
                number += 1
        elif note := _NOTE.match(text):
            number, end = _continued(draft, lines, number)
            yield _Block(Kind.FOOTNOTE, start + note.start(), end)
        elif below.strip() and re.fullmatch(r" {0,3}(?:=+|-{2,})[ \t\r]*", below) and not _ITEM.match(text):
            yield _Block(Kind.HEADING, start, end)
            number += 1
        else:
            item = _ITEM.match(text) or _QUOTE.match(text)
            kind = Kind.ITEM if _ITEM.match(text) else Kind.TEXT
            number, end = _continued(draft, lines, number)
            yield _Block(kind, start + (item.end() if item is not None else 0), end)


def _continued(draft: str, lines: list[tuple[int, int]], number: int) -> tuple[int, int]:
    """Return the line after a paragraph that line ``number`` may continue, and where the paragraph ends."""
    while number < len(lines):
        text = draft[slice(*lines[number])]
        if not text.strip(" \t\r>") or any(each.match(text) for each in (_FENCE, _HEADING, _ITEM, _NOTE)):
            break
        below = draft[slice(*lines[number + 1])] if number + 1 < len(lines) else ""
        if _RULE.fullmatch(text.rstrip("\r")) or (
            "|" in text and "-" in below and _DELIMITER.fullmatch(below.rstrip("\r"))
        ):
            break
        number += 1
    return number, lines[number - 1][1]


def _parts(draft: str, block: _Block) -> Iterator[tuple[int, int]]:
    """The sentences of a block, without the white space around them."""
    begin = block.start
    if block.kind not in (Kind.ROW, Kind.HEADER, Kind.CODE, Kind.HEADING):
        text = draft[block.start : block.end]
        inside = [(span.start(), span.end()) for span in _SPAN.finditer(text)]
        next_span = 0
        for stop in _STOP.finditer(text):
            while next_span < len(inside) and inside[next_span][1] <= stop.start():
                next_span += 1
            quoted = next_span < len(inside) and inside[next_span][0] < stop.start() < inside[next_span][1]
            if quoted and stop.end("close") < inside[next_span][1]:
                continue
            end = _end(text, stop)
            if end is not None and text[begin - block.start : end].strip():
                yield from _stripped(draft, begin, block.start + end)
                begin = block.start + end
    yield from _stripped(draft, begin, block.end)


def _stripped(draft: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    while begin < end and draft[begin].isspace():
        begin += 1
    while begin < end and draft[end - 1].isspace():
        end -= 1
    if begin < end:
        yield begin, end


def _end(text: str, stop: re.Match[str]) -> int | None:
    """Where the sentence ends that a point, a question mark or the like may end; None if it goes on."""
    end = stop.end()
    after = text[end:]
    if stop["marks"] and _starts_small(after):  # "… 30 %. [p3] says that …": the citation begins the next sentence
        end = stop.end("close")
        return end if text[end : end + 1].isspace() and stop["stop"][-1] in ".!?…" else None
    if stop["stop"] in "。\uff01\uff1f":
        return end
    if after and not after[0].isspace():
        return None
    if not after.strip():
        return end
    if _starts_small(after):
        return None
    if stop["stop"] != "." or stop["marks"]:
        return end
    return None if _abbreviated(text[max(0, stop.start() - 60) : stop.start()], after) else end


def _starts_small(after: str) -> bool:
    first = after.lstrip(_OPENING)[:1]
    return first.islower() or first in (",", ";", ":", "–", "—") or (first == "-" and not after.startswith("\n"))


def _abbreviated(before: str, after: str) -> bool:
    words = before.split()
    if not words:
        return True
    word = words[-1].lstrip("([„“\"'«*_").casefold()
    begins = re.match(r"[^\W_]+", after.lstrip(_OPENING))
    following = begins[0].casefold() if begins is not None else ""
    new = following in BEGINNERS
    if word in CLOSING:
        return not (begins is not None and begins[0][0].isupper())
    if word in ABBREVIATIONS:
        return True
    if word in BEFORE_NUMBER and following[:1].isdigit():
        return True
    if len(words) > 1 and words[-2][-1].isdigit() and word.isalpha():
        return False  # a unit: 60 m.
    if (len(word) == 1 and word.isalpha()) or re.fullmatch(r"(?:[^\W\d_]\.)+[^\W\d_]", word):
        return not (new and not (len(words) > 1 and words[-2].casefold().rstrip(".") in ("z", "d", "u", "p")))
    if re.fullmatch(r"\d{1,2}", word):
        previous = words[-2].casefold() if len(words) > 1 else ""
        return not previous or following in MONTHS or following in AFTER_ORDINAL or previous in BEFORE_ORDINAL
    return False
