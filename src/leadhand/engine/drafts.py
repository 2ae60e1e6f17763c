"""A text that a model is currently writing, as much of it as can be shown: whole words, with secrets redacted."""

from __future__ import annotations

from collections.abc import Callable

from leadhand.engine.redaction import Redactor

LONGEST = 200_000
"""Maximum characters of one draft; further text is not shown."""


class Draft:
    """What one attempt has written. ``shown`` has no secrets; ``version`` changes when the text restarts."""

    __slots__ = ("_pieces", "_raw", "_restarted", "_settled", "shown", "version")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._raw = self._settled = ""
        self._restarted = False
        self.shown: str = ""
        self.version = 0

    def write(self, piece: str) -> None:
        """Add the next piece; an empty one restarts the text."""
        if not piece:
            self._pieces.clear()
            self._raw = self._settled = self.shown = ""
            self._restarted = True
            self.version += 1
        elif len(self._settled) + len(self._raw) < LONGEST:
            self._pieces.append(piece)

    def show(self, redactor: Redactor, *, whole: bool = False) -> bool:
        """Update ``shown``, and return whether it has changed; ``whole``: nothing follows what was written."""
        restarted, self._restarted = self._restarted, False
        if not self._pieces and not whole:
            return restarted
        self._raw += "".join(self._pieces)
        self._pieces.clear()
        text, rest = (redactor.text(self._raw), "") if whole else redactor.unfinished(self._raw)
        shown = self._settled + text
        if len(rest) < len(self._raw):
            self._settled, self._raw = shown, rest
        if shown == self.shown:
            return restarted
        if not shown.startswith(self.shown):
            self.version += 1
        self.shown = shown
        return True


class DraftWriter:
    """Passes the text of an attempt on to ``on_text`` while it is written, as :class:`Draft` shows it.

    What is passed on in pieces is the text without its secrets, once its end was noted.
    """

    def __init__(self, redactor: Redactor, on_text: Callable[[str], None]) -> None:
        self._redactor = redactor
        self._on_text = on_text
        self._draft = Draft()
        self._passed = 0

    def write(self, piece: str) -> None:
        """Add the next piece; an empty one restarts the text."""
        self._draft.write(piece)
        if piece:
            self._pass_on()
        else:
            self._passed = 0
            self._on_text("")

    def end(self) -> None:
        """Pass on what is left: the model has written all of its text."""
        self._pass_on(whole=True)

    def _pass_on(self, *, whole: bool = False) -> None:
        self._draft.show(self._redactor, whole=whole)
        if new := self._draft.shown[self._passed :]:
            self._passed += len(new)
            self._on_text(new)
