"""What a model is currently writing: text that can be shown, and complete elements of structured answers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

from pydantic_core import from_json

from leadhand.core.value import Json, is_list, object_of, text_of
from leadhand.engine.redaction import Redactor

LONGEST = 200_000
"""Maximum characters of one text; further pieces are not passed on."""
LONGEST_WORD = 2_000
"""Characters that cannot be shown yet, after which the rest of a text is shown at its end only."""


class DraftWriter:
    """Passes the text of an attempt on to ``on_text`` while it is written.

    A secret may be split between two pieces, so only whole words that cannot become a part of one are passed on; the
    last ones follow at the end.
    """

    def __init__(self, redactor: Redactor, on_text: Callable[[str], None], seal: Callable[[str], str]) -> None:
        """``seal`` returns a text without its secrets."""
        self._redactor, self._on_text, self._seal = redactor, on_text, seal
        self._start_again()

    def write(self, piece: str) -> None:
        """Add the next piece; an empty one restarts the text."""
        if not piece:
            self._start_again()
            self._on_text("")
        elif self._length < LONGEST:
            self._length += len(piece)
            self._unsettled += piece
            if len(self._unsettled) > LONGEST_WORD + len(piece):
                return
            stop = self._redactor.settled(self._unsettled)
            self._pass_on(self._seal(self._unsettled[:stop]))
            if stop:
                self._unsettled, self._passed = self._unsettled[stop:], 0

    def end(self) -> None:
        """Pass on what is left: the model has written all of its text."""
        if self._length < LONGEST:
            self._pass_on(self._seal(self._unsettled))

    def _start_again(self) -> None:
        self._length = self._passed = 0
        self._unsettled = ""

    def _pass_on(self, shown: str) -> None:
        """Pass on what follows the part of the unsettled text that was passed on before."""
        if new := shown[self._passed :]:
            self._passed = len(shown)
            self._on_text(new)


class Draft:
    """What has been passed on of one attempt's text. ``version`` changes when the text restarts."""

    __slots__ = ("_pieces", "version")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.version = 0

    def write(self, piece: str) -> None:
        """Add the next piece; an empty one restarts the text."""
        if piece:
            self._pieces.append(piece)
        else:
            self._pieces.clear()
            self.version += 1

    @property
    def shown(self) -> str:
        """The text so far."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return "".join(self._pieces)


# --- structured answers ----------------------------------------------------------------------------------------------

ANSWER = "answer"
"""The field whose text is shown while it is written."""
_ENDS = frozenset('}]",')


class Written:
    """A JSON object whose text comes in pieces.

    The elements of its list ``name`` are found when they are complete; text that is not JSON ends the list.
    ``may_show`` decides once, from the fields before it, whether the text of :data:`ANSWER` is returned.
    """

    def __init__(self, name: str = "", may_show: Callable[[Json], bool] | None = None) -> None:
        self._name, self._may_show = name, may_show
        self._text = ""
        self._found = self._length = 0
        self._is_shown = None if may_show is not None else False
        self.is_whole = False
        """Whether the last piece ended the object."""

    def take(self, piece: str) -> tuple[list[Json], str]:
        """Return the elements that the next piece of the text completes, in order, and what it adds to the answer."""
        self._text += piece
        has_elements = bool(self._name) and not _ENDS.isdisjoint(piece)
        has_answer = self._is_shown is not False and f'"{ANSWER}"' in self._text
        if not (has_elements or has_answer):
            return [], ""
        begun = self._text[max(self._text.find("{"), 0) :]
        text = begun.rstrip("` \n")  # without words and a code fence around it
        read = _read(begun) or _read(text) or {}
        self.is_whole = has_elements and _read(text, whole=True) is not None
        return self._elements(read, text) if has_elements else [], self._answer(read) if has_answer else ""

    def _elements(self, read: dict[str, Json], text: str) -> list[Json]:
        values = read.get(self._name)
        if not is_list(values):
            return []
        settled = text.removesuffix(",")
        is_over = next(reversed(read)) != self._name or self.is_whole or _read(text + "}", whole=True)
        # A number or a word may go on.
        is_complete = (settled != text or not text[-1:].isalnum()) and _read(settled + "]}", whole=True)
        complete = values if is_over or is_complete else values[:-1]
        new, self._found = complete[self._found :], max(len(complete), self._found)
        return new

    def _answer(self, read: dict[str, Json]) -> str:
        if ANSWER not in read:
            return ""
        if self._is_shown is None and self._may_show is not None:
            self._is_shown = self._may_show({key: read[key] for key in takewhile(ANSWER.__ne__, read)})
        text = text_of(read[ANSWER]) if self._is_shown else ""
        new, self._length = text[self._length :], max(len(text), self._length)
        return new


def _read(text: str, *, whole: bool = False) -> dict[str, Json] | None:
    """Return the fields of an object as far as they are written; None if the text is not JSON, or not ``whole``."""
    try:
        return object_of(from_json(text, allow_partial=False if whole else "trailing-strings"))
    except ValueError:
        return None
