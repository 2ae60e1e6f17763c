"""A flow that is a function, with a step of each kind, some of which have large results."""

from __future__ import annotations

import os
from typing import Any

from leadhand import Worker, tool
from leadhand.flows import FlowContext, OfflineRequest, flow

ROWS = 200
counter = Worker("counter", "Count the `rows`.")


def counted(facts: dict[str, Any], request: OfflineRequest) -> str:
    """What the model answers with --offline."""
    return f"{len(facts['rows'])} rows"


async def gathered(n: int, rows: Any) -> dict[str, Any]:
    """Say which process has seen how many rows."""
    return {"n": n, "rows": len(rows["raw"]), "process": os.getpid()}


@tool
def rows(n: int) -> list[dict[str, Any]]:
    """Return many rows."""
    return [{"row": number, "of": n, "text": "x" * 50} for number in range(ROWS)]


@flow(offline={counter: counted})
async def everywhere(run: FlowContext, n: int = 6) -> str:
    """Call, do and ask side by side, and order what follows."""

    async def branch(number: int) -> Any:
        called = await run.call("rows", n=number)
        done = await run.do(gathered, n=number, rows=called)
        return await run.ask(counter, rows=called.raw[: done.value["n"]])

    found = await run.gather(branch(number) for number in range(n))
    ordered = await run.order(
        "again", [{"name": f"rows {each}", "tool": "rows", "args": {"n": each}} for each in (1, 2)]
    )
    return " ".join([*map(str, found), *(str(len(each.raw)) for each in ordered)])
