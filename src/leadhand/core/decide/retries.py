"""Whether and when a failed attempt is repeated."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import NamedTuple

from leadhand.core.errors import AWAY, Failure, FailureClass
from leadhand.core.limits import LONGEST_WAIT_S, Limits
from leadhand.core.tool import Effect, ToolSpec

FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 30.0
MAX_LOSSES = 5
"""The number of lost attempts after which a subtask fails, since the subtask itself may crash the process."""


class Retry(NamedTuple):
    """A retry. ``afresh`` starts a new conversation; otherwise the next attempt continues the last one."""

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
    acted: bool = False,
) -> Retry | None:
    """Return the retry after ``failure``, or None if it is final.

    ``acted``: a ``once`` call of the lineage was made, or another worker carried out a task for it, so the attempt can
    be continued but not started again.
    ``before`` are the classes of the earlier failures of this step. ``key`` is the next attempt's id: the jitter
    of the back-off is hashed from it, so that decisions are reproducible.
    """
    count = sum(1 for earlier in before if earlier is failure.class_)
    delay = 0.0
    afresh = False
    match failure.class_:
        case FailureClass.TRANSIENT:
            if failure.type == AWAY or count >= (limits.max_retries if tool is None else tool.retries):
                return None
            delay = backoff_s(count, key)
        case FailureClass.RATE_LIMITED:
            # Not counted as a failed attempt: retries end at the run's deadline, and the back-off slows them down.
            delay = backoff_s(min(count, 6), key)
        case FailureClass.INVALID:
            if count >= limits.max_repairs or failure.type not in REPAIRABLE:
                return None
            # An answer that was too long is written again in the same conversation.
            afresh = failure.type != CUT and not acted and (tool is None or tool.effect is not Effect.ONCE)
        case FailureClass.LOST:
            if count >= MAX_LOSSES:
                return None
        case _:
            return None
    delay = max(delay, failure.retry_after_s or 0.0)
    wait = timedelta(seconds=min(delay, LONGEST_WAIT_S))
    not_before = now + wait if wait else None
    feedback = failure.message if failure.class_ is FailureClass.INVALID else ""
    if failure.type == CUT:  # a model knows neither its limit nor how to raise it
        feedback = TOO_LONG
    return Retry(not_before=not_before, afresh=afresh, feedback=feedback)


CUT = "cut_answer"
"""The type of the ``invalid`` failure of an answer that was cut off at its token limit."""
TOO_LONG = "it is too long"
"""The feedback about such an answer."""
REPAIRABLE = frozenset({"unproven", "bad_thought", CUT})
"""Types of ``invalid`` failures that a retry with feedback can fix; most are found by the gate."""


def backoff_s(count: int, key: str) -> float:
    """Seconds to wait before the retry after ``count`` earlier failures: exponential, with jitter from ``key``.

    "Full jitter" between half and the whole of the exponential delay, after Brooker, "Exponential Backoff And Jitter"
    (AWS Architecture Blog, 2015).
    """
    whole = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2**count)
    fraction = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") / 2**32
    return whole * (0.5 + 0.5 * fraction)
