"""The job of hosts.py with Celery: one group, threads that sleep, PostgreSQL as broker and for results.

Celery recommends Redis or RabbitMQ. This uses its SQLAlchemy transport, so that all systems share one server.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from urllib.parse import parse_qs, urlsplit

import psutil
from celery import Celery, group

count, seconds, hosts, at_once, url = sys.argv[-5:]
place = urlsplit(url)
socket = parse_qs(place.query).get("host", [""])[0]
user = f"{place.username or 'postgres'}:@{place.netloc.rpartition('@')[2]}"
database = f"postgresql+psycopg2://{user}{place.path}" + (f"?host={socket}" if socket else "")
app = Celery("job", broker=f"sqla+{database}", backend=f"db+{database}")
app.conf.update(worker_prefetch_multiplier=1, task_acks_late=True, broker_connection_retry_on_startup=True)


@app.task(name="rest")
def rest(n: int) -> int:
    time.sleep(float(seconds))
    return n


def cpu(processes: list[psutil.Popen]) -> float:
    return sum(times.user + times.system for times in (each.cpu_times() for each in processes))


def main() -> None:
    with tempfile.TemporaryFile() as log:
        command = [sys.executable, __file__, "worker"]
        workers = [psutil.Popen([*command, f"w{n}", *sys.argv[1:]], stdout=log, stderr=log) for n in range(int(hosts))]
        try:
            group(rest.s(n) for n in range(int(hosts))).apply_async().get(timeout=300)
            before, me = cpu(workers), psutil.Process()
            mine, began = cpu([me]), time.monotonic()
            group(rest.s(n) for n in range(int(count))).apply_async().get(timeout=1_000, interval=0.1)
            took = time.monotonic() - began
            n = int(count)
            found = {"driver_ms": (cpu([me]) - mine) * 1000 / n, "workers_ms": (cpu(workers) - before) * 1000 / n}
            print(json.dumps({"took": took, **found}))
        finally:
            for each in workers:
                each.kill()


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        app.worker_main(["worker", "-P", "threads", "-c", at_once, "-n", sys.argv[2], "--loglevel", "WARNING"])
    else:
        main()
