"""What a process gives its runs: the clock, their ids, and a garbage collector that is not in the way."""

from __future__ import annotations

import asyncio
import base64
import gc
import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import NamedTuple

TICK_S = 1.0
"""How often, in seconds, a :class:`SleepWatch` looks at the time."""
LATE_S = 5.0
"""How much later than that, in seconds, a look may be before the process counts as asleep."""


class SleepWatch:
    """Measures the time in which this process was not running: stopped, or the machine was suspended.

    A wall clock that is set forward looks the same, and is treated in the same way.
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._looked_at = now()
        self._asleep_s = 0.0

    def asleep_s(self) -> float:
        """Return the seconds that this process was asleep so far."""
        now = self._now()
        since, self._looked_at = now - self._looked_at, now
        if since > TICK_S + LATE_S:
            self._asleep_s += since
        return self._asleep_s

    async def watch(self) -> None:
        """Look at the time for as long as this runs."""
        while True:
            await asyncio.sleep(TICK_S)
            self.asleep_s()


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))


THRESHOLDS = (50_000, 50, 50)
"""Of the garbage collector while runs are driven. Their objects live as long as they do and form few cycles, and the
default thresholds have the collector go through them all again and again, which takes a quarter of the time."""
_driven = 0
_driven_lock = threading.Lock()
_before = THRESHOLDS


@contextmanager
def rare_collections() -> Generator[None]:
    """Raise the thresholds of the garbage collector until the last run that is driven meanwhile is released.

    Thresholds that the program has set higher, and a collector that it has switched off, stay as they are.
    """
    global _driven, _before
    with _driven_lock:
        _driven += 1
        if _driven == 1:
            _before = gc.get_threshold()
            if _before[0]:
                gc.set_threshold(*map(max, _before, THRESHOLDS))
    try:
        yield
    finally:
        with _driven_lock:
            _driven -= 1
            if not _driven and gc.get_threshold() == (*map(max, _before, THRESHOLDS),):
                gc.set_threshold(*_before)


class IdempotentId(NamedTuple):
    """The id of a new run, so that the same request twice makes one run, and the digest of the request."""

    run_id: str
    submission: str


def new_run_id() -> str:
    """Return a run id: ``run_`` and 26 random digits and letters, of which the first four usually name the run."""
    return run_id_of(os.urandom(16))


def run_id_of(random: bytes) -> str:
    """Return the run id that these 16 bytes make."""
    return f"run_{base64.b32encode(random).decode().rstrip('=').lower()}"
