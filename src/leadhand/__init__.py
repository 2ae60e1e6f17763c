"""Leadhand: a durable multi-agent orchestrator. One lead, as many hands as the job needs.

Public names are imported on first use, so that ``import leadhand`` is fast.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
"""For type checkers True, as in typing, whose import takes longer than that of everything else here."""

__version__ = "0.1.0"

if TYPE_CHECKING:
    from typing import Any

    from leadhand.api import Leadhand
    from leadhand.app.steering.approvals import OpenApproval
    from leadhand.core.approval import Approval
    from leadhand.core.errors import (
        ConfigurationError,
        FailureClass,
        LeadhandError,
        NoSuchRun,
        RunOwned,
        StoreError,
        ToolError,
        UsageError,
    )
    from leadhand.core.events import Entry
    from leadhand.core.limits import Limits
    from leadhand.core.run import RunStatus
    from leadhand.core.tool import Effect, Source, ToolReturn
    from leadhand.core.work_result import Claim
    from leadhand.flows.seam.function import Worker
    from leadhand.ports import ToolContext
    from leadhand.runs import Answer, Run, TextPiece, TextRestarted
    from leadhand.tools.decorator import tool
    from leadhand.tools.mcp import mcp
    from leadhand.tools.openapi import openapi
    from leadhand.tools.tool import Tool
    from leadhand.verify.judge import ClaimDoubt, MissingPart, Verdicts, Verifier

_WHERE = {
    "leadhand.api": "Leadhand",
    "leadhand.app.steering.approvals": "OpenApproval",
    "leadhand.core.approval": "Approval",
    "leadhand.core.errors": "ConfigurationError FailureClass LeadhandError NoSuchRun RunOwned StoreError ToolError"
    " UsageError",
    "leadhand.core.events": "Entry",
    "leadhand.core.limits": "Limits",
    "leadhand.core.work_result": "Claim",
    "leadhand.core.run": "RunStatus",
    "leadhand.core.tool": "Effect Source ToolReturn",
    "leadhand.flows.seam.function": "Worker",
    "leadhand.ports": "ToolContext",
    "leadhand.runs": "Answer Run TextPiece TextRestarted",
    "leadhand.tools.decorator": "tool",
    "leadhand.tools.mcp": "mcp",
    "leadhand.tools.openapi": "openapi",
    "leadhand.tools.tool": "Tool",
    "leadhand.verify.judge": "ClaimDoubt MissingPart Verdicts Verifier",
}
_MODULE = {name: module for module, names in _WHERE.items() for name in names.split()}

__all__ = [
    "Answer",
    "Approval",
    "Claim",
    "ClaimDoubt",
    "ConfigurationError",
    "Effect",
    "Entry",
    "FailureClass",
    "Leadhand",
    "LeadhandError",
    "Limits",
    "MissingPart",
    "NoSuchRun",
    "OpenApproval",
    "Run",
    "RunOwned",
    "RunStatus",
    "Source",
    "StoreError",
    "TextPiece",
    "TextRestarted",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolReturn",
    "UsageError",
    "Verdicts",
    "Verifier",
    "Worker",
    "__version__",
    "mcp",
    "openapi",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module 'leadhand' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
