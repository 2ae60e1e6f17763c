"""Record in the log what attempts wait for: one record for all attempts of a run that wait for the same."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import NamedTuple

from leadhand.core.events import NoteEmitted
from leadhand.engine.log import RunLog

AGAIN_S = 2.0
"""Seconds after which a wait that began to be recorded with another attempt is recorded again, at the earliest."""


@dataclass(slots=True)
class Wait:
    """What attempts of a run wait for: how often each, and which of them the latest record names."""

    began: float
    waiting: dict[str, int] = field(default_factory=dict[str, int])
    recorded: str = ""
    text: str = ""
    again_at: float = 0.0


class AttemptWaits(NamedTuple):
    """Records the waits of one attempt, among those of all attempts (``waits``, by run and reason)."""

    waits: dict[tuple[str, str], Wait]
    log: RunLog
    attempt: str
    longest_s: float
    """The most seconds that a wait lasts."""

    def begin(self, reason: str, text: str) -> None:
        """Record that the attempt waits, unless a record of another attempt of its run stands."""
        wait = self.waits.setdefault((self.log.run_id, reason), Wait(began=time.monotonic()))
        wait.waiting[self.attempt] = wait.waiting.get(self.attempt, 0) + 1
        if not wait.recorded:
            self._record(wait, reason, text)

    def end(self, reason: str) -> None:
        """Record that no attempt of the run waits any more, or that the one that the record names does not."""
        wait = self.waits[self.log.run_id, reason]
        wait.waiting[self.attempt] -= 1
        if not wait.waiting[self.attempt]:
            del wait.waiting[self.attempt]
        if not wait.waiting:
            del self.waits[self.log.run_id, reason]
            message = f"no longer waiting for {reason}"
            self.log.append(NoteEmitted(attempt=wait.recorded, message=message, waits_for=reason))
        elif wait.recorded not in wait.waiting and time.monotonic() >= wait.again_at:
            self._replace(attempt=next(iter(wait.waiting)))._record(wait, reason, wait.text)

    def _record(self, wait: Wait, reason: str, text: str) -> None:
        now = time.monotonic()
        wait.recorded, wait.text = self.attempt, text
        wait.again_at = now + max(AGAIN_S, now - wait.began)  # so that a long wait of many leaves few records
        message = f"waiting for {reason}: {text}"
        self.log.append(NoteEmitted(attempt=self.attempt, message=message, waits_for=reason, waits_s=self.longest_s))
