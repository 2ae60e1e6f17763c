"""The system clock and the source of run ids."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))


def new_run_id() -> str:
    """Return a run id: ``run_`` and a ULID in lower case, so that ids sort by time."""
    from ulid import ULID

    return f"run_{str(ULID()).lower()}"
