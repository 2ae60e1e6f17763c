"""Live events of the server: memory of idle streams, replays, deliveries to 1,000 clients, and Ctrl-C under them.

The server is a process of its own, `leadhand serve`; the clients share this one. Linux only (/proc).
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from leadhand.core.events import AnyEvent, RunRequested, RunStarted, RunStatusSet, ToolCallBegan, ToolCallReturned
from leadhand.core.run import ModelChoice, RunDefinition, RunStatus
from leadhand.stores.opening import open_store

KB = 1_024
RUN = "run_01live"
QUIET = "run_01quiet"
EVENTS = 10_000
CLIENTS = 1_000
FEW = 50
NEWS = 20
ROUNDS = 5
READ_AT_ONCE = 1_000_000


def happened(n: int) -> list[AnyEvent]:
    """Two events of an ordinary size: a call, and what it returned."""
    attempt, call = f"wo-001.{n}/a1", f"wo-001.{n}/t0/c0"
    return [
        ToolCallBegan(attempt=attempt, call_id=call, tool="look", args={"n": n, "place": "Paris, France"}),
        ToolCallReturned(
            attempt=attempt, call_id=call, tool="look", ok=True, summary=f"{n} is well", raw={"text": "x" * 200}
        ),
    ]


async def write(database: str) -> None:
    """A paused run of 10,000 events, and one of three."""
    store = await open_store(database)
    for run_id, pairs in ((RUN, EVENTS // 2 - 1), (QUIET, 0)):
        definition = RunDefinition(request="benchmark", flow="work-order", models=ModelChoice(default="offline"))
        await store.create(run_id, RunStarted(definition=definition))
        events = [event for n in range(pairs) for event in happened(n)]
        for first in range(0, len(events), 500):
            await store.append(run_id, events[first : first + 500])
        await store.append(run_id, [RunStatusSet(status=RunStatus.PAUSED, reason="benchmark")])
        await store.release(run_id, 1)
    await store.aclose()


class Process:
    """`leadhand serve` on a free port."""

    def __init__(self, home: Path) -> None:
        command = [sys.executable, "-m", "leadhand", "serve", "--offline", "--port", "0", "--home", str(home)]
        environment = {**os.environ, "LEADHAND_LOG_LEVEL": "error"}
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline().strip().rpartition(":")[2])

    def rss(self) -> int:
        """Resident bytes."""
        return int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def interrupt(self) -> float:
        """Ctrl-C; the seconds until it is gone."""
        began = time.perf_counter()
        self._process.send_signal(signal.SIGINT)
        self._process.wait(60)
        return time.perf_counter() - began


class Client:
    """One connection that reads a stream of events."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int, run_id: str, after: int) -> Client:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=READ_AT_ONCE)
        writer.write(f"GET /api/runs/{run_id}/events/stream?after={after} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        await reader.readuntil(b"retry: 2000\n")
        return cls(reader, writer)

    async def until(self, seq: int) -> float:
        """Read until this event; the time it came."""
        mark, held = f"id: {seq}\n".encode(), b""
        while mark not in held:
            piece = await self.reader.read(READ_AT_ONCE)
            if not piece:
                raise ConnectionError("the stream ended")
            held = held[-len(mark) :] + piece
        return time.perf_counter()

    def close(self) -> None:
        self._writer.close()


async def replay(port: int, after: int) -> float:
    """Seconds from the connection until the last event is there."""
    began = time.perf_counter()
    client = await Client.open(port, RUN, after)
    there = await client.until(EVENTS)
    client.close()
    return there - began


async def idle(server: Process, number: int) -> list[Client]:
    """Open streams that have nothing to tell."""
    clients: list[Client] = []
    while len(clients) < number:
        clients += await asyncio.gather(*(Client.open(server.port, QUIET, 2) for _ in range(FEW)))
    await asyncio.sleep(1.0)
    return clients


async def deliver(server: Process, database: str, clients: list[Client]) -> tuple[list[float], float]:
    """Seconds from an append by another process to each client having it; and the CPU of the server for all of it."""
    store = await open_store(database)
    latencies: list[float] = []
    cpu = server.cpu()
    for n in range(NEWS):
        waiting = [asyncio.ensure_future(client.until(3 + n)) for client in clients]
        await asyncio.sleep(0)
        began = time.perf_counter()
        await store.append(QUIET, [RunRequested(what="pause", by="benchmark")])
        latencies += [there - began for there in await asyncio.gather(*waiting)]
    await store.aclose()
    return latencies, server.cpu() - cpu


async def measure(home: Path) -> dict[str, float]:
    database = str(home / "leadhand.db")
    await write(database)
    server = Process(home)
    await replay(server.port, 0)  # the first pays for what is made only once
    whole = [await replay(server.port, 0) for _ in range(ROUNDS)]
    last = [await replay(server.port, EVENTS - 1_000) for _ in range(ROUNDS)]
    server.interrupt()
    # Another process, which has held few streams so far: memory that was used before would be used again, unseen.
    server = Process(home)
    for client in await idle(server, FEW):
        client.close()
    await asyncio.sleep(1.0)
    before = server.rss()
    clients = await idle(server, CLIENTS)
    each = (server.rss() - before) / len(clients) / KB
    first = server.rss()
    latencies, cpu = await deliver(server, database, clients)
    grown = (server.rss() - first) / len(clients) / KB
    ended = server.interrupt()
    for client in clients:
        client.close()
    latencies.sort()
    return {
        "replay": statistics.median(whole),
        "last": statistics.median(last),
        "each": each,
        "grown": grown,
        "p50": statistics.median(latencies),
        "p99": latencies[int(len(latencies) * 0.99)],
        "cpu": cpu,
        "ended": ended,
    }


async def main() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8_192), hard) if soft < 8_192 else (soft, hard))
    rounds: list[dict[str, float]] = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            rounds.append(await measure(Path(folder)))
    found = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
    print(json.dumps(rounds), file=sys.stderr)
    print("| live events | median of 3 | goal |")
    print("|---|---|---|")
    print(f"| replay of {EVENTS:,} events to one client, s | {found['replay']:.2f} | well under 1 |")
    print(f"| the last 1,000 of them, s | {found['last']:.3f} | |")
    print(f"| memory of one of {CLIENTS:,} idle streams, KB | {found['each']:.1f} | 30 |")
    print(f"| and what it grows by in {NEWS} deliveries, KB | {found['grown']:.1f} | |")
    there = f"{found['p50']:.2f}, {found['p99']:.2f}"
    print(f"| append in another process to {CLIENTS:,} clients having it, p50, p99, s | {there} | |")
    print(f"| CPU of the server for {NEWS * CLIENTS:,} deliveries, s | {found['cpu']:.2f} | |")
    print(f"| Ctrl-C with {CLIENTS:,} open streams until it is gone, s | {found['ended']:.2f} | about 1 |")


if __name__ == "__main__":
    asyncio.run(main())
