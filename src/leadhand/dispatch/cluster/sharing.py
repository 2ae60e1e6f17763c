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
    """The attempts of a run that is driven here: which wait, which are offered, and which run here or elsewhere."""

    def __init__(self, run_id: str, definition: RunDefinition) -> None:
        self.run_id = run_id
        self.flow = definition.flow
        self.priority = definition.priority
        self.tools = frozenset(tool.name for tool in definition.tools)
        self.alone = bool(definition.hooks)
        """Whether no other host may take its attempts: its hooks are in this process."""
        self.most = definition.limits.max_workers
        """The most attempts that run or are offered at once, over all hosts."""
        self.waiting: dict[str, Work] = {}
        self.offered: dict[str, tuple[float, Work | None]] = {}
        """When each was offered; its work is known once it is committed."""
        self.here: set[str] = set()
        self.elsewhere: set[str] = set()
        self.rests = False
        """Whether the run is over, paused, or waits for people."""

    @property
    def room(self) -> int:
        """How many more attempts may begin."""
        return self.most - len(self.here) - len(self.elsewhere) - len(self.offered)

    def ended(self, attempt: str) -> None:
        """Forget an attempt that no longer runs or waits."""
        self.waiting.pop(attempt, None)
        self.offered.pop(attempt, None)
        self.here.discard(attempt)
        self.elsewhere.discard(attempt)

    def began(self, attempt: str, *, here: bool) -> None:
        """Note which attempt began, and where."""
        self.ended(attempt)
        (self.here if here else self.elsewhere).add(attempt)

    def divided(self, due: Iterable[str], others: int, free: int) -> tuple[list[str], list[str]]:
        """Return which of the attempts that are due to start here and which to offer, as far as there is room.

        Every host gets the same number; this one at most ``free``, all of them if there are no ``others``.
        """
        mine: list[str] = []
        theirs: list[str] = []
        running, offered = len(self.here), len(self.elsewhere) + len(self.offered)
        for attempt in islice(due, max(0, self.room)):
            fair = (running + len(mine)) * others <= offered + len(theirs)
            (mine if not others or (fair and len(mine) < free) else theirs).append(attempt)
        return mine, theirs


def jobs_of(run: DrivenRun, attempts: Sequence[str], others: Sequence[HostLine]) -> Iterator[Job]:
    """Divide attempts of a run into jobs for ``others``."""
    smallest = min((line.concurrency for line in others), default=1)
    parts = -(-len(attempts) // max(1, JOBS_PER_HOST * len(others)))
    size = max(1, min(parts, LARGEST_JOB, smallest))
    for start in range(0, len(attempts), size):
        few = tuple(attempts[start : start + size])
        yield Job(task=CARRY_OUT, run_id=run.run_id, attempts=few, priority=run.priority)
