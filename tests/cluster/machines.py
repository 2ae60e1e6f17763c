"""Real processes that share a PostgreSQL database: hosts and drivers, and what they noted."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from processes import Program, started

from cluster.pieces import pieces
from leadhand import Leadhand
from leadhand.core.events import AttemptReturned, AttemptStarted, Entry
from leadhand.core.evolve import replay
from leadhand.core.run import RunStatus
from leadhand.core.state import RunState
from leadhand.ports import ContextStore
from leadhand.stores.opening import open_store

FLOWS = str(Path(__file__).with_name("pieces.py"))
PATIENCE_S = 60.0


class Machine(Program):
    """One process, which writes its errors to a ``log``; ``host`` is what it calls itself there, if it said so."""

    def __init__(self, process: Process, log: Path) -> None:
        super().__init__(process)
        self.log = log
        self.host = ""

    async def complaint(self) -> str:
        return self.log.read_text()


@dataclass
class Cluster:
    """The processes of one test."""

    url: str
    folder: Path
    environment: dict[str, str] = field(default_factory=lambda: {"LEADHAND_HEARTBEAT_LIMIT": "1.5"})

    @asynccontextmanager
    async def process(self, *words: str, name: str) -> AsyncGenerator[Machine]:
        log = self.folder / f"{name}.log"
        command = (sys.executable, "-m", "leadhand", *words, "--home", str(self.folder / name))
        environment = {**os.environ, "LEADHAND_DATABASE_URL": self.url, **self.environment}
        with log.open("w") as errors:
            async with started(*command, stdin=None, stderr=errors, env=environment) as process:
                yield Machine(process, log)

    @asynccontextmanager
    async def host(self, name: str, *words: str) -> AsyncGenerator[Machine]:
        """`leadhand work`, once it takes work."""
        async with self.process("work", "--offline", "--flows", FLOWS, *words, name=name) as machine:
            machine.host = await machine.line()
            yield machine

    @asynccontextmanager
    async def run(self, name: str = "driver", *words: str, **options: Any) -> AsyncGenerator[Machine]:
        """`leadhand run --flow pieces` in the foreground."""
        given = {"folder": str(self.folder), **options}
        flags = [word for key, value in given.items() for word in ("--option", f"{key}={json.dumps(value)}")]
        command = ("run", "--offline", "--json", "--flows", FLOWS, "--flow", "pieces", *flags, *words, "pieces")
        async with self.process(*command, name=name) as machine:
            yield machine

    async def said(self, *words: str, name: str = "client") -> str:
        """Run a command to its end and return what it wrote, its log last."""
        async with self.process(*words, name=name) as machine:
            code, said = await machine.rest()
            log = machine.log.read_text()
            assert code == 0, log
            return said + log

    async def entries(self, run_id: str) -> list[Entry]:
        async with self.store() as store:
            return await store.read(run_id)

    @property
    def notes(self) -> list[tuple[int, str, int]]:
        """What the processes noted: process, ``began`` or ``ended``, piece."""
        path = self.folder / "notes"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(int(pid), what, int(n)) for pid, what, n in (line.split() for line in lines)]

    def by_process(self, what: str = "ended") -> Counter[int]:
        """How many pieces each process has begun or ended."""
        return Counter(pid for pid, noted, _ in self.notes if noted == what)

    def open_gate(self) -> None:
        (self.folder / "gate").touch()

    @asynccontextmanager
    async def store(self) -> AsyncGenerator[ContextStore]:
        store = await open_store(self.url)
        try:
            yield store
        finally:
            await store.aclose()

    def lead(self) -> Leadhand:
        """A client in this process, which drives nothing."""
        return Leadhand(model="offline", flows=[pieces], store=self.url, home=self.folder / "client")

    @contextmanager
    def database(self) -> Generator[psycopg.Connection[Any]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            yield connection

    def most_connections(self) -> int:
        """How many sessions the hosts have with the server."""
        with self.database() as connection:
            found = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'leadhand'")
            ((number,),) = found.fetchall()
        return number

    async def state(self, run_id: str) -> RunState:
        return replay(run_id, await self.entries(run_id))

    async def finished(self, run_id: str) -> RunState:
        """The state of a run, once it is over."""
        async with self.store() as store:
            await until(lambda: store.run(run_id), lambda run: run.finished_at is not None)
        return await self.state(run_id)

    async def succeeded(self, run_id: str) -> RunState:
        """The state of a run that succeeded, once it is over."""
        state = await self.finished(run_id)
        assert state.status is RunStatus.SUCCEEDED, state.finished
        return state


async def started_detached(cluster: Cluster, *words: str, **options: Any) -> str:
    """Start a detached run of pieces, and return its id."""
    given = {"folder": str(cluster.folder), **options}
    flags = [word for key, value in given.items() for word in ("--option", f"{key}={json.dumps(value)}")]
    command = ("run", "--offline", "--detach", "--flows", FLOWS, "--flow", "pieces", *flags, *words, "pieces")
    return (await cluster.said(*command)).split()[0]


def lost(entries: Iterable[Entry]) -> int:
    """How many attempts were given up because their process was gone."""
    return sum(getattr(entry.event, "lost", False) for entry in entries)


def finished_by(entries: Iterable[Entry]) -> dict[str, str | None]:
    """The process that carried out each attempt whose result counts."""
    events = [entry.event for entry in entries]
    hosts = {event.attempt: event.host for event in events if isinstance(event, AttemptStarted)}
    late = {event.attempt for event in events if getattr(event, "lost", False)}
    returned = {event.attempt for event in events if isinstance(event, AttemptReturned)}
    return {attempt: hosts[attempt] for attempt in returned - late}


async def until(look: Callable[[], Any], holds: Callable[[Any], bool] = bool) -> Any:
    """What ``look`` returns, as soon as it ``holds``."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = look()
            if asyncio.iscoroutine(found):
                found = await found
            if holds(found):
                return found
            await asyncio.sleep(0.01)
