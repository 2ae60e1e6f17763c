"""Connects the parts of a service: the runtime writes to its drafts, which are made from the runtime."""

from __future__ import annotations

from leadhand.app.runtime import Runtime
from leadhand.server.drafts import Drafts
from leadhand.server.feeds import Feeds
from leadhand.server.service import Service


class Live:
    """Receives the text of models (``write`` is an :data:`~leadhand.engine.host.OnText`), and makes the service."""

    def __init__(self) -> None:
        self._drafts: Drafts | None = None

    def write(self, run_id: str, attempt: str, piece: str) -> None:
        """Add a piece of an attempt's text."""
        if self._drafts is not None:
            self._drafts.write(run_id, attempt, piece)

    def service(self, runtime: Runtime) -> Service:
        """Return the service of a runtime that was opened with :meth:`write`."""
        feeds: Feeds | None = None

        def changed(run_id: str) -> None:
            if feeds is not None:
                feeds.changed(run_id)

        self._drafts = Drafts(runtime.redactor, changed)
        feeds = Feeds(runtime.store, self._drafts)
        return Service(runtime, self._drafts, feeds)
