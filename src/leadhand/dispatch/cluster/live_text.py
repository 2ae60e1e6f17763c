"""Live text across processes: what a model is writing here, for those who watch its run elsewhere, and the reverse.

A process says every two seconds which runs it watches. The processes that carry out attempts of these runs then send
what they have written, a few times a second. Texts come without secrets (see `engine/session/drafts.py`), and are
never stored. A message that is lost is harmless: the next one does not continue what has arrived, so the whole text is
asked for again, and the finished text is in the log.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from leadhand.engine.session.drafts import Draft
from leadhand.engine.session.host import OnText
from leadhand.stores.postgres.messages import LARGEST_MESSAGE, MessageBus

EVERY_S = 0.25
"""Seconds between two looks at what there is to send, while anybody watches."""
WATCHING_S = 2.0
"""Seconds between two messages about what is watched here."""
FORGOTTEN_S = 7.0
"""Seconds after which a run counts as watched no longer, unless its watchers are heard of again."""
PART = 1_200
"""The most characters in one message: each has up to six bytes in JSON."""
IN_ONE = 50
"""The most runs in one message about what is watched."""


class LiveText:
    """Passes live text on between this process and others. ``on_text`` gets the text of watched runs from everywhere.

    Belongs to one event loop.
    """

    def __init__(self, bus: MessageBus, on_text: OnText) -> None:
        self._bus = bus
        self._on_text = on_text
        self._written: dict[str, dict[str, _Written]] = {}
        """The texts of attempts that are carried out here, by run and attempt."""
        self._watched: dict[str, float] = {}
        """The runs that other processes watch, and until when."""
        self._watching: dict[str, int] = {}
        """How many watch a run here."""
        self._heard: dict[str, dict[str, tuple[int, int]]] = {}
        """The version and the length of texts from elsewhere, by run and attempt."""
        self._timer: asyncio.TimerHandle | None = None
        self._repeat_at = 0.0
        """When to say again what is watched here."""

    def start(self) -> None:
        """Begin to hear of others."""
        self._bus.listen(self._hear, lambda: self._ask(self._watching, whole=True))

    def _run(self) -> None:
        """Send what there is to send, now and then, while anybody watches."""
        if self._timer is None and (self._watching or self._watched):
            self._timer = asyncio.get_running_loop().call_later(EVERY_S, self._send)

    def _send(self) -> None:
        self._timer, now = None, asyncio.get_running_loop().time()
        self._watched = {run_id: until for run_id, until in self._watched.items() if until > now}
        for run_id in self._watched.keys() & self._written.keys():
            for attempt, written in self._written[run_id].items():
                parts = written.news()
                self._say(["text", run_id, attempt, written.draft.version, start, text] for start, text in parts)
        if now >= self._repeat_at:
            self._repeat_at = now + WATCHING_S
            self._ask(self._watching, whole=False)
        self._run()

    def _say(self, messages: Iterable[list[Any]]) -> None:
        said = [json.dumps(message, ensure_ascii=False).encode(errors="replace") for message in messages]
        self._bus.send([each.decode() for each in said if len(each) <= LARGEST_MESSAGE])

    def _ask(self, runs: Iterable[str], *, whole: bool) -> None:
        watched = list(runs)
        self._say(["watch", watched[start : start + IN_ONE], whole] for start in range(0, len(watched), IN_ONE))

    # --- text that is written here --------------------------------------------------------------------------------

    def write(self, run_id: str, attempt: str, piece: str) -> None:
        """Add a piece of a text that is written here: an :data:`leadhand.engine.session.host.OnText`."""
        self._on_text(run_id, attempt, piece)
        texts = self._written.setdefault(run_id, {})
        if attempt not in texts:
            texts[attempt] = _Written()
        texts[attempt].draft.write(piece)

    def ended(self, run_id: str, attempt: str) -> None:
        """Forget the text of an attempt that has ended: it is in the log."""
        texts = self._written.get(run_id)
        if texts is not None and texts.pop(attempt, None) is not None and not texts:
            del self._written[run_id]

    # --- text that is watched here --------------------------------------------------------------------------------

    def watch(self, run_id: str) -> None:
        """Pass on the text of a run, wherever it is written, until as many calls of :meth:`unwatch`."""
        self.start()
        self._watching[run_id] = self._watching.get(run_id, 0) + 1
        self._ask([run_id], whole=True)
        self._run()

    def unwatch(self, run_id: str) -> Collection[str]:
        """Watch a run no longer, and return the attempts whose text came from elsewhere, if nobody else does."""
        left = self._watching.pop(run_id, 0) - 1
        if left > 0:
            self._watching[run_id] = left
            return ()
        return self._heard.pop(run_id, {}).keys()

    def again(self, run_id: str) -> None:
        """Ask for the whole text of a run if it is watched: what had arrived was forgotten."""
        self._heard.pop(run_id, None)
        if run_id in self._watching:
            self._ask([run_id], whole=True)

    # --- messages of others ---------------------------------------------------------------------------------------

    def _hear(self, message: str) -> None:
        try:
            said: Any = json.loads(message)
        except ValueError:
            return  # of another program
        match said:
            case ["watch", list(), bool(whole), *_]:
                for run_id in said[1]:
                    self._note_watched(str(run_id), whole=whole)
            case ["text", str(run_id), str(attempt), int(version), int(start), str(text), *_]:
                if run_id in self._watching:
                    self._take(run_id, attempt, version, start, text)
            case _:
                return  # of a later release

    def _note_watched(self, run_id: str, *, whole: bool) -> None:
        if whole or run_id not in self._watched:
            for written in self._written.get(run_id, {}).values():
                written.sent = (-1, 0)
        self._watched[run_id] = asyncio.get_running_loop().time() + FORGOTTEN_S
        self._run()

    def _take(self, run_id: str, attempt: str, version: int, start: int, text: str) -> None:
        heard = self._heard.setdefault(run_id, {})
        known, length = heard.get(attempt, (version, 0))
        if known != version:
            self._on_text(run_id, attempt, "")
            length = 0
        new = text[max(0, length - start) :]
        if start <= length and new:
            self._on_text(run_id, attempt, new)
            length += len(new)
        heard[attempt] = version, length
        if start > length:
            self._ask([run_id], whole=True)


class _Written:
    """A text that is written here; ``sent`` is the version, and how much of it was sent."""

    def __init__(self) -> None:
        self.draft = Draft()
        self.sent = (0, 0)

    def news(self) -> Iterator[tuple[int, str]]:
        """Yield what was not sent, in parts with their offsets; an empty one says that the text starts again."""
        shown = self.draft.shown
        version, start = self.sent
        if version != self.draft.version:
            start = 0
            if not shown:
                yield 0, ""
        for place in range(start, len(shown), PART):
            yield place, shown[place : place + PART]
        self.sent = self.draft.version, len(shown)
