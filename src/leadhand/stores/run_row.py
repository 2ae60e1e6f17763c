"""A run's row while a transaction judges and changes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leadhand.core.budget import Account, Budget
from leadhand.core.events import AnyEvent, ModelCallReturned, RunStarted
from leadhand.core.limits import Ceiling, Money
from leadhand.core.run import ENDED, RunStatus
from leadhand.ports.heads import RunHead, status_after
from leadhand.ports.runs import REQUEST_SHOWN

from .codec import stored_tags
from .connection import Row, Table
from .search import words_of

NAMES = (
    "run_id, flow, request, model, created_at, detached, key_id, follows, offline, documents,"
    " searched, label_words, name, tags,"
    " status, finished_at, head_seq, epoch, owner, subtasks, completed, failed, asking, unpriced"
)
FIXED = 10
"""The number of columns, the first ones, of a run's row that never change."""
AMOUNTS = 9
RUNS = Table(
    "runs",
    f"{NAMES}, ceiling_requests, ceiling_tokens, ceiling_nanousd, spent_requests, spent_tokens, spent_nanousd,"
    " reserved_requests, reserved_tokens, reserved_nanousd",
)


def labels(request: str, name: str, tags: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of a run by which it is found."""
    name = _storable(name)
    words = " ".join(["", *words_of((name, request))])
    return {"searched": f"{name}\n{request}".lower(), "label_words": words, "name": name, "tags": stored_tags(tags)}


def _storable(text: str) -> str:
    """Return a text as a column can hold it: a log can contain a NUL, a column cannot."""
    return text.replace("\0", "\ufffd")


class RunRow(dict[str, Any]):
    """The columns of a run by name, in the order of :data:`RUNS`, but its amounts, which are its ``budget``."""

    def __init__(self, row: Row, shared: dict[str, Account]) -> None:
        super().__init__(zip(NAMES.split(", "), row, strict=False))
        amounts = row[-AMOUNTS:]
        self.budget = Budget(Account(Ceiling(*amounts[:3]), Money(*amounts[3:6]), Money(*amounts[6:])), shared)

    @classmethod
    def of(cls, run_id: str, started: RunStarted, owner: str | None, at: int, shared: dict[str, Account]) -> RunRow:
        """Return the row of a run that begins at ``at``, in microseconds."""
        definition = started.definition
        follows = definition.follows.run_id if definition.follows is not None else ""
        shown = _storable(definition.request[:REQUEST_SHOWN])
        fixed = run_id, definition.flow, shown, definition.models.default, at, int(definition.detached)
        origin = definition.key_id, follows, int(definition.offline), definition.documents
        changing = RunStatus.QUEUED.value, None, 0, 1, owner, 0, 0, 0, 0, 0
        found = labels(shown, definition.name, definition.tags).values()
        amounts = *definition.limits.ceiling.row, *[0] * 6
        return cls((*fixed, *origin, *found, *changing, *amounts), shared)

    def enter(self, event: AnyEvent, at: int) -> None:
        """Take over what an event that is written at ``at`` says of the status and the spending."""
        match event:
            case ModelCallReturned() if event.usage is not None and event.usage.nanousd is None:
                self["unpriced"] = 1
            case _:
                status = status_after(event)
                if status is not None:
                    self.update(status=status.value, finished_at=at if status in ENDED else None)

    def list_as(self, head: RunHead, *, decided: bool) -> None:
        """Take over a head that the run's owner ``decided`` on, or that includes every event so far."""
        if decided or head.seq == self["head_seq"]:
            self.update(subtasks=head.subtasks, completed=head.completed, failed=head.failed, asking=head.asking)

    @property
    def row(self) -> Row:
        """The columns in the order of :data:`RUNS`."""
        run = self.budget.run
        return (*self.values(), *run.ceiling.row, *run.spent.row, *run.reserved.row)
