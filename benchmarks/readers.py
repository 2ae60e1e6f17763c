"""The latency of /healthz while 100 clients replay a log of 10,000 events, beside that of an idle server.

The server is a process of its own, `leadhand serve`, and so are the clients. Linux only (/proc).
"""

from __future__ import annotations

import asyncio
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from live_events import EVENTS, Process, replay, write

READERS = 100
IDLE_S = 3.0
PAUSE_S = 0.01


class Probe:
    """Asks for /healthz again and again over one connection."""

    def __init__(self, port: int) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.seconds: list[float] = []

    def ask(self) -> None:
        began = time.perf_counter()
        self._http.request("GET", "/healthz")
        response = self._http.getresponse()
        response.read()
        assert response.status == 200
        self.seconds.append(time.perf_counter() - began)
        time.sleep(PAUSE_S)


def measure(home: Path) -> dict[str, float]:
    asyncio.run(write(str(home / "leadhand.db")))
    server = Process(home)
    asyncio.run(replay(server.port, 0))  # the first pays for what is made only once
    idle = Probe(server.port)
    until = time.perf_counter() + IDLE_S
    while time.perf_counter() < until:
        idle.ask()
    before, memory = server.cpu(), server.rss()
    began = time.perf_counter()
    readers = subprocess.Popen([sys.executable, __file__, "read", str(server.port)])
    busy = Probe(server.port)
    while readers.poll() is None:
        busy.ask()
    took = time.perf_counter() - began
    assert readers.returncode == 0
    found = {
        "idle": statistics.median(idle.seconds),
        "busy": statistics.median(busy.seconds),
        "worst": max(busy.seconds),
        "took": took,
        "cpu": server.cpu() - before,
        "memory": (server.rss() - memory) / 1_000_000,
    }
    server.interrupt()
    return found


async def read(port: int) -> None:
    await asyncio.gather(*(replay(port, 0) for _ in range(READERS)))


def main() -> None:
    rounds: list[dict[str, float]] = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            rounds.append(measure(Path(folder)))
    found = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
    print(json.dumps(rounds), file=sys.stderr)
    print(f"| {READERS} clients replay {EVENTS:,} events each | median of 3 |")
    print("|---|---|")
    print(f"| /healthz of an idle server, median, ms | {found['idle'] * 1_000:.1f} |")
    print(f"| /healthz meanwhile, median, worst, ms | {found['busy'] * 1_000:.1f}, {found['worst'] * 1_000:.0f} |")
    print(f"| until the last has everything, s | {found['took']:.1f} |")
    print(f"| CPU of the server, s | {found['cpu']:.1f} |")
    print(f"| and its growth, MB | {found['memory']:.0f} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["read"]:
        asyncio.run(read(int(sys.argv[2])))
    else:
        main()
