"""A run's row while a transaction judges and changes it."""

from __future__ import annotations

from collections.abc import Mapping

from leadhand.core.budget import Account, Budget
from leadhand.core.events import AnyEvent, RunStarted
from leadhand.core.limits import ceiling_of, money
from leadhand.core.listing import REQUEST_SHOWN, listing_change
from leadhand.core.open_approvals import APPROVAL_EVENTS, OpenApproval, open_approvals_after
from leadhand.core.run import ENDED, RunStatus
from leadhand.core.search import words_in

from .codec import moment, stored_tags
from .connection import Row, Table

RUNS = Table(
    "runs",
    "run_id, flow, request, model, created_at, detached, key_id, follows,"
    " searched, label_words, name, tags,"
    " ceiling_requests, ceiling_tokens, ceiling_nanousd,"
    " held_back_requests, held_back_tokens, held_back_nanousd,"
    " status, finished_at, head_seq, epoch, owner, subtasks, completed, failed, unpriced,"
    " spent_requests, spent_tokens, spent_nanousd, reserved_requests, reserved_tokens, reserved_nanousd",
)
FIXED = 8
"""The number of columns, the first ones, of a run's row that never change."""
VERSION = "created_at, head_seq, owner"
"""The columns of which one changes whenever the run does: its row, its budget, its approvals or its log.

Everything but a release is an event, and a run that was deleted and created again has another date.
"""


def label_columns(request: str, name: str, tags: Mapping[str, str]) -> tuple[str, str, str, str]:
    """Return the columns ``searched``, ``label_words``, ``name`` and ``tags`` of a run."""
    name = _storable(name)
    text = f"{name}\n{request}"
    return text.lower(), " ".join(["", *dict.fromkeys(words_in(text))]), name, stored_tags(tags)


def _storable(text: str) -> str:
    """Return a text as a column can hold it: a log can contain a NUL, a column cannot."""
    return text.replace("\0", "\ufffd")


class RunRow:
    """A run's row during the transaction. ``accepted`` are events that the listing does not count yet, ``counts`` its
    counts of subtasks, completed and failed ones.

    ``read`` are the columns of :data:`VERSION` as they were read, None for a new run. ``loaded_approvals`` are the open
    approvals of the database, loaded where events may change them; ``approvals`` are those that are open by now.
    """

    __slots__ = (
        "accepted", "approvals", "budget", "counts", "epoch", "finished_at", "fixed", "head_seq", "label_words",
        "loaded_approvals", "name", "owner", "read", "searched", "status", "tags", "unpriced",
    )  # fmt: skip

    def __init__(self, row: Row, shared: dict[str, Account]) -> None:
        self.fixed, labels, row = row[:FIXED], row[FIXED : FIXED + 4], row[FIXED + 4 :]
        self.searched, self.label_words, self.name, self.tags = labels
        (self.status, self.finished_at, self.head_seq, self.epoch) = row[6:10]
        self.owner = row[10]
        self.counts: tuple[int, int, int] = row[11], row[12], row[13]
        self.read: Row = (self.fixed[4], self.head_seq, self.owner)
        self.unpriced: int = row[14]
        self.budget = Budget(
            Account(ceiling_of(row[:3]), money(*row[15:18]), money(*row[18:21])), money(*row[3:6]), shared
        )
        self.accepted: list[AnyEvent] = []
        self.loaded_approvals: dict[str, OpenApproval] = {}
        self.approvals: dict[str, OpenApproval] = {}

    @classmethod
    def of(cls, run_id: str, started: RunStarted, owner: str | None, at: int, shared: dict[str, Account]) -> RunRow:
        """Return the row of a run that begins at ``at``, in microseconds."""
        definition = started.definition
        shown = _storable(definition.request[:REQUEST_SHOWN])
        row = cls(
            (
                run_id, definition.flow, shown, definition.models.default, at, int(definition.detached),
                definition.key_id, definition.follows.run_id if definition.follows is not None else "",
                *label_columns(shown, definition.name, definition.tags),
                *definition.limits.ceiling.row, *definition.held_back.counted.row,
                RunStatus.QUEUED.value, None, 0, 1, owner, 0, 0, 0,
                0, 0, 0, 0, 0, 0, 0,
            ),
            shared,
        )  # fmt: skip
        row.read = (None, None, None)
        return row

    def fold_listing(self, at: int) -> None:
        """Update status, counts and open approvals."""
        change = listing_change(self.accepted, self.counts)
        if any(isinstance(event, APPROVAL_EVENTS) for event in self.accepted):
            self.approvals = open_approvals_after(self.approvals, self.accepted, moment(at))
        self.accepted = []
        self.counts, self.unpriced = change.counts, int(self.unpriced or change.unpriced)
        if change.labels is not None:
            labels = label_columns(self.fixed[2], change.labels.name, change.labels.tags)
            self.searched, self.label_words, self.name, self.tags = labels
        if change.status is not None:
            self.status = change.status.value
            self.finished_at = at if change.status in ENDED else None

    def values(self) -> Row:
        """Return the row in the order of :data:`RUNS`."""
        return (
            *self.fixed, self.searched, self.label_words, self.name, self.tags,
            *self.budget.run.ceiling.row, *self.budget.held_back.row,
            self.status, self.finished_at, self.head_seq, self.epoch,
            self.owner, *self.counts, self.unpriced, *self.budget.run.spent.row, *self.budget.run.reserved.row,
        )  # fmt: skip
