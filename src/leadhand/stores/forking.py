"""Close in a forked child what it inherits by accident: locks, sockets and the store itself."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Inherited(Protocol):
    """An object that a fork copies by accident. Its method runs in the child only, before any other code."""

    def after_fork_in_child(self) -> None: ...


_inherited: WeakSet[Inherited] = WeakSet()


def close_in_forked_child(thing: Inherited) -> None:
    """Call ``thing.after_fork_in_child()`` in every process that is forked while the object exists."""
    _inherited.add(thing)


def _close_all() -> None:
    for thing in list(_inherited):
        thing.after_fork_in_child()
    _inherited.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all)
