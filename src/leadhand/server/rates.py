"""Rate limits per key: requests and new runs per minute, parallel runs and streams.

The user of this machine, who needs no key, has no limits.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import NamedTuple

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter

from leadhand.server.problems import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """The limits of one key; ``wrong_keys_a_minute`` is per address."""

    requests_a_minute: int = 1_200
    runs_a_minute: int = 120
    wrong_keys_a_minute: int = 10
    active_runs: int = 100
    streams: int = 50


class Active(NamedTuple):
    """The runs of a key that count against its limit: those under way, and those that wait for approval."""

    under_way: int
    waiting: int = 0


class Rates:
    """Counts requests in this process."""

    def __init__(self, allowed: Allowed | None = None) -> None:
        self.allowed = allowed or Allowed()
        self._window = MovingWindowRateLimiter(MemoryStorage())
        self._streams: Counter[str] = Counter()

    async def check(self, key_id: str | None) -> dict[str, str]:
        """Count a request, and return the headers that say what is left. Raises Problem (429) above the limit.

        They are those of https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
        """
        if key_id is None:
            return {}
        item = RateLimitItemPerMinute(self.allowed.requests_a_minute)
        await self._hit(item, "requests", key_id, "requests")
        reset, left = await self._window.get_window_stats(item, "requests", key_id)
        return {
            "ratelimit-policy": f'"requests";q={item.amount};w=60',
            "ratelimit": f'"requests";r={left};t={max(0, math.ceil(reset - time.time()))}',
        }

    async def check_active(
        self, key_id: str | None, most: int | None, count: Callable[[int], Awaitable[Active]], *, new: bool = True
    ) -> None:
        """Count a run of a key that begins or continues. Requests of one key must take turns until it is running.

        ``count`` returns its active runs, up to a number; ``most`` is the key's own limit of these. A ``new`` run
        counts against the new runs per minute. Raises Problem (429) above a limit.
        """
        if key_id is None:
            return
        limit = self.allowed.active_runs if most is None else min(most, self.allowed.active_runs)
        active = await count(limit)
        if sum(active) >= limit:
            what = f"this key has {'1 active run' if limit == 1 else f'{limit} active runs'}, which is the limit"
            waits = "1 run waits" if active.waiting == 1 else f"{active.waiting} runs wait"
            how = f"{waits} for approval. Answer the request (GET /api/approvals), or cancel the run."
            raise _too_many(what, 10.0 if active.under_way else None, how if active.waiting else "")
        if new:
            await self._hit(RateLimitItemPerMinute(self.allowed.runs_a_minute), "runs", key_id, "new runs")

    async def check_wrong_key(self, address: str) -> None:
        """Count a request or a log-in with a wrong key. Raises Problem (429) above the limit."""
        item = RateLimitItemPerMinute(self.allowed.wrong_keys_a_minute)
        await self._hit(item, "wrong keys", address, "requests with a wrong key")

    @contextmanager
    def stream(self, key_id: str | None) -> Generator[None]:
        """Count a stream as open inside the block. Raises Problem (429) above the limit."""
        if key_id is None:
            yield
            return
        if self._streams[key_id] >= self.allowed.streams:
            raise _too_many(f"this key has {self.allowed.streams} open streams, which is the limit", 5.0)
        self._streams[key_id] += 1
        try:
            yield
        finally:
            self._streams[key_id] -= 1

    async def _hit(self, item: RateLimitItem, kind: str, who: str, what: str) -> None:
        if await self._window.hit(item, kind, who):
            return
        reset, _ = await self._window.get_window_stats(item, kind, who)
        raise _too_many(f"more than {item.amount} {what} per minute", max(1.0, reset - time.time()))


def _too_many(what: str, seconds: float | None, how: str = "") -> Problem:
    """The problem of a request above a limit (429). ``seconds``: after which time may help; None: it does not."""
    headers: dict[str, str] = {}
    if seconds is not None:
        headers["retry-after"] = str(math.ceil(seconds))
        how = f"Try again in {math.ceil(seconds)} s. {how}".rstrip()
    return Problem(HTTPStatus.TOO_MANY_REQUESTS, "rate_limited", what, how, headers=headers)
