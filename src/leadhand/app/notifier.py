"""Tells those who watch the runs of a process what happens; one that fails harms neither the run nor the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import ParamSpec

LOGGER = logging.getLogger("leadhand")

_P = ParamSpec("_P")


class Telling:
    """Calls watchers. Says once of each what class of error it raised, and not what the error says: that may hold
    what a run is about."""

    def __init__(self) -> None:
        self._said: set[tuple[str, str]] = set()

    def tell(self, watchers: Iterable[Callable[_P, None]], *args: _P.args, **kwargs: _P.kwargs) -> None:
        """Call every watcher with this, whatever the others raise."""
        for watcher in list(watchers):
            try:
                watcher(*args, **kwargs)
            except Exception as error:  # whoever watches is not the run
                self._say(getattr(watcher, "__qualname__", type(watcher).__qualname__), type(error).__qualname__)

    def _say(self, watcher: str, error: str) -> None:
        if (watcher, error) not in self._said:
            self._said.add((watcher, error))
            LOGGER.error("what watches runs has failed, and the runs go on: %s raised %s", watcher, error)
