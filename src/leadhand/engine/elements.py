"""Read the elements of a list while a model writes the JSON object that contains the list."""

from __future__ import annotations

import json
import re

from leadhand.domain.value import Json

_MARK = re.compile(r'\\.?|["{}\[\],:]', re.DOTALL)


class Elements:
    """Finds the elements of the list ``name`` of a JSON object whose text comes in pieces.

    Text before the object, such as a code fence, is skipped. Every character is read once. An element is found when it
    is complete; text that is not JSON ends the list.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._depth = 0
        self._in_string = self._escaped = self._in_list = self._over = False
        self._key: str | None = None  # None: a key of the object comes next
        self._kept: list[str] | None = None  # the text of a key or of an element until now

    def take(self, piece: str) -> list[Json]:
        """Return the elements that the next piece of the text completes, in order."""
        found: list[Json] = []
        if not piece or self._over:
            return found
        first, start = int(self._escaped), 0  # the text that is kept begins at `start` of this piece
        self._escaped = False
        for match in _MARK.finditer(piece, first):
            mark, at = match[0], match.start()
            if mark[0] == "\\":
                self._escaped = len(mark) == 1
            elif mark == '"' and self._depth:
                self._in_string = not self._in_string
                if self._depth == 1 and self._key is None:
                    if self._in_string:
                        self._kept, start = [], at
                    else:
                        self._key = self._decoded(piece[start : at + 1])
            elif self._in_string:
                continue
            elif mark in "{[":
                self._depth += 1 if self._depth or mark == "{" else 0
                if self._depth == 2 and mark == "[" and self._key == self._name:
                    self._in_list, self._kept, start = True, [], at + 1
                elif self._in_list and self._kept is None:
                    self._over = True  # no comma after the element before
            elif mark in "}]" and self._depth:
                self._depth -= 1
                if self._in_list and self._depth <= 2 and self._kept is not None:
                    text = piece[start : at + (self._depth == 2)]
                    if self._depth == 2 or not self._is_blank(text):
                        found += self._element(text)
                self._over = self._over or self._depth < (2 if self._in_list else 1)
            elif mark == "," and self._in_list and self._depth == 2:
                if self._kept is not None:
                    found += self._element(piece[start:at])
                self._kept, start = [], at + 1
            elif mark == "," and self._depth == 1:
                self._key = None
            if self._over:
                return found
        if self._kept is not None:
            self._kept.append(piece[start:])
        return found

    def _is_blank(self, text: str) -> bool:
        return not "".join((*(self._kept or ()), text)).strip()

    def _element(self, text: str) -> list[Json]:
        element = self._decoded(text)
        return [] if self._over else [element]

    def _decoded(self, text: str) -> Json:
        """Return the value of the text that is kept and ends with ``text``. Text that is not JSON ends the list."""
        kept, self._kept = self._kept or [], None
        try:
            return json.loads("".join((*kept, text)))
        except (ValueError, RecursionError):
            self._over = True
            return None
