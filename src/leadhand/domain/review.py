"""The lead's judgement of an order: a verdict for each subtask, and what the request still lacks."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from .value import Value
from .work_order import ProposedSubtask, Unsupported


class VerdictKind(StrEnum):
    """What a review decides about a result."""

    ACCEPT = "accept"
    RETRY = "retry"
    REPLAN = "replan"
    DROP = "drop"


class Verdict(Value):
    """The judgement of one subtask. ``replacement`` belongs to ``replan``: what to do instead."""

    subtask: str = Field(description="its key, e.g. wo-001.0")
    verdict: VerdictKind
    reason: str = Field(default="", max_length=1_000)
    replacement: ProposedSubtask | None = None


class Review(Value):
    """What a lead answers when it is asked to review.

    ``missing`` are parts of the request that no subtask covers yet and a tool could; ``cannot`` those no tool can.
    ``answer`` is the composed answer, asked for only where review and composition are one call; it is released only if
    every subtask is accepted and nothing is missing.
    """

    verdicts: tuple[Verdict, ...]
    complete: bool
    missing: tuple[ProposedSubtask, ...] = ()
    cannot: tuple[Unsupported, ...] = ()
    answer: str | None = None
