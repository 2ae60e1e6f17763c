"""The claims of an answer, stretches of a text that end with their citation or their block, or leaves of a value; and
the citations of a text: the ids in brackets that it names, in the notations that models use."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from leadhand.core.value import Json, compact_json, is_list, is_object
from leadhand.core.work_result import Claim

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

_CLOSING = re.compile(r"[^\s\w\[(【<]*(?:[ \t]*<?https?://[^\s<>]+>?)?")
"""What follows a citation belongs to its claim: a full stop, a bracket, the end of emphasis, an address."""
_LINE_END = re.compile(r"\r\n?|\n")
_MARKS = " \t>-*+#"
_MARKDOWN = frozenset({"markdown", "md"})


def claims_of_answer(answer: str, value: Json) -> list[Claim]:
    """Return the claims of a text and of a typed answer. A text that only writes the value as JSON has none of its
    own."""
    claims = [] if value is not None and answer == compact_json(value) else claims_of(answer)
    return [*claims, *claims_of_value(value, 1 + len(claims))]


def claims_of(text: str) -> list[Claim]:
    """Return the claims of a Markdown text in order. Each is a part of the text, unchanged.

    A paragraph, a heading, a list item, a row of a table and a block of code are a block; a block with citations ends a
    claim after each of them. Every letter, digit and symbol belongs to a claim, or to the header of one, except the
    information of a fence.
    """
    return [Claim(n=n, **each) for n, each in enumerate(_claims_of(text), start=1)]


def claims_of_value(value: Json, first: int = 1) -> list[Claim]:
    """Return a claim for each leaf of a typed answer, numbered from ``first``. What is null or empty claims nothing."""
    leaves = ((path, leaf) for path, leaf in _leaves(value, "") if leaf not in (None, ""))
    return [
        Claim(n=n, text=leaf if isinstance(leaf, str) else compact_json(leaf), path=path or "/")
        for n, (path, leaf) in enumerate(leaves, start=first)
    ]


def _leaves(value: Json, path: str) -> Iterator[tuple[str, Json]]:
    if is_object(value):
        for name, part in value.items():
            yield from _leaves(part, f"{path}/{name.replace('~', '~0').replace('/', '~1')}")
    elif is_list(value):
        for index, part in enumerate(value):
            yield from _leaves(part, f"{path}/{index}")
    else:
        yield path, value


@lru_cache(maxsize=16)
def _claims_of(text: str) -> list[dict[str, Json]]:
    return [
        {"text": text[begin:stop], "header": block.header, "cites": cites, "start": begin, "end": stop}
        for block in _blocks(text)
        for begin, stop, cites in _stretches(text, block)
    ]


# --- blocks ----------------------------------------------------------------------------------------------------------


class _Block(NamedTuple):
    """A block of a text, from ``start`` to ``end``; a row of a table may have a ``header``, and code cites nothing."""

    start: int
    end: int
    header: str = ""
    is_row: bool = False
    is_code: bool = False


def _blocks(text: str) -> list[_Block]:
    from markdown_it import MarkdownIt  # few processes judge

    offsets = [0, *(found.end() for found in _LINE_END.finditer(text)), len(text)]
    found: list[_Block] = []
    header, in_head, in_row, left = "", False, False, set(range(len(offsets) - 1))
    head = range(0)
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        in_head = token.type == "thead_open" or (in_head and token.type != "thead_close")
        in_row = token.type == "tr_open" or (in_row and token.type != "tr_close")
        if token.map is None or (token.type != "tr_open" if in_head else token.nesting and token.type != "tr_open"):
            continue
        first, last = token.map
        start, end = _trimmed(text, offsets[first], offsets[last])
        if in_head:  # it belongs to its rows, and is a claim of its own without any
            header, head = text[start:end], range(first, last)
            continue
        left.difference_update(range(first, last))
        if token.type == "tr_open":
            left.difference_update(head)
            found.append(_Block(start, end, header, is_row=True))
        elif token.type == "inline" and not in_row:
            line = text[start : offsets[first + 1]]
            marks = line[: max(line.rfind(token.content.partition("\n")[0]), 0)]  # the number of an item is kept
            found.append(_Block(start + len(marks) - len(marks.lstrip(_MARKS)), end))
        elif token.type == "fence":
            inner = offsets[first + 1 : last + 1]  # without the line that opens it, and the one that closes it
            closed = len(inner) > 1 and not text[inner[-2] : inner[-1]].strip(" \t\r\n>`~")
            start, end = (inner[0], inner[-2 if closed else -1]) if inner else (end, end)
            if token.info.strip().casefold() in _MARKDOWN:
                own = _blocks(text[start:end])
                found += [each._replace(start=start + each.start, end=start + each.end) for each in own]
            else:
                found.append(_Block(*_trimmed(text, start, end), is_code=True))
        elif token.type in ("code_block", "html_block"):
            found.append(_Block(start, end, is_code=token.type == "code_block"))
    # The parser leaves out where the links of a text lead, and what is nested too deeply.
    found += [_Block(*_trimmed(text, offsets[line], offsets[line + 1])) for line in left]
    return sorted(found)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())


def _stretches(text: str, block: _Block) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield the claims of a block: each ends with its citations, the last one with the block. A row is one claim."""
    inside = text[block.start : block.end]
    citations = () if block.is_code else tuple(citations_in(inside))
    found: list[tuple[int, int, list[str]]] = []
    begin = 0
    for citation in () if block.is_row else citations:
        closing = _CLOSING.match(inside, citation.end)
        stop = citation.end if closing is None else closing.end()
        if found and not _says(inside[begin : citation.start]):
            found[-1] = (found[-1][0], stop, [*found[-1][2], *citation.ids])
        else:
            found.append((begin, stop, list(citation.ids)))
        begin = stop
    rest = [id_ for each in (*citations_in(block.header), *citations) for id_ in each.ids] if block.is_row else []
    if _says(inside[begin:]):
        found.append((begin, len(inside), rest))
    elif found:
        found[-1] = (found[-1][0], len(inside), found[-1][2])
    for at, stop, ids in found:
        yield *_trimmed(text, block.start + at, block.start + stop), tuple(dict.fromkeys(ids))


def _says(text: str) -> bool:
    """Whether a text has a letter, a digit or a symbol such as an emoji."""
    return any(each.isalnum() or unicodedata.category(each) == "So" for each in text)


# --- citations -------------------------------------------------------------------------------------------------------


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
