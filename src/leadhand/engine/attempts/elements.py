"""Read a JSON object while a model writes it: the elements of a list, or a text."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import takewhile

from pydantic_core import from_json

from leadhand.core.value import Json, object_of, text_of

_DECODER = json.JSONDecoder()
_ENDS = frozenset('}]",')
_AFTER_NUMBERS = frozenset(" \t\r\n,]")


class Elements:
    """Finds the elements of the list ``name`` of a JSON object whose text comes in pieces.

    An element is found when it is complete; text that is not JSON ends the list.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._rest = ""
        """The text after the latest element; before the list, the whole text."""
        self._in_list, self._is_first, self._over = False, True, False
        self.is_whole = False
        """Whether the last piece ended the list, and most likely the whole text with it."""

    def take(self, piece: str) -> list[Json]:
        """Return the elements that the next piece of the text completes, in order."""
        found: list[Json] = []
        known, self._rest = len(self._rest), self._rest + piece
        if not self._in_list:
            opened = (known + at + 1 for at, mark in enumerate(piece) if mark == "[")
            at = next((at for at in opened if self._begins(self._rest[:at])), 0)
            self._in_list, self._rest = at > 0, self._rest[at:]
        while self._in_list and not self._over and not _ENDS.isdisjoint(piece):
            text = self._rest.lstrip()
            self._over = text[:1] == "]" or bool(text and text[0] != "," and not self._is_first)
            self.is_whole = self._over and piece.rstrip("` \n").endswith("}")
            try:
                value, end = _DECODER.raw_decode(text := text if self._is_first else text[1:].lstrip())
            except (ValueError, RecursionError):
                break
            if self._over or (isinstance(value, int | float) and text[end : end + 1] not in _AFTER_NUMBERS):
                break
            found.append(value)
            self._rest, self._is_first = text[end:], False
        return found

    def _begins(self, text: str) -> bool:
        """Whether the list begins at the end of a text."""
        read = _read(text)
        return next(reversed(read), "") == self._name and read[self._name] == []


class DraftText:
    """Finds the text of the field ``name`` of a JSON object whose text comes in pieces, while it is written.

    ``may_show`` decides once, from the fields before it, whether the text is returned.
    """

    def __init__(self, name: str, may_show: Callable[[Json], bool]) -> None:
        self._name, self._may_show = name, may_show
        self._text, self._length = "", 0
        self._is_shown: bool | None = None

    def take(self, piece: str) -> str:
        """Return what the next piece adds to the text."""
        self._text += piece
        if self._is_shown is False:
            return ""
        read = _read(self._text)
        if self._name not in read:
            return ""
        if self._is_shown is None:
            self._is_shown = self._may_show({key: read[key] for key in takewhile(self._name.__ne__, read)})
        text = text_of(read[self._name]) if self._is_shown else ""
        new, self._length = text[self._length :], max(len(text), self._length)
        return new


def _read(text: str) -> dict[str, Json]:
    """Return the fields of an object as far as they are written; text before it, such as a code fence, is skipped."""
    try:
        return object_of(from_json(text[max(text.find("{"), 0) :], allow_partial="trailing-strings"))
    except ValueError:
        return {}
