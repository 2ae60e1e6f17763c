"""Decides by a failure's class whether, when and how an attempt is retried."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from .errors import Failure, FailureClass
from .limits import Limits
from .tool import Effect, ToolSpec

FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 30.0
LONGEST_WAIT_S = 86_400.0
"""The longest that a service is believed when it says how long to wait, in seconds."""
MAX_LOSSES = 5
"""How often an attempt may be lost with its process before its subtask is given up: a poisonous one ends here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """A further attempt. ``afresh`` starts a new conversation; otherwise the next attempt continues the last one."""

    not_before: datetime | None
    afresh: bool
    feedback: str = ""


def retry(
    failure: Failure,
    *,
    key: str,
    before: tuple[FailureClass, ...],
    limits: Limits,
    tool: ToolSpec | None,
    now: datetime,
    deadline: datetime | None,
    acted: bool = False,
) -> Retry | None:
    """Return the retry after ``failure``, or None if it is final.

    ``acted`` says that a ``once`` call of its lineage was made: it may then be continued, but not started again.
    ``before`` are the classes of the earlier failures of this assignment, ``key`` the next attempt's id: the jitter
    of the back-off is hashed from it, so that the same log decides the same.
    """
    count = sum(1 for earlier in before if earlier is failure.class_)
    delay = 0.0
    afresh = False
    match failure.class_:
        case FailureClass.TRANSIENT:
            if count >= (limits.max_retries if tool is None else tool.retries):
                return None
            delay = backoff_s(count, key)
        case FailureClass.RATE_LIMITED:
            # Not counted as a failed attempt; the run's deadline ends it, and the back-off keeps it slow.
            delay = backoff_s(min(count, 6), key)
        case FailureClass.INVALID:
            if count >= limits.max_repairs or failure.type not in REPAIRABLE:
                return None
            # An answer that was too long is written again; what was found out before it stays.
            afresh = failure.type != CUT and not acted and (tool is None or tool.effect is not Effect.ONCE)
        case FailureClass.LOST:
            if count >= MAX_LOSSES:
                return None
        case _:
            return None
    delay = max(delay, failure.retry_after_s or 0.0)
    wait = timedelta(seconds=min(delay, LONGEST_WAIT_S))
    not_before = now + wait if wait else None
    if deadline is not None and not_before is not None and not_before >= deadline:
        return None
    feedback = failure.message if failure.class_ is FailureClass.INVALID else ""
    return Retry(not_before=not_before, afresh=afresh, feedback=feedback)


CUT = "cut_answer"
"""The type of the ``invalid`` failure of an answer that was cut off at its token limit."""
REPAIRABLE = frozenset({"unproven", "bad_thought", "unmet_check", CUT})
"""Types of ``invalid`` failures that a further attempt with feedback may repair; most are found by the gate."""


def backoff_s(count: int, key: str) -> float:
    """Seconds to wait before the retry after ``count`` earlier failures: exponential, with jitter from ``key``.

    "Full jitter" between half and the whole of the exponential delay, after Brooker, "Exponential Backoff And Jitter"
    (AWS Architecture Blog, 2015).
    """
    whole = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2**count)
    fraction = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") / 2**32
    return whole * (0.5 + 0.5 * fraction)
