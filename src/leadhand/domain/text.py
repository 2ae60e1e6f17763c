"""What a text looks like to a person: whether there is anything to read, whether it is an error, what it means."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches
from typing import Any, cast

from .errors import UsageError
from .value import Json, is_list, is_object

_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols by their category that are drawn as nothing: Hangul fillers, the blank Braille pattern."""
_ERROR = re.compile(
    r"""\W*(?:
        (?:error|fehler|erreur)\s*[:!]                                     # ERROR: …
        | traceback\s\(most\srecent
        | \{?\W*(?:"iserror"\W+true|"error"\s*:)                           # {"isError": true …
        | (?P<own>
            (?:(?:i['’]m|i\sam)\s)?(?:sorry|unfortunately|regrettably)\W+i\s
            | (?:i|we)\s(?:could\snot|couldn['’]t|cannot|can['’]t|can\snot|failed|(?:was|were|am|are)\sunable)\b
            )
        )""",
    re.IGNORECASE | re.VERBOSE,
)


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


def error_in(text: str) -> str:
    """Return the words by which a result says that it failed; "" if it does not begin with such words."""
    found = _ERROR.match(text)
    if found is None or (found["own"] and re.search(r"\d", text)):
        return ""  # "I could not find the wind; it has 14 °C" is a result, with what it lacks
    return found[0].strip()


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


_FIGURES = late_pattern(r"[\d_]+")


def stated_lines(value: Json, name: str = "it", known: Collection[Json] = ()) -> Iterator[str]:
    """Return a value as sentences, one for each text and number in it that is not ``known``.

    Figures in the names of fields state nothing.
    """
    if is_object(value):
        for key, part in value.items():
            yield from stated_lines(part, _FIGURES.sub(" ", key), known)
    elif is_list(value):
        for part in value:
            yield from stated_lines(part, name, known)
    elif value is not None and value not in known:
        yield str(value) if error_in(str(value)) else f"{name} is {value}"
