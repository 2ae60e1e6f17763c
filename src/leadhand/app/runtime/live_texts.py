"""Who listens to the texts that models write in runs."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from leadhand.engine.session.host import OnText

if TYPE_CHECKING:
    from leadhand.dispatch.cluster.live_text import LiveText


class LiveTexts:
    """Passes live text on: to ``on_text``, if it is set, that of all runs, and to listeners that of theirs."""

    def __init__(self) -> None:
        self.on_text: OnText | None = None
        self._listeners: dict[str, list[OnText]] = {}
        self.elsewhere: LiveText | None = None
        """What passes texts on between processes; None if all are on this machine."""

    @property
    def shows_all(self) -> bool:
        """Whether the text of every run is shown here."""
        return self.on_text is not None

    def listener(self, run_id: str) -> OnText | None:
        """What receives the text that is written here for a run; None if nobody listens, so that no model streams."""
        if self.elsewhere is not None:
            return self.elsewhere.write
        return self.pass_on if self.on_text is not None or run_id in self._listeners else None

    def pass_on(self, run_id: str, attempt: str, piece: str) -> None:
        """Give a piece to those who listen here."""
        for listener in (*filter(None, [self.on_text]), *self._listeners.get(run_id, ())):
            listener(run_id, attempt, piece)

    @contextmanager
    def listening(self, run_id: str, listener: OnText) -> Generator[None]:
        """Give the text of a run to a listener, wherever it is written."""
        listeners = self._listeners.setdefault(run_id, [])
        listeners.append(listener)
        if self.elsewhere is not None:
            self.elsewhere.watch(run_id)
        try:
            yield
        finally:
            listeners.remove(listener)
            if not listeners:
                self._listeners.pop(run_id, None)
            if self.elsewhere is not None:
                self.elsewhere.unwatch(run_id)
