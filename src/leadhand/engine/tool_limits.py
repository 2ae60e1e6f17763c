"""The limits of tools that all processes of a store share: calls at once, and calls in a span of time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta

from leadhand.domain.tool import ToolSpec
from leadhand.domain.tool_limits import seconds_between
from leadhand.engine.shared_limits import SharedLimits
from leadhand.engine.slots import announced, without_slot
from leadhand.ports import Clock, ContextStore

AHEAD_S = 0.05
"""A process reserves the next call of a rate, and those of so many seconds; what is reserved and not used is lost."""


class ToolLimits:
    """Lets calls of tools begin when their limits allow it, outside of slots and timeouts. There is one per process."""

    def __init__(self, limits: SharedLimits, store: ContextStore, clock: Clock) -> None:
        self._limits = limits
        self._store = store
        self._clock = clock
        self._queues: dict[tuple[str, str], _Queue] = {}

    @asynccontextmanager
    async def turn(self, tool: ToolSpec, run_id: str, priority: int = 0) -> AsyncGenerator[None]:
        """Wait until a call may be made, and make it in the block."""
        async with self._limits.held(tool.at_once, run_id, priority=priority):
            if tool.rate:
                await self._pass(tool)
            yield

    async def _pass(self, tool: ToolSpec) -> None:
        """Wait for the next time at which a call of the tool may begin."""
        seconds = seconds_between(tool.rate)
        queue = self._queues.get((tool.name, tool.rate))
        if queue is None:
            queue = self._queues[tool.name, tool.rate] = _Queue(max(1, int(AHEAD_S / seconds)), self._clock.now())
        queue.entered += 1
        place = queue.entered

        def how_long() -> str:
            """Say when the turn of this call comes; calls of other processes can delay it."""
            head_s = max(0.0, (queue.due - self._clock.now()).total_seconds())
            return f"about {max(1.0, head_s + (place - queue.begun - 1) * seconds):,.0f} s ({tool.rate})"

        try:
            with announced(f"the rate limit of the tool `{tool.name}`", how_long):
                async with AsyncExitStack() as waiting:  # the slot is taken again once the turn is passed on
                    if queue.turns.locked():
                        await waiting.enter_async_context(without_slot())
                    async with queue.turns:
                        wait_s = await self._store.pass_gate(f"rate of the tool {tool.name}", seconds)
                        if wait_s > 0:
                            queue.due = self._clock.now() + timedelta(seconds=wait_s)
                            await waiting.enter_async_context(without_slot())
                            await self._clock.sleep(wait_s)
        finally:
            queue.begun += 1


class _Queue:
    """The calls of this process that wait for a rate: how many came and went, and when the next one's turn comes."""

    def __init__(self, ahead: int, now: datetime) -> None:
        self.turns = asyncio.Semaphore(ahead)
        self.due = now
        self.entered = self.begun = 0
