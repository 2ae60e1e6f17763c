"""The limits of tools that all processes of a store share: calls at once, and calls in a span of time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

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
        self._turns: dict[tuple[str, str], asyncio.Semaphore] = {}

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
        turns = self._turns.get((tool.name, tool.rate))
        if turns is None:
            turns = asyncio.Semaphore(max(1, int(AHEAD_S / seconds)))
            self._turns[tool.name, tool.rate] = turns
        with announced(f"the rate limit of the tool `{tool.name}`", lambda: tool.rate):
            async with AsyncExitStack() as waiting:  # the slot is taken again once the turn is passed on
                if turns.locked():
                    await waiting.enter_async_context(without_slot())
                async with turns:
                    wait_s = await self._store.pass_gate(f"rate of the tool {tool.name}", seconds)
                    if wait_s > 0:
                        await waiting.enter_async_context(without_slot())
                        await self._clock.sleep(wait_s)
