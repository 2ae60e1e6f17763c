"""How times, money, counts, subtasks and other people's texts are put into words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import cast

from leadhand.domain.value import Json

LABEL_WIDTH = 60
_CONTROL = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"  # titles, links, device strings
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
"""Escape sequences, and control characters but tab and line feed: an answer must not steer the terminal it is on."""
LONGEST_LINE = 300
"""Characters of a line of progress: what tools and models say may be longer than anybody reads."""


def duration(seconds: float) -> str:
    """A duration: ``0.9 s``, ``42 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def age(then: datetime, now: datetime) -> str:
    """How long ago something was, in one unit."""
    seconds = max(0, int((now - then).total_seconds()))
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def money(usd: float | None) -> str:
    """US dollars: ``$1.50``, and small sums to two significant digits, ``$0.0042``."""
    if usd is None:
        return "cost unknown"
    if usd == 0:
        return "$0"
    if usd >= 0.1:
        return f"${usd:,.2f}"
    digits = max(2, min(9, 1 - int(f"{usd:e}".rpartition("e")[2])))
    whole, _, rest = f"{usd:.{digits}f}".partition(".")
    return f"${whole}.{rest.rstrip('0').ljust(2, '0')}"


def count(number: int, thing: str, things: str = "") -> str:
    """A number and what it counts: ``1 order``, ``3 orders``."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def spent(requests: int, tokens: int, cost_usd: float | None) -> str:
    """What model calls used."""
    if not requests:
        return "no model requests"
    used = [count(requests, "model request")]
    if tokens:
        used.append(count(tokens, "token"))
    return ", ".join([*used, money(cost_usd)])


def label(name: str, args: Mapping[str, Json]) -> str:
    """A subtask for people: its name and its arguments, so that siblings can be told apart."""
    told = ", ".join(_argument(value) for value in args.values() if value not in (None, "", [], {}))
    return shortened(f"{name} · {told}" if told else name, LABEL_WIDTH)


def child_label(name: str, whose: str) -> str:
    """What a worker asked another worker for, and whose it is."""
    return f"{name} (for {whose})"


def _argument(value: Json) -> str:
    match value:
        case {"$result": {"subtask": str() as subtask}}:
            return f"from {subtask}"
        case dict():
            return ", ".join(_argument(inner) for inner in cast("dict[str, Json]", value).values())
        case list():
            return ", ".join(_argument(inner) for inner in cast("list[Json]", value))
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)


def clean(text: str) -> str:
    """Text without control characters and escape sequences."""
    return _CONTROL.sub("", text)


def one_line(text: str) -> str:
    """Text on one line."""
    return " ".join(clean(text).split())


def sentence(text: str) -> str:
    """Text on one line, with a capital unless it begins with a command."""
    line = one_line(text)
    return line if line.startswith("leadhand ") else line[:1].upper() + line[1:]


def cut(text: str, most: int = LONGEST_LINE) -> str:
    """Text in a line of its own, columns kept, and of at most so many characters."""
    line = " ".join(clean(text[: 4 * most]).splitlines())
    return line if len(line) <= most and len(text) <= 4 * most else line[: most - 1].rstrip() + "…"


def shortened(text: str, width: int) -> str:
    """Text on one line and of at most ``width`` characters."""
    line = one_line(text)
    return line if len(line) <= width else line[: max(1, width - 1)].rstrip() + "…"
