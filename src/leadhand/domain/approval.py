"""A question to a person about one call, and the answer: bound to the arguments by their hash."""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import Any

from .tool import Effect
from .value import Value


class ApprovalStatus(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    CONSUMED = "consumed"


class Approval(Value):
    """One question: may this call, with exactly these arguments, be made? ``approval_id`` is the call's own id."""

    approval_id: str
    attempt: str
    tool: str
    args: dict[str, Any]
    effect: Effect
    status: ApprovalStatus = ApprovalStatus.PENDING
    by: str = ""
    reason: str = ""


def args_hash(args: dict[str, Any]) -> str:
    """SHA-256 (hex) of the arguments as canonical JSON (sorted keys, no spaces)."""
    return hashlib.sha256(json.dumps(args, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
