"""The questions of a run that people have yet to answer: a small index of them, folded from the log by stores.

What is open is decided by the state of the run (:mod:`~leadhand.domain.evolve.calls`); this follows the same rules
with the few events that it takes, so that a list of what is asked need not load every run.
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


class Question(NamedTuple):
    """What must be known of an open question to tell whether an event answers it."""

    kind: str
    tool: str
    attempt: str
    args_hash: str
    expires_at: datetime | None

    @classmethod
    def of(cls, approval: Approval) -> Question:
        """The question that an approval is."""
        return cls(
            kind=approval.kind,
            tool=approval.tool,
            attempt=approval.attempt,
            args_hash=args_hash(approval.args),
            expires_at=approval.expires_at,
        )


ABOUT_QUESTIONS = (ApprovalRequested, ApprovalAnswered, ApprovalExpired, EffectAnswered, SubtaskResolved)
"""The events that put a question, or may take one away.

The end of a run is none of them: a run that is over asks nothing, but one that is reopened asks what it asked before.
"""


def still_open(questions: Mapping[str, Question], events: Iterable[AnyEvent], at: datetime) -> dict[str, Question]:
    """The open questions, by approval id, after ``events`` that were written at ``at``.

    An answer that the state ignores (to other arguments, too late, to another kind) leaves its question open.
    """
    after = dict(questions)
    for event in events:
        match event:
            case ApprovalRequested():
                approval = event.approval
                if approval.status is ApprovalStatus.PENDING:
                    after[approval.approval_id] = Question.of(approval)
                else:
                    after.pop(approval.approval_id, None)
            case ApprovalAnswered():
                _answer(after, event, at)
            case ApprovalExpired():
                after.pop(event.approval_id, None)
            case EffectAnswered():
                asked = after.get(event.approval_id)
                if asked is not None and asked.kind == "effect":
                    del after[event.approval_id]
            case SubtaskResolved():
                for name in [name for name, asked in after.items() if _is_below(asked, event.subtask)]:
                    del after[name]
            case _:
                pass
    return after


def _answer(questions: dict[str, Question], event: ApprovalAnswered, at: datetime) -> None:
    """Take away what an answer settles: its own question, and with ``always`` every one about that tool."""
    asked = questions.get(event.approval_id)
    if asked is None or asked.kind != "call" or asked.args_hash != event.args_hash:
        return
    if asked.expires_at is not None and at >= asked.expires_at:
        return
    del questions[event.approval_id]
    if event.always and event.approve:
        for name in [name for name, other in questions.items() if (other.kind, other.tool) == ("call", asked.tool)]:
            del questions[name]


def _is_below(asked: Question, subtask: str) -> bool:
    """Whether a subtask's own attempts ask this, or those of workers that were asked for on its behalf."""
    assignment = assignment_of(asked.attempt)
    return assignment == subtask or assignment.startswith(f"{subtask}/")
