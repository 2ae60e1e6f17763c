"""Flows: pure policies that say what a run does next. The public seam for flows of your own."""

from __future__ import annotations

from leadhand.domain.commands import Assign, Finish, Judge
from leadhand.domain.policy import Outcome
from leadhand.domain.review import Review, Verdict
from leadhand.domain.role import Role
from leadhand.domain.run import Gap

from .flow import Flow, Result
from .run_view import AssignmentView, RunView

__all__ = [
    "Assign",
    "AssignmentView",
    "Finish",
    "Flow",
    "Gap",
    "Judge",
    "Outcome",
    "Result",
    "Review",
    "Role",
    "RunView",
    "Verdict",
]
