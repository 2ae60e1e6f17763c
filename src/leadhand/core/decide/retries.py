"""Whether and when a failed attempt is repeated."""

from __future__ import annotations

import hashlib

from leadhand.core.errors import AWAY, Failure, FailureClass
from leadhand.core.limits import LONGEST_WAIT_S, Limits
from leadhand.core.tool import ToolSpec

FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 30.0
MAX_LOSSES = 5
"""The number of lost attempts after which a subtask fails, since the subtask itself may crash the process."""


def retry_after_s(failure: Failure, count: int, key: str, limits: Limits, tool: ToolSpec | None) -> float | None:
    """Return the seconds to wait for the retry after a failure, of which class there were ``count`` before; None if
    the failure is final. The jitter of the back-off is hashed from ``key``, so that decisions are reproducible."""
    delay = 0.0
    match failure.class_:
        case FailureClass.TRANSIENT:
            if failure.type == AWAY or count >= (limits.max_retries if tool is None else tool.retries):
                return None
            delay = backoff_s(count, key)
        case FailureClass.RATE_LIMITED:
            # Not counted as a failed attempt: retries end at the run's deadline, and the back-off slows them down.
            delay = backoff_s(min(count, 6), key)
        case FailureClass.INVALID if count < limits.max_repairs and failure.type in REPAIRABLE:
            pass
        case FailureClass.LOST if count < MAX_LOSSES:
            pass
        case _:
            return None
    return min(max(delay, failure.retry_after_s or 0.0), LONGEST_WAIT_S)


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
