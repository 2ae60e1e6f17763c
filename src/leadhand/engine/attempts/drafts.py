"""A text that a model is currently writing, as much of it as can be shown: whole words, with secrets redacted."""

from __future__ import annotations

from collections.abc import Callable

from leadhand.engine.redaction import Redactor

LONGEST = 200_000
"""Maximum characters of one text; further pieces are not passed on."""

_LONG = 500
_GROWTH = 16
"""A text longer than ``_LONG`` that cannot be shown yet, such as one without spaces, is read again once it is longer by
one part in this many: each reading takes as long as the text."""


class DraftWriter:
    """Passes the text of an attempt on to ``on_text`` while it is written.

    A secret may be split between two pieces, so only whole words that cannot become a part of one are passed on; the
    last ones follow at the end.
    """

    def __init__(self, redactor: Redactor, on_text: Callable[[str], None]) -> None:
        self._redactor = redactor
        self._on_text = on_text
        self._start_again()

    def write(self, piece: str) -> None:
        """Add the next piece; an empty one restarts the text."""
        if not piece:
            self._start_again()
            self._on_text("")
        elif self._length < LONGEST:
            self._length += len(piece)
            self._unsettled += piece
            if len(self._unsettled) < self._next:
                return
            shown, rest = self._redactor.unfinished(self._unsettled)
            self._pass_on(shown)
            if len(rest) < len(self._unsettled):
                self._unsettled, self._passed = rest, 0
            self._next = len(rest) + (len(rest) // _GROWTH if len(rest) > _LONG else 0)

    def end(self) -> None:
        """Pass on what is left: the model has written all of its text."""
        if self._length < LONGEST:
            self._pass_on(self._redactor.text(self._unsettled))

    def _start_again(self) -> None:
        self._length = self._passed = self._next = 0
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
