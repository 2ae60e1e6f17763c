"""The job of hosts.py with DBOS: one queue, workflows that sleep, and processes that take them from the queue."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time

import psutil
from dbos import DBOS, DBOSClient

count, seconds, hosts, at_once, url = sys.argv[-5:]
url = url.partition("&options=")[0]


def worker() -> None:
    """Take workflows from the queue until the process is killed."""
    DBOS(config={"name": "job", "system_database_url": url, "run_admin_server": False, "application_version": "1"})

    @DBOS.workflow(name="rest")
    async def rest(n: int) -> int:
        import asyncio

        await asyncio.sleep(float(seconds))
        return n

    DBOS.launch()
    DBOS.register_queue("rests", worker_concurrency=int(at_once))
    print("ready", flush=True)
    while True:
        time.sleep(60)


def cpu(processes: list[psutil.Process]) -> float:
    return sum(times.user + times.system for times in (each.cpu_times() for each in processes))


def carry_out(client: DBOSClient, number: int) -> None:
    """Enqueue workflows, and wait until all have ended."""
    options = {"queue_name": "rests", "workflow_name": "rest", "app_version": "1"}
    handles = [client.enqueue(options, n) for n in range(number)]
    for each in handles:
        each.get_result()


def main() -> None:
    with tempfile.TemporaryFile() as log:
        workers = []
        for _ in range(int(hosts)):
            command = [sys.executable, __file__, "worker", *sys.argv[1:]]
            workers.append(psutil.Popen(command, stdout=subprocess.PIPE, stderr=log))
            workers[-1].stdout.readline()  # one after another, since the first one creates the tables
        try:
            client = DBOSClient(system_database_url=url)
            carry_out(client, int(hosts))
            before, me = cpu(workers), psutil.Process()
            mine, began = cpu([me]), time.monotonic()
            carry_out(client, int(count))
            took = time.monotonic() - began
            n = int(count)
            found = {"driver_ms": (cpu([me]) - mine) * 1000 / n, "workers_ms": (cpu(workers) - before) * 1000 / n}
            print(json.dumps({"took": took, **found}))
        finally:
            for each in workers:
                each.kill()


if __name__ == "__main__":
    worker() if sys.argv[1] == "worker" else main()
