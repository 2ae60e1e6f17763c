"""Takes "A-113 and of B-7 in warehouse north" apart: what a tool is asked about, one call each, and what else is said.

Only what is a list beyond doubt is taken for one. What may be one thing or two is neither: a wrong call is worse than
none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from leadhand.models.json_values import object_of, texts_of

from . import vocabulary as words
from .arguments import role_of, takes

_LONGEST_ITEM = 3  # words; a longer part belongs to a topic told in words
_SEPARATOR = re.compile(r"\s*[,;?]\s*(?:and\s+|or\s+)?|\s+(?:and|or|&)\s+", re.IGNORECASE)
_QUOTES = re.compile(r"\"([^\"]+)\"|“([^”]+)”|`([^`]+)`")
_LEADS = words.word_set("in at from of for with on by to within inside")
_ARTICLES = words.word_set("the a an our my")
_LEAVES_OUT = words.word_set("please thanks too also")


class Item(NamedTuple):
    """One thing to ask a tool about. ``named`` are values of parameters whose names were said; ``left`` is what the
    tool has no parameter for, with the word that leads to it."""

    text: str
    named: Mapping[str, str] = {}
    left: str = ""


class _Part(NamedTuple):
    item: Item
    led: bool  # it begins with the preposition once more: "and of B-7"


def items_of(said: str, behind: str, parameters: Mapping[str, Any]) -> list[Item] | str:
    """The items of ``behind``, what stands behind a tool's word in the words ``said`` of an ask.

    [] for a tool that takes no single free text, which this is nothing for; a text, why it cannot be said which they
    are.
    """
    properties = object_of(parameters.get("properties"))
    free = [name for name, schema in properties.items() if role_of(name) == "" and takes(schema, "string")]
    if not any(name in free for name in texts_of(parameters.get("required"))):
        return []
    quoted = [match[match.lastindex or 0].strip() for match in _QUOTES.finditer(said)]
    if len(quoted) > 1:
        return [Item(text) for text in quoted]
    if quoted or not behind:
        return []
    parts = [_part(text, free) for text in _SEPARATOR.split(behind)]
    parts = [part for part in parts if part.item.text or part.item.named]
    if not parts:
        return []
    if len(parts) == 1:
        return [parts[0].item]
    items = _shared([part.item for part in parts])
    if all(part.led for part in parts[1:]) or all(_is_code(item.text) for item in items):
        return items
    if any(len(item.text.split()) > _LONGEST_ITEM for item in items):
        return []
    joined = re.search(r"\s(?:and|or|&)\s", behind, re.IGNORECASE) is not None
    if joined and len(items) > 2:
        return items
    if not joined:
        return []  # "Springfield, Illinois"
    first, last = items[0].text, items[-1].text
    return f"whether “{first} and {last}” is one thing or two is not clear: put each into quotation marks"


def _part(text: str, free: list[str]) -> _Part:
    """One part of what may be a list, without the words that lead to it."""
    rest = text.strip(" \t\n:.-–—!").split()
    while rest and rest[-1].casefold() in _LEAVES_OUT:
        rest.pop()
    led = bool(rest) and rest[0].casefold() in _LEADS
    while rest and (rest[0].casefold() in words.LEADS_TO_TOPIC or rest[0].casefold() in _LEAVES_OUT):
        rest.pop(0)
    named: dict[str, str] = {}
    for name in free:
        rest = _take(rest, name, named)
    left = ""
    if rest and _is_code(rest[0]) and len(rest) > 2 and rest[1].casefold() in _LEADS:
        rest, left = rest[:1], " ".join(rest[1:])
    return _Part(Item(" ".join(rest), named, left), led)


def _take(rest: list[str], name: str, named: dict[str, str]) -> list[str]:
    """Takes "in warehouse north" or "in the north warehouse" out of the words, for the parameter ``warehouse``."""
    spoken = name.casefold().removesuffix("_name").removesuffix("_id").split("_")
    lows = [word.casefold() for word in rest]
    for at in range(len(lows) - len(spoken) + 1):
        end = at + len(spoken)
        if lows[at:end] != spoken:
            continue
        lead = next((index for index in range(at - 1, -1, -1) if lows[index] in _LEADS), -1)
        before = [word for word in rest[lead + 1 : at] if word.casefold() not in _ARTICLES] if lead >= 0 else []
        if before:  # "in the north warehouse"
            named[name] = " ".join(before)
            return [*rest[:lead], *rest[end:]]
        stop = next((index for index in range(end, len(lows)) if lows[index] in _LEADS), len(lows))
        if value := " ".join(rest[end:stop]).strip("=: "):
            named[name] = value
            return [*rest[: lead if lead >= 0 else at], *rest[stop:]]
    return rest


def _shared(items: list[Item]) -> list[Item]:
    """What was said behind the last of a list is said of those before it that have nothing of their own."""
    last = items[-1]
    if any(item.named or item.left for item in items[:-1]):
        return items
    return [item._replace(named={**last.named, **item.named}, left=last.left) for item in items]


def _is_code(text: str) -> bool:
    """Whether this can only be one name: ``A-113``, ``iPhone 15``, ``AAPL``."""
    few = 0 < len(text.split()) <= _LONGEST_ITEM
    return few and (any(character.isdigit() for character in text) or (len(text) > 1 and text.isupper()))
