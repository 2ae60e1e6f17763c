"""The index of open approvals and questions that stores keep.

The state of the run decides which approvals are open (:mod:`~leadhand.core.evolve.calls`). The index here follows the
same rules with the few events that matter, so that a list of open approvals need not load every run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from . import events as ev
from .approval import Approval, ApprovalStatus, args_hash
from .ids import step_of


class OpenApproval(NamedTuple):
    """The fields of an open approval that decide whether an event answers it.

    ``kind`` is that of the approval, ``by_hand`` for a call whose arguments a person chose, or ``question``.
    """

    kind: str
    tool: str
    attempt: str
    args_hash: str
    expires_at: datetime | None

    @classmethod
    def of(cls, approval: Approval) -> OpenApproval:
        """Return the index entry of an approval."""
        return cls(
            kind="by_hand" if approval.by_hand else approval.kind,
            tool=approval.tool,
            attempt=approval.attempt,
            args_hash=args_hash(approval.args),
            expires_at=approval.expires_at,
        )


QUESTION = "question"
APPROVAL_EVENTS = (
    ev.ApprovalRequested,
    ev.ApprovalAnswered,
    ev.StepSettled,
    ev.QuestionAsked,
    ev.QuestionAnswered,
)
"""The events that may open or close an approval.

The end of a run is not one of them: its approvals are not open while it is finished, but are again if it is reopened.
"""


def open_approvals_after(
    approvals: Mapping[str, OpenApproval], events: Iterable[ev.AnyEvent], at: datetime
) -> dict[str, OpenApproval]:
    """Return the open approvals, by approval id, after ``events`` that were written at ``at``.

    An answer that the state ignores (other arguments, too late, another kind) leaves the approval open.
    """
    after = dict(approvals)
    for event in events:
        match event:
            case ev.ApprovalRequested():
                approval = event.approval
                if approval.status is ApprovalStatus.PENDING:
                    after[approval.approval_id] = OpenApproval.of(approval)
                else:
                    after.pop(approval.approval_id, None)
            case ev.QuestionAsked():
                after[event.question.id] = OpenApproval(QUESTION, "", "", "", None)
            case ev.QuestionAnswered():
                if (asked := after.get(event.question_id)) is not None and asked.kind == QUESTION:
                    del after[event.question_id]
            case ev.ApprovalAnswered():
                _answer(after, event, at)
            case ev.StepSettled() if event.by:
                within = f"{event.step}/"  # the subtask's own attempts, and those of its children
                after = {
                    name: asked for name, asked in after.items() if not f"{step_of(asked.attempt)}/".startswith(within)
                }
            case _:
                pass
    return after


def _answer(approvals: dict[str, OpenApproval], event: ev.ApprovalAnswered, at: datetime) -> None:
    """Remove the approval that was answered; with ``always``, all approvals of its tool for calls that were planned."""
    answered = approvals.get(event.approval_id)
    if answered is None:
        return
    if event.expired or answered.kind == "effect":
        del approvals[event.approval_id]
        return
    if answered.args_hash != event.args_hash:
        return
    if answered.expires_at is not None and at >= answered.expires_at:
        return
    del approvals[event.approval_id]
    if event.always and event.approve and answered.kind != "plan":
        for name in [name for name, other in approvals.items() if (other.kind, other.tool) == ("call", answered.tool)]:
            del approvals[name]
