"""The closed union of everything that can happen in a run: the entries of its log.

Three kinds share one sequence per run. *Decisions* come from the run's owner alone, fenced by its epoch.
*Observations* are appended by a host on an attempt's behalf; they commute and are never refused for being late.
*Requests* come from people, through any process. Nothing else changes a run.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter

from leadhand.domain.value import Value

from .base import Happened, Kind
from .decisions import (
    ApprovalExpired,
    ApprovalRequested,
    AssignmentIssued,
    AttemptHeld,
    AttemptLost,
    AttemptScheduled,
    AttemptSettled,
    OrderReviewed,
    PartsRefused,
    RequestDeclined,
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
    WorkOrderIssued,
)
from .observations import (
    AttemptParked,
    AttemptReturned,
    AttemptStarted,
    ConversationCompacted,
    ModelCallBegan,
    ModelCallReturned,
    Observation,
    ToolCallBegan,
    ToolCallReturned,
)
from .requests import (
    ApprovalAnswered,
    CancelRequested,
    ChildAnswered,
    EffectAnswered,
    PauseRequested,
    Request,
    ResultSupplied,
    ResumeRequested,
    RetryRequested,
    SkipRequested,
)

AnyEvent = (
    RunStarted
    | RunClaimed
    | WorkOrderIssued
    | PartsRefused
    | AssignmentIssued
    | AttemptScheduled
    | AttemptSettled
    | AttemptLost
    | SubtaskBlocked
    | OrderReviewed
    | ApprovalRequested
    | ApprovalExpired
    | AttemptHeld
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
    | ChildAnswered
)
Event = Annotated[AnyEvent, Field(discriminator="type")]

EVENT_TYPES: dict[str, type[Happened]] = {
    cls.model_fields["type"].default: cls
    for cls in AnyEvent.__args__  # the union lists them once, above
}
EVENT: TypeAdapter[AnyEvent] = TypeAdapter(Event, config=ConfigDict(defer_build=True))

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
UPCASTERS: dict[tuple[str, int], Upcaster] = {}
"""From (type, version) as stored to the body of the next version. Pure; never removed: old logs stay readable."""


class Entry(Value):
    """An event as the log keeps it: its place, its time (UTC), the epoch of the owner it was written under."""

    seq: int
    at: datetime
    epoch: int
    event: Event


def upcast(type_: str, version: int, body: dict[str, Any]) -> dict[str, Any]:
    """The body of a stored event in today's shape."""
    while (type_, version) in UPCASTERS:
        body = UPCASTERS[type_, version](body)
        version += 1
    return body


__all__ = [
    "EVENT",
    "EVENT_TYPES",
    "UPCASTERS",
    "AnyEvent",
    "ApprovalAnswered",
    "ApprovalExpired",
    "ApprovalRequested",
    "AssignmentIssued",
    "AttemptHeld",
    "AttemptLost",
    "AttemptParked",
    "AttemptReturned",
    "AttemptScheduled",
    "AttemptSettled",
    "AttemptStarted",
    "CancelRequested",
    "ChildAnswered",
    "ConversationCompacted",
    "EffectAnswered",
    "Entry",
    "Event",
    "Happened",
    "Kind",
    "ModelCallBegan",
    "ModelCallReturned",
    "Observation",
    "OrderReviewed",
    "PartsRefused",
    "PauseRequested",
    "Request",
    "RequestDeclined",
    "ResultSupplied",
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
    "ToolCallBegan",
    "ToolCallReturned",
    "Upcaster",
    "WorkOrderIssued",
    "upcast",
]
