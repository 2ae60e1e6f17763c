"""What a text looks like to a person: cut to a line, whether it shows anything, and which name was meant."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, cast

from .errors import UsageError

SHOWN = 3
"""Names of a list that people are shown."""
_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols by their category that are drawn as nothing: Hangul fillers, the blank Braille pattern."""

REDACTED = "[redacted]"
"""What the log has in place of a secret."""


def is_blank(text: str) -> bool:
    """Whether a text shows nothing: only spaces, control and format characters, combining marks or fillers."""
    return not ("!" <= text[:1] <= "~") and not any(
        unicodedata.category(mark)[0] in "LNPS" and mark not in _FILLERS for mark in text
    )


def is_said(value: Any, request: str) -> bool:
    """Whether a request contains this value as whole words or as a whole number, ignoring case, and not as a part of an
    address or a path; of an object or a list, all that is in it."""
    if isinstance(value, list | dict):
        inside = cast("dict[str, Any] | list[Any]", value)
        parts = [*(inside.values() if isinstance(inside, dict) else inside)]
        return bool(parts) and all(is_said(each, request) for each in parts)
    if isinstance(value, bool | None):
        return False
    said = str(value).strip() if isinstance(value, str) else f"{value:g}"
    whole = rf"(?<![\w.@/+]){re.escape(said)}(?!\w|[.@/+]\w)"
    return bool(said) and re.search(whole, request, re.IGNORECASE) is not None


def listed(names: Sequence[str]) -> str:
    """Format the first names of a list, and how many more there are: ``a, b, c and 2 more``."""
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean weather_tool?`` for a name that is not ``known``; "" if none of those is near."""
    from difflib import get_close_matches  # only messages need it

    near = get_close_matches(name, list(known), 1)
    return f" Did you mean {near[0]}?" if near else ""


def check_names(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise UsageError for the first option that ``what`` does not have."""
    names = list(known)
    for name in given:
        if name not in names:
            how = f"Choose from: {', '.join(names)}.{did_you_mean(name, names)}"
            raise UsageError(f"{what} has no option {name!r}", how)


# --- shortened -------------------------------------------------------------------------------------------------------

LONGEST_TEXT = 300
"""Maximum characters of a text in a list or a view; the event has the full text."""
LONGEST_LABEL = 80
MOST_ITEMS = 50
"""Maximum entries of a list or object that are shown."""


def cut(text: str, most: int = LONGEST_TEXT) -> str:
    """Cut text to at most ``most`` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def line(text: str, most: int = LONGEST_TEXT) -> str:
    """Put text on one line, of at most ``most`` characters."""
    return cut(" ".join(text[: 2 * most].split()), most)


def shortened(value: Any) -> Any:
    """Return JSON with long texts, lists and objects cut, and without the entries of objects that are null."""
    if isinstance(value, str):
        return cut(value)
    if isinstance(value, dict):
        entries = islice(cast("dict[str, Any]", value).items(), MOST_ITEMS)
        return {key: shortened(inner) for key, inner in entries if inner is not None}
    if isinstance(value, list | tuple):
        return [shortened(inner) for inner in cast("Sequence[Any]", value)[:MOST_ITEMS]]
    return value


def label(name: str, args: Mapping[str, Any]) -> str:
    """Return a name with its arguments, to distinguish siblings: ``check_weather · Paris, tomorrow``."""
    shown = ", ".join(filter(None, map(_word, args.values())))
    return line(f"{name} · {shown}" if shown else name, LONGEST_LABEL)


def _word(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case {"$result": {"subtask": str() as source}} | {"$step": str() as source}:
            return f"from {source}"
        case dict():
            return _word([*cast("dict[str, Any]", value).values()])
        case list() | tuple():
            items = cast("Sequence[Any]", value)[:MOST_ITEMS]
            return ", ".join(filter(None, map(_word, items)))
        case _:
            return str(value)
