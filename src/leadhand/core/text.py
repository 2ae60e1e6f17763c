"""What a text looks like to a person: whether there is anything to read, and which name was probably meant."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, cast

from .errors import UsageError

SHOWN = 3
"""Names of a list that people are shown."""
_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols by their category that are drawn as nothing: Hangul fillers, the blank Braille pattern."""


class _LatePattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, value)
        return value


def late_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled when it is first used: a short run uses few of them."""
    return cast("re.Pattern[str]", _LatePattern(pattern, flags))


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters, and those that change the direction of the text around them."""


def line_problem(text: str) -> str:
    """Return why a text is not one line that can be shown as it is, such as ``has more than one line``; "" if it is."""
    if len(f"{text}.".splitlines()) > 1:
        return "has more than one line"
    found = _CONTROL.search(text)
    return f"has a control character, {found[0]!r}" if found is not None else ""


def is_blank(text: str) -> bool:
    """Whether a text shows nothing: only spaces, control and format characters, combining marks or fillers."""
    return not any(unicodedata.category(mark)[0] in "LNPS" and mark not in _FILLERS for mark in text)


def listed(names: Sequence[str]) -> str:
    """Format the first names of a list, and how many more there are: ``a, b, c and 2 more``."""
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean weather_tool?`` for a name that is not ``known``; "" if none of those is near."""
    near = get_close_matches(name, list(known), 1)
    return f" Did you mean {near[0]}?" if near else ""


def check_names(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise UsageError for the first option that ``what`` does not have."""
    names = list(known)
    for name in given:
        if name not in names:
            how = f"Choose from: {', '.join(names)}.{did_you_mean(name, names)}"
            raise UsageError(f"{what} has no option {name!r}", how)
