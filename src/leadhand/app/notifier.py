"""Notify the watchers of a process's runs; a failing watcher affects neither the run nor other watchers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import ParamSpec

LOGGER = logging.getLogger("leadhand")

_P = ParamSpec("_P")


class Notifier:
    """Calls watchers. Logs each error class of a watcher once, without its message, which may quote a run's content."""

    def __init__(self) -> None:
        self._said: set[tuple[str, str]] = set()

    def notify(self, watchers: Iterable[Callable[_P, None]], *args: _P.args, **kwargs: _P.kwargs) -> None:
        """Call every watcher with these arguments, even if another one raises."""
        for watcher in list(watchers):
            try:
                watcher(*args, **kwargs)
            except Exception as error:  # a watcher must not fail the run
                self._say(getattr(watcher, "__qualname__", type(watcher).__qualname__), type(error).__qualname__)

    def _say(self, watcher: str, error: str) -> None:
        if (watcher, error) not in self._said:
            self._said.add((watcher, error))
            LOGGER.error("a watcher failed, and the run continues: %s raised %s", watcher, error)
