"""Read a JSON object while a model writes it: the elements of a list, or a text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from leadhand.core.value import Json

_MARK = re.compile(r'\\.?|["{}\[\],:]', re.DOTALL)
_OPENED = re.compile(r'\s*:\s*"')
_NOT_YET = re.compile(r"\s*:?\s*")
_HEX = "[0-9a-fA-F]"
_PAIR = rf"\\u[dD][89abAB]{_HEX}{{2}}\\u{_HEX}{{4}}"
_WHOLE = re.compile(rf'(?:[^"\\]|{_PAIR}|\\u(?![dD][89abAB]){_HEX}{{4}}|\\[^u])*', re.DOTALL)
"""Characters of a JSON string that are complete: a pair of escaped surrogates is one."""


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
        self.is_whole = False
        """Whether the last piece ended the list, and most likely the whole text with it."""

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
                self.is_whole = piece.rstrip("` \n").endswith("}")
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


class DraftText:
    """Finds the text of the field ``name`` of a JSON object whose text comes in pieces, while it is written.

    ``may_show`` decides once, from the fields before it, whether the text is returned.
    """

    def __init__(self, name: str, may_show: Callable[[Json], bool]) -> None:
        self._name = json.dumps(name)
        self._may_show = may_show
        self._read: list[str] = []
        self._length = self._start = self._key_at = self._depth = 0
        self._in_string = self._escaped = self._opened = self._over = False
        self._is_key = True  # a key of the object comes next
        self._rest: str | None = None  # what follows the key of the field and was not returned yet

    def take(self, piece: str) -> str:
        """Return what the next piece adds to the text."""
        if self._over or not piece:
            return ""
        if self._rest is not None:
            self._rest += piece
        else:
            self._find(piece)
        return "" if self._over or self._rest is None else self._added(self._rest)

    def _find(self, piece: str) -> None:
        """Look for the key of the field."""
        self._read.append(piece)
        first, self._escaped = int(self._escaped), False
        for match in _MARK.finditer(piece, first):
            mark, at = match[0], self._length + match.start()
            if mark[0] == "\\":
                self._escaped = len(mark) == 1
            elif mark == '"' and self._depth:
                self._in_string = not self._in_string
                if self._in_string and self._depth == 1 and self._is_key:
                    self._key_at = at
                elif self._depth == 1 and self._is_key:
                    self._is_key = False
                    text = "".join(self._read)
                    if text[self._key_at : at + 1] == self._name:
                        self._rest, self._over = text[at + 1 :], not self._is_shown(text[self._start : self._key_at])
                        return
            elif self._in_string:
                continue
            elif mark == "{" or (mark == "[" and self._depth):
                if not self._depth:  # text before the object, such as a code fence, is skipped
                    self._start = at
                self._depth += 1
            elif mark in "}]" and self._depth:
                self._depth -= 1
                self._over = not self._depth
            elif mark == "," and self._depth == 1:
                self._is_key = True
            if self._over:
                return
        self._length += len(piece)

    def _is_shown(self, before: str) -> bool:
        try:
            return self._may_show(json.loads(before.rstrip().removesuffix(",") + "}"))
        except (ValueError, RecursionError):
            return False

    def _added(self, rest: str) -> str:
        if not self._opened:
            found = _OPENED.match(rest)
            if found is None:
                self._over = _NOT_YET.fullmatch(rest) is None
                return ""
            self._opened, rest = True, rest[found.end() :]
        match = _WHOLE.match(rest)
        end = match.end() if match is not None else 0
        self._rest, self._over = rest[end:], rest[end : end + 1] == '"'
        try:
            return str(json.loads(f'"{rest[:end]}"', strict=False))
        except ValueError:
            self._over = True  # it is not JSON
            return ""
