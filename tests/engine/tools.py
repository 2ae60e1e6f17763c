"""Tools for the tests: each remembers its calls, and does one thing."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from leadhand.core.errors import FailureClass, ToolError
from leadhand.core.tool import Source, ToolReturn
from leadhand.ports import ToolContext
from leadhand.tools.decorator import tool
from leadhand.tools.tool import Tool


class Bench:
    """A set of tools and what was done with them: ``made`` lists every call, in order, as (tool, argument)."""

    def __init__(self) -> None:
        self.made: list[tuple[str, Any]] = []
        self.keys: list[str] = []
        self.at_once = 0
        self.most_at_once = 0

    @property
    def counts(self) -> Counter[str]:
        """How often each tool was called."""
        return Counter(name for name, _ in self.made)

    async def _busy(self) -> None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            for _ in range(5):
                await asyncio.sleep(0)
        finally:
            self.at_once -= 1

    @property
    def look(self) -> Tool[..., Any]:
        """Tells what it saw, in words."""

        @tool
        async def look(n: int, context: ToolContext) -> ToolReturn:
            """Look at number n."""
            self.made.append(("look", n))
            self.keys.append(context.call_id)
            await self._busy()
            return ToolReturn(
                raw={"n": n}, summary=f"saw {n}", sources=(Source(title=f"page {n}", url=f"https://example.org/{n}"),)
            )

        return look

    @property
    def measure(self) -> Tool[..., Any]:
        """Tells numbers, and leaves the words to a model."""

        @tool
        async def measure(n: int) -> dict[str, int]:
            """Measure number n."""
            self.made.append(("measure", n))
            await self._busy()
            return {"value": 10 * n}

        return measure

    def flaky(self, failures: int, error: Exception | None = None, **policy: Any) -> Tool[..., Any]:
        """Fails so many times for each argument, and then tells what it saw."""
        failed: Counter[int] = Counter()

        @tool(**policy)
        async def flaky(n: int) -> ToolReturn:
            """Look at number n, with bad luck."""
            self.made.append(("flaky", n))
            if failed[n] < failures:
                failed[n] += 1
                raise error or ConnectionError("the line is dead")
            return ToolReturn(raw=n, summary=f"saw {n} at last")

        return flaky

    def broken(self, error: BaseException, name: str = "broken", **policy: Any) -> Tool[..., Any]:
        """Raises, always."""

        @tool(name=name, **policy)
        async def broken(n: int = 0) -> None:
            """Break."""
            self.made.append((name, n))
            raise error

        return broken

    def hanging(self, **policy: Any) -> Tool[..., Any]:
        """Never answers."""

        @tool(name="hanging", **policy)
        async def hanging(n: int = 0) -> None:
            """Hang."""
            self.made.append(("hanging", n))
            await asyncio.Event().wait()

        return hanging

    def send(self, **policy: Any) -> Tool[..., Any]:
        """Does something to the world, once."""

        @tool(name="send", **{"effect": "once", **policy})
        async def send(amount: int, context: ToolContext) -> ToolReturn:
            """Send an amount of money."""
            self.made.append(("send", amount))
            self.keys.append(context.call_id)
            return ToolReturn(raw={"sent": amount}, summary=f"sent {amount}")

        return send


def refusal(message: str = "no such number", class_: FailureClass = FailureClass.INVALID) -> ToolError:
    return ToolError(message, type="refused", class_=class_)
