"""A flow whose pieces are carried out by code: each notes who does it, and may wait for a gate or for a while."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from leadhand.flows import Desk, Finish, Flow, IssueStep, OfflineRequest, Outcome, RunView, StepView, Worker


def answered(facts: dict[str, Any], request: OfflineRequest) -> str:
    """What the model answers with --offline."""
    return "a piece"


class Pieces(Flow):
    """So many pieces, each of so many seconds; those from ``held`` on wait until the file ``gate`` is there."""

    name = "pieces"
    offline = {"hand": answered}

    class Options(Flow.Options):
        folder: str
        count: int = 20
        seconds: float = 0.0
        held: int | None = None
        asks: bool = False

    def roles(self, options: Options) -> list[Worker]:
        return [Worker(name="hand", loop="code", counts=True)]

    def next(self, run: RunView[Options]) -> list[Any]:
        if not run.steps:
            given = run.options.model_dump()
            return [
                IssueStep(id=f"piece-{n}", worker="hand", input={**given, "n": n}) for n in range(run.options.count)
            ]
        return [] if run.open else [Finish()]

    def code(self, run: RunView[Options], step: StepView) -> Any:
        return piece

    def outcome(self, run: RunView[Options]) -> Outcome:
        done = [each for each in run.steps.values() if each.ok]
        return Outcome(answer=f"{len(done)} pieces", uses=[each.id for each in done])


async def piece(desk: Desk) -> str:
    given = desk.brief
    folder, n = Path(given["folder"]), given["n"]
    _note(folder, f"began {n}")
    if given["held"] is not None and n >= given["held"]:
        while not (folder / "gate").exists():  # noqa: ASYNC110 (the gate is a file)
            await asyncio.sleep(0.01)
    if given["asks"]:
        await desk.ask(f"What is piece {n}?")
    if given["asks"]:
        await desk.ask(f"What is piece {n}?")
    await asyncio.sleep(given["seconds"])
    _note(folder, f"ended {n}")
    return f"piece {n}"


def _note(folder: Path, what: str) -> None:
    with (folder / "notes").open("a") as notes:
        notes.write(f"{os.getpid()} {what}\n")
