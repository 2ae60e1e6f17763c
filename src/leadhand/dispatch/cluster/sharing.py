"""Which attempts of a run its driver carries out itself, and which it offers to other hosts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from leadhand.core.run import RunDefinition
from leadhand.ports import CARRY_OUT, Job, Work
from leadhand.ports.hosts import HostLine

LARGEST_JOB = 25
"""The most attempts in one job: each job costs some milliseconds of the database's time."""
JOBS_PER_HOST = 4
"""Jobs for each host into which attempts are divided, so that no host has many left when the others are done."""


class DrivenRun:
    """The attempts of a run that is driven here: those that wait, are offered, or are carried out elsewhere."""

    def __init__(self, run_id: str, definition: RunDefinition) -> None:
        self.run_id = run_id
        self.definition = definition
        self._tools = frozenset(tool.name for tool in definition.tools)
        self.waiting: dict[str, Work] = {}
        self.offered: dict[str, tuple[float, Work]] = {}
        """What was offered to others, and when."""
        self.elsewhere: set[str] = set()
        """What others carry out."""

    def forget(self, attempt: str) -> None:
        """Forget an attempt that is over, or begins here."""
        self.waiting.pop(attempt, None)
        self.offered.pop(attempt, None)
        self.elsewhere.discard(attempt)

    def others(self, hosts: Iterable[HostLine]) -> list[HostLine]:
        """Return those of the hosts that can take attempts: none if the run has hooks, which are in this process."""
        run = self.definition
        return [] if run.hooks else [line for line in hosts if line.has(run.flow, self._tools)]

    def divided(self, here: int, others: int, free: int) -> tuple[list[Work], list[Work]]:
        """Return which of the attempts that wait to start here and which to offer, as many as may run at once.

        Every host gets the same number. This one, which has ``here``, gets at most ``free`` more; all of them if there
        are no ``others``.
        """
        mine, theirs, away = list[Work](), list[Work](), len(self.elsewhere) + len(self.offered)
        for work in islice(self.waiting.values(), max(0, self.definition.limits.max_workers - here - away)):
            is_mine = not others or (len(mine) < free and (here + len(mine)) * others <= away + len(theirs))
            (mine if is_mine else theirs).append(work)
        return mine, theirs

    def jobs(self, works: Sequence[Work], others: Sequence[HostLine]) -> Iterator[Job]:
        """Divide attempts into jobs for ``others``."""
        smallest = min((line.concurrency for line in others), default=1)
        parts = -(-len(works) // max(1, JOBS_PER_HOST * len(others)))
        size = max(1, min(parts, LARGEST_JOB, smallest))
        for start in range(0, len(works), size):
            few = tuple(work.attempt.attempt for work in works[start : start + size])
            yield Job(task=CARRY_OUT, run_id=self.run_id, attempts=few, priority=self.definition.priority)
