"""Flows: pure policies that decide what a run does next, and the public API for your own flows."""

from __future__ import annotations

from leadhand.core.commands import Finish, IssueStep, Judge, Outcome
from leadhand.core.run import Gap
from leadhand.core.work_result import Review, Verdict
from leadhand.core.worker import Worker

from .desk import Desk
from .flow import Flow, Result
from .offline.rule import Call, OfflineRequest
from .run_view import RunView, StepView
from .seam.context import FlowContext
from .seam.function import flow
from .seam.results import Approved, Denied, FlowAnswer, Retry, StepFailed

__all__ = [
    "Approved",
    "Call",
    "Denied",
    "Desk",
    "Finish",
    "Flow",
    "FlowAnswer",
    "FlowContext",
    "Gap",
    "IssueStep",
    "Judge",
    "OfflineRequest",
    "Outcome",
    "Result",
    "Retry",
    "Review",
    "RunView",
    "StepFailed",
    "StepView",
    "Verdict",
    "Worker",
    "flow",
]
