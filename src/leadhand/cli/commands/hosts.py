"""``leadhand hosts list``: the processes that are alive, and what each is doing."""

from __future__ import annotations

from typing import Annotated

from leadhand.app.formatting import count, duration
from leadhand.app.host_waits import waiting_runs
from leadhand.app.membership import queue_of
from leadhand.cli.options import Flag, StoreFlags, open_reader
from leadhand.cli.terminal.messages import status_words, write_table
from leadhand.cli.terminal.streams import say, write_json
from leadhand.ports.hosts import HostLine

HEADINGS = ("HOST", "RUN", "STATUS", "REQUEST")
QUEUED = ("POSITION", "RUN", "PRIORITY", "WAITS")
ANNOUNCED = ("HOST", "KIND", "STEPS", "RUNS", "SINCE")


async def hosts_list(
    *,
    json: Annotated[bool, Flag("Print a JSON array. It includes the listing process itself.")] = False,
    store: StoreFlags = StoreFlags(),
) -> None:
    """List the processes that are driving runs.

    A process is listed from the moment it takes a run until it releases the run or dies. On PostgreSQL, servers and
    hosts without a run are listed, too, and so are the runs that wait for a process.
    """
    async with open_reader(store) as runtime:
        hosts, queue = await runtime.store.hosts(), await queue_of(runtime.store)
        if json:
            write_json([line.model_dump(mode="json") for line in hosts])
            return
        waiting = await waiting_runs(runtime.store, hosts) if runtime.cluster is not None else []
        driven = [(line.host, await runtime.store.run(run_id)) for line in hosts for run_id in line.runs]
    announced = [_columns(line) for line in hosts if line.kind is not None]
    if announced:
        write_table(ANNOUNCED, announced)
        jobs = f"{count(queue.depth, 'job')} in the queue: {queue.steps:,} steps, {len(queue.runs):,} runs"
        say(f"{jobs}; oldest: {duration(queue.oldest_s)}" if queue.depth else "The queue is empty.")
    if waiting:
        write_table(QUEUED, [(str(each.position), each.run_id, str(each.priority), each.reason) for each in waiting])
    if driven and not announced:
        write_table(HEADINGS, [(host, run.run_id, status_words(run), run.request) for host, run in driven])
    elif not announced and not waiting:
        say("No active runs.")


def _columns(line: HostLine) -> tuple[str, ...]:
    kind = f"{line.kind}, draining" if line.draining else str(line.kind)
    since = line.since.astimezone().strftime("%Y-%m-%d %H:%M:%S") if line.since is not None else ""
    return line.host, kind, f"{line.running:,} of {line.concurrency:,}", str(len(line.runs)), since
