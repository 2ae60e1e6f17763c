"""``leadhand hosts list``: the processes that are alive, and what each is doing."""

from __future__ import annotations

from typing import Annotated

from leadhand.app.formatting import duration
from leadhand.app.hosts.membership import queue_of, waiting_runs
from leadhand.cli.options import Flag, StoreFlags, open_reader
from leadhand.cli.terminal.messages import status_words, write_table
from leadhand.cli.terminal.streams import say, write_json
from leadhand.ports.hosts import HostLine, QueueInfo

HEADINGS = ("HOST", "RUN", "STATUS", "REQUEST")
QUEUED = ("POSITION", "RUN", "PRIORITY", "WAITS")
ANNOUNCED = ("HOST", "KIND", "STEPS", "RUNS", "SINCE")


async def hosts_list(
    *,
    json: Annotated[bool, Flag("Print a JSON array. It includes the listing process itself.")] = False,
    store: StoreFlags = StoreFlags(),
) -> None:
    """List the processes that are driving runs or, on PostgreSQL, take work from the queue."""
    async with open_reader(store) as runtime:
        hosts, queue = await runtime.store.hosts(), await queue_of(runtime.store)
        waiting = await waiting_runs(runtime.store, hosts) if runtime.cluster is not None and not json else []
        if json:
            write_json([line.model_dump(mode="json") for line in hosts])
            return
        driven = [(line.host, await runtime.store.run(run_id)) for line in hosts for run_id in line.runs]
    announced = [_columns(line) for line in hosts if line.kind is not None]
    if announced:
        write_table(ANNOUNCED, announced)
        say(_waiting(queue))
    if waiting:
        rows = [(str(each.position), each.run_id, str(each.priority), each.reason) for each in waiting]
        write_table(QUEUED, rows)
    if driven and not announced:
        write_table(HEADINGS, [(host, run.run_id, status_words(run), run.request) for host, run in driven])
    elif not announced and not waiting:
        say("No active runs.")


def _columns(line: HostLine) -> tuple[str, ...]:
    kind = f"{line.kind}, draining" if line.draining else str(line.kind)
    since = line.since.astimezone().strftime("%Y-%m-%d %H:%M:%S") if line.since is not None else ""
    return line.host, kind, f"{line.running:,} of {line.concurrency:,}", str(len(line.runs)), since


def _waiting(queue: QueueInfo) -> str:
    if not queue.depth:
        return "The queue is empty."
    waiting = f"{queue.depth:,} job{'s' * (queue.depth != 1)} in the queue"
    return f"{waiting}: {queue.steps:,} steps, {len(queue.runs):,} runs; oldest: {duration(queue.oldest_s)}"
