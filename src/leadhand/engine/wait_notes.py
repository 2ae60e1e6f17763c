"""Record in the log what attempts wait for, without a record for each attempt or for each of many short waits."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import NamedTuple

from leadhand.core.events import NoteEmitted
from leadhand.engine.log import RunLog

ANNOUNCED_S = 5.0
"""Waits for a rate limit are recorded from so many seconds on; one record stands for others of the same length."""
AGAIN_S = 2.0
"""Seconds after which a wait that began to be recorded with another attempt is recorded again, at the earliest."""


class WaitNotes:
    """The waits that were recorded, by run and reason."""

    def __init__(self) -> None:
        self._announced: dict[tuple[str, str], tuple[float, float]] = {}
        """Of waits of a known length: since when, and until when the record stands."""
        self._queues: dict[tuple[str, str], _Queue] = {}
        """Of waits in a queue."""

    def of(self, log: RunLog, attempt: str, longest_s: float) -> AttemptWaits:
        """Return what records the waits of an attempt, which last at most ``longest_s`` seconds."""
        return AttemptWaits(self, log, attempt, longest_s)

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

    def begin(self, waits: AttemptWaits, reason: str, text: str) -> None:
        """Record that an attempt waits in a queue, unless a record of another attempt of its run stands."""
        queue = self._queues.setdefault((waits.log.run_id, reason), _Queue(began=time.monotonic()))
        queue.waiting[waits.attempt] = queue.waiting.get(waits.attempt, 0) + 1
        if not queue.recorded:
            self._record(queue, waits, reason, text)

    def end(self, waits: AttemptWaits, reason: str) -> None:
        """Record that no attempt of a run waits in a queue any more, or that the one that the record names does not."""
        key = (waits.log.run_id, reason)
        queue = self._queues[key]
        queue.waiting[waits.attempt] -= 1
        if not queue.waiting[waits.attempt]:
            del queue.waiting[waits.attempt]
        if not queue.waiting:
            del self._queues[key]
            message = f"no longer waiting for {reason}"
            waits.log.append(NoteEmitted(attempt=queue.recorded, message=message, waits_for=reason))
        elif queue.recorded not in queue.waiting and time.monotonic() >= queue.again_at:
            other = self.of(waits.log, next(iter(queue.waiting)), waits.longest_s)
            self._record(queue, other, reason, queue.text)

    @staticmethod
    def _record(queue: _Queue, waits: AttemptWaits, reason: str, text: str) -> None:
        now = time.monotonic()
        queue.recorded, queue.text = waits.attempt, text
        queue.again_at = now + max(AGAIN_S, now - queue.began)  # so that a long queue leaves few records
        message = f"waiting for {reason}: {text}"
        waits.log.append(NoteEmitted(attempt=waits.attempt, message=message, waits_for=reason, waits_s=waits.longest_s))


@dataclass(slots=True)
class _Queue:
    """A queue in which attempts of a run wait: how often each, and which of them the latest record names."""

    began: float
    waiting: dict[str, int] = field(default_factory=dict[str, int])
    recorded: str = ""
    text: str = ""
    again_at: float = 0.0


class AttemptWaits(NamedTuple):
    """The waits of one attempt."""

    notes: WaitNotes
    log: RunLog
    attempt: str
    longest_s: float

    def announce(self, reason: str, seconds: float) -> None:
        """Record a wait of so many seconds."""
        self.notes.announce(self.log, self.attempt, reason, seconds)

    def begin(self, reason: str, text: str) -> None:
        """Record a wait in a queue."""
        self.notes.begin(self, reason, text)

    def end(self, reason: str) -> None:
        """Record the end of a wait in a queue."""
        self.notes.end(self, reason)
