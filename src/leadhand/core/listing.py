"""What stores compute from the events that they append: list lines, and the record of a run."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from . import events as ev
from .artifact import MEMORY
from .budget import METERED, Account, Budget
from .errors import Fenced, RunOwned, StaleAttempt, UsageError
from .hosts import HostLine as HostLine
from .open_approvals import APPROVAL_EVENTS, OpenApproval, open_approvals_after
from .run import ENDED, EarlierFile, RunStatus
from .state import ArtifactVersion
from .value import Value

DRIVEN = frozenset({RunStatus.QUEUED, RunStatus.RUNNING})
"""A run with one of these statuses should have an owner; without an owner it is an orphan."""


class RunListing(Value):
    """One line of a list of runs.

    ``owner`` is the host that drives it (None: no host); ``orphan`` is true if the run should continue but has none.
    ``subtasks`` counts the subtasks that no other has replaced, 0 while the first plan is being written; ``completed``
    and ``failed`` count those with that status, also before; ``asking`` its open approvals and questions. ``requests``,
    ``tokens`` and ``nanousd`` are what was spent, without open reservations; ``unpriced``: a price is unknown.
    ``key_id`` is the API key that the run belongs to ("" for none), ``follows`` the run that it follows up ("" for
    none). ``name`` and ``tags`` are those that a person gave it last.
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
    unpriced: bool = False
    key_id: str = ""
    follows: str = ""
    name: str = ""
    tags: dict[str, str] = {}


class StoreInfo(Value):
    """A description of a store, for operators.

    ``kind`` is ``sqlite``, ``postgresql``, ``memory`` or the name of another; ``name`` a path, or a URL without its
    password; ``version`` the schema's; ``bytes`` the size (None: unknown); ``runs`` the number of runs by status.
    """

    kind: str
    name: str
    version: int
    bytes: int | None = None
    runs: dict[RunStatus, int] = {}


class ListingChange(NamedTuple):
    """The counts of a list line after an append (``subtasks``, ``completed``, ``failed``), its new status and labels
    (None: unchanged), and whether the append has a call without a known price."""

    counts: tuple[int, int, int]
    status: RunStatus | None = None
    labels: ev.RunLabelled | None = None
    unpriced: bool = False


def listing_change(events: Sequence[ev.AnyEvent], counts: tuple[int, int, int]) -> ListingChange:
    """Return the change that ``events`` make to the line of their run, which has these ``counts``."""
    status: RunStatus | None = None
    labels: ev.RunLabelled | None = None
    unpriced = False
    subtasks, completed, failed = counts
    for event in events:
        match event:
            case ev.RunStarted() | ev.RunResumed() | ev.RunReopened():
                status = RunStatus.RUNNING
            case ev.RunPaused():
                status = RunStatus.PAUSED
            case ev.RunWaiting():
                status = RunStatus.WAITING
            case ev.RunFinished():
                status = event.status
            case ev.WorkOrderIssued():
                subtasks += len(event.order.subtasks)
            case ev.SubtaskBlocked():
                failed += 1
            case ev.SubtaskResolved():
                completed += (event.data is not None) - (event.counted == "completed")
                failed += (event.data is None) - (event.counted == "failed")
            case ev.SubtaskReused():
                completed += 1
            case ev.StepIssued() if event.step.subtask is None:  # else it is counted with its order
                subtasks += event.step.counts
            case ev.RetryGranted():
                failed -= event.reopened
            case ev.AttemptSettled() if event.final and event.counts:
                completed += event.ok
                failed += not event.ok
            case ev.RunLabelled():
                labels = event
            case ev.ModelCallReturned() if event.usage is not None and event.usage.nanousd is None:
                unpriced = True
            case _:
                pass
        if isinstance(event, ev.WorkOrderIssued | ev.ResultsJudged | ev.RunFinished) and event.listed is not None:
            subtasks, completed, failed = event.listed.subtasks, event.listed.completed, event.listed.failed
    return ListingChange((subtasks, completed, failed), status, labels, unpriced)


def is_subtask(step: str) -> bool:
    """Whether a step's id is the key of a subtask of a work order."""
    return step.startswith("wo-") and "/" not in step


def earlier_file(path: str, written: ev.ArtifactWritten | ArtifactVersion, run_id: str, at: datetime) -> EarlierFile:
    """Return a file that a run wrote as later runs refer to it."""
    return EarlierFile(
        path=path,
        digest=written.digest,
        size=written.size,
        media_type=written.media_type,
        run_id=run_id,
        at=at,
    )


def may_share(earlier: tuple[bool, str], offline: bool, documents: str) -> bool:
    """Whether a run may read the files of an ``earlier`` one, given as its ``offline`` and its ``documents``.

    What offline runs write stays offline, since it may rest on sample data and on documents that no service has seen.
    What rests on a directory of documents is for runs that search the same directory.
    """
    return earlier[0] == offline and earlier[1] in ("", documents)


def newest_files(written: Iterable[EarlierFile], limit: int) -> list[EarlierFile]:
    """Return the files that later runs may read, one for each path: the first that is given."""
    newest: dict[str, EarlierFile] = {}
    for file in written:
        if file.path.startswith(MEMORY) and len(newest) < limit:
            newest.setdefault(file.path, file)
    return list(newest.values())


REQUEST_SHOWN = 200
"""Characters of a request that lists show."""


