"""A process that is stopped (SIGSTOP) again and again while it writes: how often others find the database locked."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path

from world import carry_out

from leadhand.stores.opening import open_store

STOPS = 150
SUBTASKS = 1_000


async def write(path: str) -> None:
    """Carry out one run after the other, until this process is killed."""
    store = await open_store(path)
    while True:
        await carry_out(store, SUBTASKS, 0.0)


def is_locked(path: Path) -> bool:
    """Whether a process that wants to write now would have to wait."""
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        connection.execute("ROLLBACK")
        return False


def is_stopped(pid: int) -> bool:
    tasks = (task / "stat" for task in Path(f"/proc/{pid}/task").iterdir())
    return all(stat.read_text().rpartition(")")[2].split()[0] == "T" for stat in tasks)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "leadhand.db"
        writer = subprocess.Popen([sys.executable, __file__, str(path)])
        locked = 0
        try:
            while not path.exists() or path.stat().st_size == 0:
                time.sleep(0.05)
            time.sleep(1)
            for _ in range(STOPS):
                time.sleep(random.uniform(0.02, 0.08))
                os.kill(writer.pid, signal.SIGSTOP)
                while not is_stopped(writer.pid):
                    time.sleep(0.001)
                locked += is_locked(path)
                os.kill(writer.pid, signal.SIGCONT)
        finally:
            writer.kill()
            writer.wait()
    print(
        f"| stopped | found the database locked |\n|---|---|\n| {STOPS} times | {locked} times ({locked / STOPS:.0%}) |"
    )


if __name__ == "__main__":
    if sys.argv[1:]:
        with suppress(KeyboardInterrupt):
            asyncio.run(write(sys.argv[1]))
    else:
        main()
