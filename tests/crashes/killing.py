"""Starting, killing and resuming real processes, and counting what they did between them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from processes import PATIENCE_S, Program, started

import leadhand
from leadhand.core.events import Entry, ModelCallReturned, RunClaimed, ToolCallReturned
from leadhand.core.evolve import replay
from leadhand.core.run import SETTLED, StepStatus
from leadhand.core.state import RunState
from leadhand.ports import ContextStore
from leadhand.ports.heads import head_of
from leadhand.stores.opening import open_store

CHILD = Path(__file__).with_name("child.py")
SOURCE = Path(leadhand.__file__).parents[1]


class Life(Program):
    """A process of ``child.py``; what it says is JSON, a line at a time."""

    async def said(self) -> dict[str, Any]:
        """Its next line."""
        return json.loads(await self.line())

    async def died(self) -> None:
        """Wait until it has killed itself."""
        async with asyncio.timeout(PATIENCE_S):
            assert await self.process.wait() == -9, await self.complaint()

    async def rest(self) -> list[dict[str, Any]]:
        """All it still has to say, until it ends well."""
        code, said = await super().rest()
        assert (code, await self.complaint()) == (0, "")
        return [json.loads(line) for line in said.splitlines()]


@dataclass
class Theatre:
    """A database, a home, the file of calls: what the lives of a run have in common."""

    url: str
    folder: Path
    plan: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    config: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def gate(self) -> Path:
        return self.folder / "gate"

    @property
    def answer(self) -> str:
        """What the run is to come to: every piece, those below zero done another way."""
        done = {"piece": "piece", "pay": "paid", "fork": "forked"}
        return "; ".join(sorted(f"{done[name]} {abs(n)}" for name, n in self.plan))

    @asynccontextmanager
    async def life(self, **config: Any) -> AsyncGenerator[Life]:
        """A process; killed at the end of the block, if it is still there."""
        given = {
            "url": self.url,
            "home": str(self.folder / "home"),
            "calls": str(self.folder / "calls"),
            "gate": str(self.gate),
            "plan": self.plan,
            **self.config,
            **config,
        }
        command = (sys.executable, str(CHILD), json.dumps(given))
        environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
        async with started(*command, stderr=asyncio.subprocess.PIPE, env=environment) as process:
            yield Life(process)

    def noted(self, kind: str, after: int = 0) -> list[str]:
        """What was noted of a kind (``call``, ``asked``, ``held``, ``forked``), from a line on."""
        path = self.folder / "calls"
        lines = path.read_text().splitlines()[after:] if path.exists() else []
        return [line.partition(" ")[2] for line in lines if line.startswith(f"{kind} ")]

    @property
    def lines(self) -> int:
        path = self.folder / "calls"
        return len(path.read_text().splitlines()) if path.exists() else 0

    async def held(self, what: str, times: int = 1) -> None:
        """Wait until something of a life waits at the gate, for the so manieth time."""
        async with asyncio.timeout(PATIENCE_S):
            while self.noted("held").count(what) < times:  # noqa: ASYNC110 (another process notes it)
                await asyncio.sleep(0.005)

    async def resumed(self, run_id: str) -> dict[str, Any]:
        """Resume a run in a process of its own and say what came of it."""
        async with self.life(resume=run_id) as life:
            begun, ended = await life.rest()
        assert begun == {"run_id": run_id}
        return ended

    def store(self) -> Any:
        """The database, as another process sees it."""
        return _opened(self.url)


@asynccontextmanager
async def _opened(url: str) -> AsyncGenerator[ContextStore]:
    async with aclosing(await open_store(url)) as store:
        yield store


@dataclass(frozen=True, kw_only=True)
class Cut:
    """A run as its killed process left it."""

    run_id: str
    log: list[Entry]
    state: RunState
    lines: int

    @property
    def completed(self) -> set[str]:
        """The subtasks that were finished."""
        done = self.state.steps.items()
        return {key for key, subtask in done if subtask.counts and subtask.status is StepStatus.COMPLETED}


async def left_by(theatre: Theatre, run_id: str) -> Cut:
    """What the dead process left; its run is an orphan, seen at once."""
    async with theatre.store() as store:
        async with asyncio.timeout(PATIENCE_S):
            while not (await store.run(run_id)).orphan:
                # PostgreSQL learns of the end of a process from its socket; a lock file is free at that moment.
                assert theatre.url.startswith("postgres"), "the run is no orphan, and its process is dead"
                await asyncio.sleep(0.005)
        log = await store.read(run_id)
    return Cut(run_id=run_id, log=log, state=replay(run_id, log), lines=theatre.lines)


async def check_resumed(theatre: Theatre, cut: Cut, *, answer: str | None = None) -> None:
    """Resume what was cut in a new process, and count: nothing finished is done again, and nothing is lost."""
    ended = await theatre.resumed(cut.run_id)
    assert ended == {"status": "succeeded", "answer": theatre.answer if answer is None else answer}
    await check_calls(theatre, cut)


async def check_calls(theatre: Theatre, cut: Cut) -> None:
    """Count what was done after the cut against what the log said before it."""
    async with theatre.store() as store:
        log, listing = await store.read(cut.run_id), await store.run(cut.run_id)
    assert log[: len(cut.log)] == cut.log, "something committed was lost"
    assert [entry.seq for entry in log] == list(range(1, len(log) + 1))
    calls = [call.removeprefix(f"{cut.run_id}/") for call in theatre.noted("call", cut.lines)]
    again = [call for call in calls if call.partition("/")[0] in cut.completed]
    assert not again, "a completed subtask was carried out again"
    returned = {entry.event.call_id for entry in cut.log if isinstance(entry.event, ToolCallReturned)}
    assert not returned & set(calls), "a call whose result is in the log was made again"
    answered = {entry.event.call_id for entry in cut.log if isinstance(entry.event, ModelCallReturned)}
    asked = {key.removeprefix(f"{cut.run_id}/") for key in theatre.noted("asked", cut.lines)}
    assert not answered & asked, "a model was asked again what it had answered"
    assert not [call for call, times in Counter(calls).items() if times > 1]
    state = replay(cut.run_id, log)
    shown = (listing.subtasks, listing.completed, listing.failed, listing.asking)
    assert shown == head_of(state)[1:], "the list says something else"
    assert all(subtask.status in SETTLED for subtask in state.steps.values() if subtask.counts), "a subtask was lost"
    since = [entry.event for entry in log[len(cut.log) :]]
    lost = {event.attempt.rpartition("/a")[0] for event in since if getattr(event, "lost", False)}
    assert lost <= set(cut.state.live), "an attempt was given up that was not under way"
    assert len([event for event in since if isinstance(event, RunClaimed)]) == 1
