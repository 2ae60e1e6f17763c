"""A text that a model is currently writing, as much of it as can be shown: whole words, with secrets redacted."""

from __future__ import annotations

from leadhand.engine.redaction import Redactor

LONGEST = 200_000
"""Maximum characters of one draft; further text is not shown."""


class Draft:
    """What one attempt has written. ``shown`` has no secrets; ``version`` changes when the text restarts."""

    __slots__ = ("_pieces", "_raw", "_restarted", "shown", "version")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._raw = ""
        self._restarted = False
        self.shown: str = ""
        self.version = 0

    def write(self, piece: str) -> None:
        """Add the next piece; an empty one restarts the text."""
        if not piece:
            self._pieces.clear()
            self._raw = self.shown = ""
            self._restarted = True
            self.version += 1
        elif len(self._raw) < LONGEST:
            self._pieces.append(piece)

    def show(self, redactor: Redactor) -> bool:
        """Update ``shown``, and return whether it has changed."""
        restarted, self._restarted = self._restarted, False
        if not self._pieces:
            return restarted
        self._raw += "".join(self._pieces)
        self._pieces.clear()
        text = redactor.unfinished(self._raw)
        if text == self.shown:
            return restarted
        if not text.startswith(self.shown):
            self.version += 1
        self.shown = text
        return True
