"""The closed union of everything that can happen in a run: the entries of its log.

Three kinds share one sequence per run. *Decisions* come from the run's owner alone, fenced by its epoch.
*Observations* are appended by a host on an attempt's behalf; they commute and are never refused for being late.
*Requests* come from people, through any process. Nothing else changes a run.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field, TypeAdapter

from leadhand.domain.value import Value

from .base import EventBase, Kind
from .decisions import (
    ApprovalExpired,
    ApprovalRequested,
    ArtifactWritten,
    AssignmentIssued,
    AttemptLost,
    AttemptScheduled,
    AttemptSettled,
    CallAnswered,
    EffectQuestioned,
    GapsNoted,
    RequestDeclined,
    ResultsJudged,
    RetryGranted,
    RunClaimed,
    RunFinished,
    RunPaused,
    RunReopened,
    RunResumed,
    RunStarted,
    RunWaiting,
    SubtaskBlocked,
    SubtaskResolved,
    TodosSet,
    WorkerDefined,
    WorkOrderIssued,
)
from .observations import (
    AttemptParked,
    AttemptReturned,
    AttemptStarted,
    ConversationCompacted,
    ModelCallBegan,
    ModelCallReturned,
    NoteEmitted,
    Observation,
    ToolCallBegan,
    ToolCallReturned,
)
from .requests import (
    ApprovalAnswered,
    CancelRequested,
    EffectAnswered,
    PauseRequested,
    Request,
    ResultSupplied,
    ResumeRequested,
    RetryRequested,
    SkipRequested,
)
from .upcasters import RENAMED, UPCASTERS, upcast

AnyEvent = (
    RunStarted
    | RunClaimed
    | WorkOrderIssued
    | GapsNoted
    | AssignmentIssued
    | AttemptScheduled
    | AttemptSettled
    | AttemptLost
    | SubtaskBlocked
    | ResultsJudged
    | ApprovalRequested
    | ApprovalExpired
    | EffectQuestioned
    | RunPaused
    | RunWaiting
    | RunResumed
    | RunReopened
    | RetryGranted
    | SubtaskResolved
    | RequestDeclined
    | RunFinished
    | AttemptStarted
    | ModelCallBegan
    | ModelCallReturned
    | ConversationCompacted
    | ToolCallBegan
    | ToolCallReturned
    | AttemptReturned
    | AttemptParked
    | CancelRequested
    | PauseRequested
    | ResumeRequested
    | ApprovalAnswered
    | EffectAnswered
    | RetryRequested
    | SkipRequested
    | ResultSupplied
    | CallAnswered
    | WorkerDefined
    | ArtifactWritten
    | TodosSet
    | NoteEmitted
)
Event = Annotated[AnyEvent, Field(discriminator="type")]

EVENT_TYPES: dict[str, type[EventBase]] = {
    cls.model_fields["type"].default: cls
    for cls in AnyEvent.__args__  # the union lists them once, above
}
EVENT: TypeAdapter[AnyEvent] = TypeAdapter(Event, config=ConfigDict(defer_build=True))

for _old, _new in RENAMED.items():
    EVENT_TYPES[_old] = EVENT_TYPES[_new]


class Entry(Value):
    """An event as the log keeps it: its place, its time (UTC), the epoch of the owner it was written under."""

    seq: int
    at: datetime
    epoch: int
    event: Event


__all__ = [
    "EVENT",
    "EVENT_TYPES",
    "UPCASTERS",
    "AnyEvent",
    "ApprovalAnswered",
    "ApprovalExpired",
    "ApprovalRequested",
    "ArtifactWritten",
    "AssignmentIssued",
    "AttemptLost",
    "AttemptParked",
    "AttemptReturned",
    "AttemptScheduled",
    "AttemptSettled",
    "AttemptStarted",
    "CallAnswered",
    "CancelRequested",
    "ConversationCompacted",
    "EffectAnswered",
    "EffectQuestioned",
    "Entry",
    "Event",
    "EventBase",
    "GapsNoted",
    "Kind",
    "ModelCallBegan",
    "ModelCallReturned",
    "NoteEmitted",
    "Observation",
    "PauseRequested",
    "Request",
    "RequestDeclined",
    "ResultSupplied",
    "ResultsJudged",
    "ResumeRequested",
    "RetryGranted",
    "RetryRequested",
    "RunClaimed",
    "RunFinished",
    "RunPaused",
    "RunReopened",
    "RunResumed",
    "RunStarted",
    "RunWaiting",
    "SkipRequested",
    "SubtaskBlocked",
    "SubtaskResolved",
    "TodosSet",
    "ToolCallBegan",
    "ToolCallReturned",
    "WorkOrderIssued",
    "WorkerDefined",
    "upcast",
]
