"""A flow whose pieces are carried out by a function: each notes who does it, and may wait for a gate or for a while."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from leadhand import Worker
from leadhand.flows import FlowContext, flow

HAND = Worker("hand", "Answer.", loop="reply")


async def piece(n: int, folder: str, seconds: float, held: int | None) -> str:
    here = Path(folder)
    _note(here, f"began {n}")
    if held is not None and n >= held:
        while not (here / "gate").exists():  # noqa: ASYNC110 (the gate is a file)
            await asyncio.sleep(0.01)
    await asyncio.sleep(seconds)
    _note(here, f"ended {n}")
    return f"piece {n}"


def _note(folder: Path, what: str) -> None:
    with (folder / "notes").open("a") as notes:
        notes.write(f"{os.getpid()} {what}\n")


@flow(offline={HAND: lambda facts, request: "a piece"})
async def pieces(
    run: FlowContext,
    folder: str,
    count: int = 20,
    seconds: float = 0.0,
    held: int | None = None,
    asks: bool = False,
    rounds: int = 1,
) -> str:
    """So many pieces at once, each of so many seconds, in so many ``rounds``.

    Those from ``held`` on wait until the file ``gate`` is there.
    """

    async def carried_out(n: int) -> bool:
        done = await run.do(piece, key=f"piece-{n}", n=n, folder=folder, seconds=seconds, held=held)
        for _ in range(2 * asks):
            await run.ask(HAND, piece=done)
        return True

    ended: list[Any] = []
    for first in range(0, rounds * count, count):
        numbers = range(first, first + count)
        ended += await run.gather((carried_out(n) for n in numbers), return_failures=True)
    return f"{sum(each is True for each in ended)} pieces"
