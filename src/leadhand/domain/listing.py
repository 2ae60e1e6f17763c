"""The lines of lists of runs, hosts and databases: small projections, updated in the transaction of an append."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from .events import (
    AnyEvent,
    AssignmentIssued,
    AttemptSettled,
    RetryGranted,
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
from .run import RunStatus
from .value import Value


class RunListing(Value):
    """One line of a list of runs.

    ``owner`` is the host that drives it (None: no host); ``orphan`` is true when the run should be driven and is not.
    ``subtasks`` counts the subtasks of all orders, ``completed`` and ``failed`` those that ended so. ``asking`` counts
    the open approvals (0 once the run is over). ``requests``, ``tokens`` and ``nanousd`` are what was spent, without
    the reservations of calls under way.
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
    """A living process that has the store open: its id, whether it is this one (``here``), the runs it drives."""

    host: str
    here: bool
    runs: tuple[str, ...] = ()


class StoreInfo(Value):
    """A store as operators see it.

    ``kind`` is ``sqlite``, ``postgresql``, ``memory`` or the name of another; ``name`` a path, or a URL without its
    password; ``version`` the schema's; ``bytes`` the size (None: unknown); ``runs`` the number of runs by status.
    """

    kind: str
    name: str
    version: int
    bytes: int | None = None
    runs: dict[RunStatus, int] = {}


class ListingChange(Value):
    """The effect of an append on the line: a new status (None: unchanged) and what to add to the counts."""

    status: RunStatus | None = None
    subtasks: int = 0
    completed: int = 0
    failed: int = 0


def listing_change(events: Sequence[AnyEvent]) -> ListingChange:
    """Return the change that ``events`` make to the line of their run."""
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
            case AssignmentIssued():
                subtasks += event.assignment.counts
            case RetryGranted():
                failed -= event.reopened
            case AttemptSettled() if event.final and event.counts:
                completed += event.ok
                failed += not event.ok
            case _:
                pass
    return ListingChange(status=status, subtasks=subtasks, completed=completed, failed=failed)


def is_subtask(assignment: str) -> bool:
    """Whether an assignment's id is the key of a subtask of a work order."""
    return assignment.startswith("wo-") and "/" not in assignment


def matching(
    runs: Iterable[RunListing],
    *,
    status: RunStatus | None = None,
    text: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
    asking: bool = False,
    detached: bool | None = None,
) -> list[RunListing]:
    """Return the runs that meet every filter of :meth:`leadhand.ports.ContextStore.runs`."""
    return [
        run
        for run in runs
        if status in (None, run.status)
        and text.lower() in run.request.lower()
        and (since is None or run.created_at >= since)
        and (until is None or run.created_at < until)
        and (run.asking or not asking)
        and detached in (None, run.detached)
    ]