class RunRecord:
    """A run's entries, its line in lists, its budget, its open approvals, and which of its attempts are over."""

    def __init__(
        self,
        run_id: str,
        started: ev.RunStarted,
        at: datetime,
        owner: str | None,
        shared: dict[str, Account] | None = None,
    ) -> None:
        """``shared`` are the accounts that the store's runs share."""
        definition = started.definition
        self.place = (definition.offline, definition.documents)
        self.entries: list[ev.Entry] = []
        self._budget = Budget.of(definition, shared)
        self._approvals: dict[str, OpenApproval] = {}
        self._over: set[str] = set()
        self._listing = RunListing(
            run_id=run_id,
            flow=definition.flow,
            request=definition.request[:REQUEST_SHOWN],
            status=RunStatus.QUEUED,
            model=definition.models.default,
            created_at=at,
            head_seq=0,
            epoch=1,
            owner=owner,
            detached=definition.detached,
            key_id=definition.key_id,
            follows=definition.follows.run_id if definition.follows is not None else "",
            name=definition.name,
            tags=definition.tags,
        )

    @classmethod
    def of(cls, run_id: str, entries: Sequence[ev.Entry], shared: dict[str, Account] | None = None) -> "RunRecord":
        """Rebuild the record of a run without an owner from all of its entries."""
        started = entries[0].event
        assert isinstance(started, ev.RunStarted)
        record = cls(run_id, started, entries[0].at, None, shared)
        for entry in entries:
            record._apply([entry])
        return record

    @property
    def owner(self) -> str | None:
        """The host that drives the run."""
        return self._listing.owner

    @property
    def listing(self) -> RunListing:
        """The run's line in lists."""
        listing = self._listing
        requests, tokens, nanousd = self._budget.run.spent.row
        return listing.evolve(
            head_seq=len(self.entries),
            orphan=listing.owner is None and listing.status in DRIVEN,
            asking=0 if listing.status in ENDED else len(self._approvals),
            requests=requests,
            tokens=tokens,
            nanousd=nanousd,
        )

    def append(
        self, events: Sequence[ev.AnyEvent], at: datetime, *, epoch: int | None = None, current: str | None = None
    ) -> list[ev.Entry]:
        """Accept all events or none, and return them as entries; see :meth:`leadhand.ports.ContextStore.append`.

        Raises Fenced, StaleAttempt or BudgetRefused; then nothing has changed.
        """
        listing = self._listing
        if epoch not in (None, listing.epoch):
            raise Fenced(f"run {listing.run_id} has another owner", "watch the run, or wait until that process ends")
        if current is not None and current in self._over:
            raise StaleAttempt(
                f"attempt {current} of run {listing.run_id} has ended, so it must not start another call"
            )
        entries = [
            ev.Entry(seq=seq, at=at, epoch=listing.epoch, event=event)
            for seq, event in enumerate(events, start=len(self.entries) + 1)
        ]
        if entries:
            self._apply(entries)
        return entries

    def claim(self, host: str, at: datetime, *, ended: bool = False) -> ev.Entry:
        """Make ``host`` the owner under a new epoch and return the entry that records it.

        Raises RunOwned if the run has an owner, and UsageError if it is finished and ``ended`` is false.
        """
        listing = self._listing
        if listing.status in ENDED and not ended:
            raise UsageError(
                f"run {listing.run_id} is finished", f"see its answer: leadhand runs show {listing.run_id}"
            )
        if listing.owner is not None:
            raise RunOwned(
                f"run {listing.run_id} is driven by {listing.owner}", f"follow it: leadhand runs watch {listing.run_id}"
            )
        self._listing = listing.evolve(epoch=listing.epoch + 1, owner=host)
        return self.append([ev.RunClaimed(owner=host)], at)[0]

    def release(self, epoch: int | None = None) -> None:
        """Remove the owner; with ``epoch``, only the owner of that epoch."""
        if epoch in (None, self._listing.epoch):
            self._listing = self._listing.evolve(owner=None)

    def _apply(self, entries: Sequence[ev.Entry]) -> None:
        """Apply entries of one append. Raises BudgetRefused; then nothing has changed."""
        events = [entry.event for entry in entries]
        metered = [event for event in events if isinstance(event, METERED)]
        if metered:
            self._budget.apply(metered)
        last = entries[-1]
        self.entries += entries
        self._over |= {event.attempt for event in events if isinstance(event, ev.AttemptSettled | ev.AttemptLost)}
        if any(isinstance(event, APPROVAL_EVENTS) for event in events):
            self._approvals = open_approvals_after(self._approvals, events, last.at)
        listing = self._listing
        counts = listing.subtasks, listing.completed, listing.failed
        change = listing_change(events, counts)
        if last.epoch == listing.epoch and change == ListingChange(counts):
            return
        finished_at = listing.finished_at
        if change.status is not None:
            finished_at = last.at if change.status in ENDED else None
        labels = change.labels
        subtasks, completed, failed = change.counts
        self._listing = listing.evolve(
            name=listing.name if labels is None else labels.name,
            tags=listing.tags if labels is None else labels.tags,
            status=change.status or listing.status,
            finished_at=finished_at,
            epoch=last.epoch,
            subtasks=subtasks,
            completed=completed,
            failed=failed,
            unpriced=listing.unpriced or change.unpriced,
        )
