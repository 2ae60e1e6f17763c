"""Flows: async functions that decide what a run does, and the public API for your own."""

from __future__ import annotations

from leadhand.core.outcome import FlowAnswer
from leadhand.core.run import Gap

from .offline.rule import Call, OfflineRequest
from .seam.context import FlowContext
from .seam.function import flow
from .seam.results import Approved, Denied, Result, Retry, StepFailed

__all__ = [
    "Approved",
    "Call",
    "Denied",
    "FlowAnswer",
    "FlowContext",
    "Gap",
    "OfflineRequest",
    "Result",
    "Retry",
    "StepFailed",
    "flow",
]
