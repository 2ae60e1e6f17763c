"""A run's row while a transaction judges and changes it."""

from __future__ import annotations

from collections.abc import Mapping

from leadhand.core.budget import Account, Budget
from leadhand.core.events import AnyEvent, ModelCallReturned, RunChanged, RunStarted
from leadhand.core.limits import Ceiling, Money
from leadhand.core.run import ENDED, RunStatus
from leadhand.ports.heads import RunHead, status_after
from leadhand.ports.runs import REQUEST_SHOWN

from .codec import read_tags, stored_tags
from .connection import Row, Table
from .search import words_in

RUNS = Table(
    "runs",
    "run_id, flow, request, model, created_at, detached, key_id, follows,"
    " searched, label_words, name, tags,"
    " ceiling_requests, ceiling_tokens, ceiling_nanousd,"
    " status, finished_at, head_seq, epoch, owner, subtasks, completed, failed, asking, unpriced,"
    " spent_requests, spent_tokens, spent_nanousd, reserved_requests, reserved_tokens, reserved_nanousd",
)
FIXED = 8
"""The number of columns, the first ones, of a run's row that never change."""


def label_columns(request: str, name: str, tags: Mapping[str, str]) -> tuple[str, str, str, str]:
    """Return the columns ``searched``, ``label_words``, ``name`` and ``tags`` of a run."""
    name = _storable(name)
    text = f"{name}\n{request}"
    return text.lower(), " ".join(["", *dict.fromkeys(words_in(text))]), name, stored_tags(tags)


def _storable(text: str) -> str:
    """Return a text as a column can hold it: a log can contain a NUL, a column cannot."""
    return text.replace("\0", "\ufffd")


class RunRow:
    """A run's row during the transaction. ``head`` are the columns that the process that folds the run gives."""

    __slots__ = (
        "budget", "epoch", "finished_at", "fixed", "head", "head_seq", "label_words", "name", "owner",
        "searched", "status", "tags", "unpriced",
    )  # fmt: skip

    def __init__(self, row: Row, shared: dict[str, Account]) -> None:
        self.fixed, labels, row = row[:FIXED], row[FIXED : FIXED + 4], row[FIXED + 4 :]
        self.searched, self.label_words, self.name, self.tags = labels
        (self.status, self.finished_at, self.head_seq, self.epoch) = row[3:7]
        self.owner = row[7]
        self.head: tuple[int, ...] = row[8:12]
        self.unpriced: int = row[12]
        self.budget = Budget(Account(Ceiling(*row[:3]), Money(*row[13:16]), Money(*row[16:19])), shared)

    @classmethod
    def of(cls, run_id: str, started: RunStarted, owner: str | None, at: int, shared: dict[str, Account]) -> RunRow:
        """Return the row of a run that begins at ``at``, in microseconds."""
        definition = started.definition
        shown = _storable(definition.request[:REQUEST_SHOWN])
        return cls(
            (
                run_id, definition.flow, shown, definition.models.default, at, int(definition.detached),
                definition.key_id, definition.follows.run_id if definition.follows is not None else "",
                *label_columns(shown, definition.name, definition.tags),
                *definition.limits.ceiling.row,
                RunStatus.QUEUED.value, None, 0, 1, owner, 0, 0, 0, 0,
                0, 0, 0, 0, 0, 0, 0,
            ),
            shared,
        )  # fmt: skip

    def enter(self, event: AnyEvent, at: int) -> None:
        """Take over what an event that is written at ``at`` says of the status, the labels and the spending."""
        match event:
            case RunChanged():
                if (event.name, event.tags) != (None, None):
                    name = self.name if event.name is None else event.name
                    tags = read_tags(self.tags) if event.tags is None else event.tags
                    self.searched, self.label_words, self.name, self.tags = label_columns(self.fixed[2], name, tags)
            case ModelCallReturned() if event.usage is not None and event.usage.nanousd is None:
                self.unpriced = 1
            case _:
                status = status_after(event)
                if status is not None:
                    self.status = status.value
                    self.finished_at = at if status in ENDED else None

    def list_as(self, head: RunHead, *, decided: bool) -> None:
        """Take over a head that the run's owner ``decided`` on, or that includes every event so far."""
        if decided or head.seq == self.head_seq:
            self.head = head[1:]

    def values(self) -> Row:
        """Return the row in the order of :data:`RUNS`."""
        return (
            *self.fixed, self.searched, self.label_words, self.name, self.tags,
            *self.budget.run.ceiling.row,
            self.status, self.finished_at, self.head_seq, self.epoch,
            self.owner, *self.head, self.unpriced, *self.budget.run.spent.row, *self.budget.run.reserved.row,
        )  # fmt: skip
