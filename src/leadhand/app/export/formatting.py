"""Format durations, money, counts, subtasks and untrusted text for people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from leadhand.core.text import label as label_of
from leadhand.core.value import Json

LABEL_WIDTH = 60
SHORT_ID = 8
"""Characters of a run's id that people are shown."""
_RUN_ID = re.compile(r"run_[0-9a-z]{26}")
GLYPHS = {"pending": "·", "running": "◐", "waiting": "‖", "completed": "✓", "failed": "✗", "dropped": "–"}
"""A sign for each status of a subtask."""
_CONTROL = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"  # titles, links, device strings
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)
"""Escape sequences, and control characters except tab and line feed: an answer must not control the terminal.

Among them are those that change the direction of writing: they show a text in another order than it has.
"""
LONGEST_LINE = 300
"""The most characters in a line of progress."""


def duration(seconds: float) -> str:
    """Format a duration: ``0.9 s``, ``42 s``, ``3 min 20 s``, ``2 h 5 min``."""
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
    """Format how long ago something was, in one unit."""
    seconds = max(0, int((now - then).total_seconds()))
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def money(usd: float | None) -> str:
    """Format US dollars: ``$1.50``; small amounts with two significant digits: ``$0.0042``."""
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
    """Format a number with its noun: ``1 order``, ``3 orders``."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def short_id(text: str) -> str:
    """Return the beginning of a run's id that people are shown; any other text as it is."""
    return text[4 : 4 + SHORT_ID] if _RUN_ID.fullmatch(text) else text


def spent(requests: int, tokens: int, cost_usd: float | None, cached: int = 0, into_cache: int = 0) -> str:
    """Format the usage of model calls; of the tokens, ``cached`` were read from caches and ``into_cache`` written."""
    if not requests:
        return "no model requests"
    used = [count(requests, "model request")]
    if tokens:
        parts = [f"{cached:,} cached"] * bool(cached) + [f"{into_cache:,} written to cache"] * bool(into_cache)
        used.append(count(tokens, "token") + (f" ({', '.join(parts)})" if parts else ""))
    return ", ".join([*used, money(cost_usd)])


def label(name: str, args: Mapping[str, Json]) -> str:
    """Format a subtask: its name and its arguments."""
    return shortened(label_of(name, args), LABEL_WIDTH)


def clean(text: str) -> str:
    """Remove control characters and escape sequences."""
    return _CONTROL.sub("", text)


def one_line(text: str) -> str:
    """Put text on one line."""
    return " ".join(clean(text).split())


def sentence(text: str) -> str:
    """Put text on one line, and capitalise it unless it starts with a command."""
    line = one_line(text)
    return line if line.startswith("leadhand ") else line[:1].upper() + line[1:]


def shortened(text: str, width: int) -> str:
    """Put text on one line of at most ``width`` characters."""
    line = one_line(text)
    return line if len(line) <= width else line[: max(1, width - 1)].rstrip(" …") + "…"
