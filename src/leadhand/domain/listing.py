"""What lists show of runs, hosts and the database: small projections, changed in the transaction of the append."""

from __future__ import annotations

from datetime import datetime

from .events import (
    AnyEvent,
    AttemptSettled,
    RunFinished,
    RunPaused,
    RunReopened,
    RunResumed,
    RunStarted,
    RunWaiting,
    SubtaskBlocked,
    SubtaskResolved,
    WorkOrderIssued,
)
from .ids import assignment_of
from .run import RunStatus
from .value import Value


class RunListing(Value):
    """One line of a list of runs.

    ``owner`` is the host that drives it, None when nobody does; ``orphan`` is true when it should be driven and is not.
    ``subtasks`` counts those of all orders, ``completed`` and ``failed`` what became of them. ``asking`` counts the
    open questions to people (none, once the run is over). ``requests``, ``tokens`` and ``nanousd`` are what was spent;
    what calls under way have reserved is not in them.
    """

    run_id: str
    flow: str
    request: str
    status: RunStatus
    model: str
    created_at: datetime
    finished_at: datetime | None = None
    head_seq: int
    epoch: int
    owner: str | None = None
    orphan: bool = False
    detached: bool = False
    subtasks: int = 0
    completed: int = 0
    failed: int = 0
    asking: int = 0
    requests: int = 0
    tokens: int = 0
    nanousd: int = 0


class HostLine(Value):
    """A living process that holds the store: its id, whether it is this one (``here``), the runs it drives."""

    host: str
    here: bool
    runs: tuple[str, ...] = ()


class StoreInfo(Value):
    """A store as its operators see it.

    ``kind`` is ``sqlite``, ``postgresql`` or ``memory``; ``name`` a path, or a URL without its password; ``version``
    that of the schema; ``bytes`` its size (None: it has none); ``runs`` how many there are of each status.
    """

    kind: str
    name: str
    version: int
    bytes: int | None = None
    runs: dict[RunStatus, int] = {}


class ListingChange(Value):
    """What an append does to the line: a new status (None: as it was) and what to add to the counts."""

    status: RunStatus | None = None
    subtasks: int = 0
    completed: int = 0
    failed: int = 0


def listing_change(events: list[AnyEvent]) -> ListingChange:
    """The change that ``events`` make to their run's line."""
    status: RunStatus | None = None
    subtasks = completed = failed = 0
    for event in events:
        match event:
            case RunStarted() | RunResumed() | RunReopened():
                status = RunStatus.RUNNING
            case RunPaused():
                status = RunStatus.PAUSED
            case RunWaiting():
                status = RunStatus.WAITING
            case RunFinished():
                status = event.status
            case WorkOrderIssued():
                subtasks += len(event.order.subtasks)
            case SubtaskBlocked():
                failed += 1
            case SubtaskResolved():
                completed += (event.data is not None) - (event.counted == "completed")
                failed += (event.data is None) - (event.counted == "failed")
            case AttemptSettled() if event.final and is_subtask(assignment_of(event.attempt)):
                completed += event.ok
                failed += not event.ok
            case _:
                pass
    return ListingChange(status=status, subtasks=subtasks, completed=completed, failed=failed)


def is_subtask(assignment: str) -> bool:
    """Whether an assignment's id is a subtask's key (the lead's thoughts have names of their own)."""
    return assignment.startswith("wo-") and "/" not in assignment
