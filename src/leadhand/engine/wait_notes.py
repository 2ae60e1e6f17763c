"""Record in the log what attempts wait for, without a record for each attempt or for each of many short waits."""

from __future__ import annotations

import time

from leadhand.domain.events import NoteEmitted
from leadhand.engine.log import RunLog

ANNOUNCED_S = 5.0
"""Waits for a rate limit are recorded from so many seconds on; one record stands for others of the same length."""


class WaitNotes:
    """The waits for rate limits that were recorded, by run and reason: since when, and until when the record stands."""

    def __init__(self) -> None:
        self._announced: dict[tuple[str, str], tuple[float, float]] = {}

    def announce(self, log: RunLog, attempt: str, reason: str, seconds: float) -> None:
        """Record what an attempt waits for, unless others of its run wait for the same about as long.

        The longer the waits for the same follow each other, the fewer are recorded.
        """
        now, key = time.monotonic(), (log.run_id, reason)
        since, until = self._announced.get(key, (now, 0.0))
        if seconds >= ANNOUNCED_S and now + seconds > until + ANNOUNCED_S:
            kept = {key: (began, ends) for key, (began, ends) in self._announced.items() if 2 * ends - began > now}
            self._announced = {**kept, key: (since, now + 2 * seconds + (now - since))}
            message = f"waiting {seconds:.0f} s for {reason}"
            log.append(NoteEmitted(attempt=attempt, message=message, waits_for=reason, waits_s=seconds))
