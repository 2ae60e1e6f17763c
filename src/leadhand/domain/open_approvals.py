"""The open approvals of a run: a small index of them, folded from the log by stores.

The state of the run decides which approvals are open (:mod:`~leadhand.domain.evolve.calls`). This index follows the
same rules with the few events that matter, so that a list of open approvals need not load every run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from .approval import Approval, ApprovalStatus, args_hash
from .events import (
    AnyEvent,
    ApprovalAnswered,
    ApprovalExpired,
    ApprovalRequested,
    EffectAnswered,
    SubtaskResolved,
)
from .ids import assignment_of


class OpenApproval(NamedTuple):
    """The part of an open approval that decides whether an event answers it."""

    kind: str
    tool: str
    attempt: str
    args_hash: str
    expires_at: datetime | None

    @classmethod
    def of(cls, approval: Approval) -> OpenApproval:
        """Return the index entry of an approval."""
        return cls(
            kind=approval.kind,
            tool=approval.tool,
            attempt=approval.attempt,
            args_hash=args_hash(approval.args),
            expires_at=approval.expires_at,
        )


APPROVAL_EVENTS = (ApprovalRequested, ApprovalAnswered, ApprovalExpired, EffectAnswered, SubtaskResolved)
"""The events that may open or close an approval.

The end of a run closes none: a finished run has no open approvals, but a reopened run has those from before.
"""


def open_approvals_after(
    approvals: Mapping[str, OpenApproval], events: Iterable[AnyEvent], at: datetime
) -> dict[str, OpenApproval]:
    """Return the open approvals, by approval id, after ``events`` that were written at ``at``.

    An answer that the state ignores (to other arguments, too late, to another kind) leaves its approval open.
    """
    after = dict(approvals)
    for event in events:
        match event:
            case ApprovalRequested():
                approval = event.approval
                if approval.status is ApprovalStatus.PENDING:
                    after[approval.approval_id] = OpenApproval.of(approval)
                else:
                    after.pop(approval.approval_id, None)
            case ApprovalAnswered():
                _answer(after, event, at)
            case ApprovalExpired():
                after.pop(event.approval_id, None)
            case EffectAnswered():
                approval = after.get(event.approval_id)
                if approval is not None and approval.kind == "effect":
                    del after[event.approval_id]
            case SubtaskResolved():
                for name in [name for name, approval in after.items() if _is_below(approval, event.subtask)]:
                    del after[name]
            case _:
                pass
    return after


def _answer(approvals: dict[str, OpenApproval], event: ApprovalAnswered, at: datetime) -> None:
    """Remove the approval that was answered; with ``always``, all approvals of its tool."""
    answered = approvals.get(event.approval_id)
    if answered is None or answered.kind != "call" or answered.args_hash != event.args_hash:
        return
    if answered.expires_at is not None and at >= answered.expires_at:
        return
    del approvals[event.approval_id]
    if event.always and event.approve:
        for name in [name for name, other in approvals.items() if (other.kind, other.tool) == ("call", answered.tool)]:
            del approvals[name]


def _is_below(approval: OpenApproval, subtask: str) -> bool:
    """Whether the approval was requested by the subtask's own attempts or by those of its children."""
    assignment = assignment_of(approval.attempt)
    return assignment == subtask or assignment.startswith(f"{subtask}/")
