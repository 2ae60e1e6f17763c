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

__all__ = [
    "Call",
    "Desk",
    "Finish",
    "Flow",
    "Gap",
    "IssueStep",
    "Judge",
    "OfflineRequest",
    "Outcome",
    "Result",
    "Review",
    "RunView",
    "StepView",
    "Verdict",
    "Worker",
]
