"""A question to a person about one call, and the answer: bound to the arguments by their hash."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Literal

from .tool import ApprovalPolicy, Effect, ToolSpec
from .value import Value


class ApprovalStatus(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    CONSUMED = "consumed"


class Approval(Value):
    """One question to a person about one call.

    ``call``: may it be made, with exactly these arguments? ``approval_id`` is then the call's own id. ``effect``: it
    had begun and its end was not recorded; did it happen? ``asked_for`` names the subtask, ``origins`` says where each
    argument came from, ``cost_usd`` what a call costs, if the tool says so. At ``expires_at`` an unanswered question is
    denied.
    """

    approval_id: str
    kind: Literal["call", "effect"] = "call"
    attempt: str
    tool: str
    args: dict[str, Any]
    effect: Effect
    asked_for: str = ""
    origins: dict[str, str] = {}
    cost_usd: float | None = None
    asked_at: datetime | None = None
    expires_at: datetime | None = None
    status: ApprovalStatus = ApprovalStatus.PENDING
    by: str = ""
    reason: str = ""


def policy_of(tool: ToolSpec, policy: ApprovalPolicy, rules: dict[str, ApprovalPolicy]) -> ApprovalPolicy:
    """What holds for calls of a tool: its own ``never``, the first rule that fits, its own policy, or the run's.

    Rules are named by what they look at: ``tool:send_*``, ``toolset:mail``, ``effect:once``, ``origin:myshop.*`` (the
    import path); ``*`` and ``?`` match any letters and any letter. A call that needs no approval needs no rule: tools
    without the effect ``once`` are free unless a rule or the tool itself says otherwise.
    """
    if tool.approval is ApprovalPolicy.NEVER:
        return ApprovalPolicy.NEVER
    traits = {"tool": tool.name, "toolset": tool.toolset, "effect": tool.effect.value, "origin": tool.import_path}
    for rule, wanted in rules.items():
        trait, _, pattern = rule.partition(":")
        if fnmatchcase(traits.get(trait, ""), pattern):
            return wanted
    if tool.approval is ApprovalPolicy.AUTO or (tool.approval is None and tool.effect is not Effect.ONCE):
        return ApprovalPolicy.AUTO
    return policy


EFFECT = "/effect"
"""What the id of a question about a call's fate ends with."""


def args_hash(args: dict[str, Any]) -> str:
    """SHA-256 (hex) of the arguments as canonical JSON (sorted keys, no spaces)."""
    return hashlib.sha256(json.dumps(args, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
