"""``leadhand work`` and ``hosts list``: hosts that carry out the work of runs, and what each is doing."""

from __future__ import annotations

import asyncio
import signal
from typing import Annotated

from leadhand.app.export.formatting import count, duration
from leadhand.app.runtime.membership import queue_of
from leadhand.cli.options import (
    Documents,
    DriverFlags,
    Flag,
    ModelFlags,
    StoreFlags,
    Tools,
    open_lead,
    open_reader,
)
from leadhand.cli.terminal.messages import database_name, say_table, status_words, write_table
from leadhand.cli.terminal.streams import say, write_json, write_line
from leadhand.core.errors import ConfigurationError, UsageError
from leadhand.ports.hosts import HostKind, HostLine

GRACE_S = 30.0
LONGEST_GRACE_S = 86_400.0
HEADINGS = ("HOST", "RUN", "STATUS", "REQUEST")
ANNOUNCED = ("HOST", "KIND", "STEPS", "RUNS", "SINCE")


async def work(
    *,
    tools: Tools = (),
    documents: Documents = None,
    concurrency: Annotated[
        int | None,
        Flag("Carry out at most N steps at once. The default is LEADHAND_CONCURRENCY, else 1,000.", "N"),
    ] = None,
    grace: Annotated[
        float, Flag("Finish steps for up to S seconds after Ctrl-C. The same after SIGTERM; then others continue.", "S")
    ] = GRACE_S,
    models: ModelFlags = ModelFlags(),
    store: DriverFlags = DriverFlags(),
) -> None:
    """Carry out the work of runs on this machine.

    A host takes work of every run in a PostgreSQL database: it carries out steps beside the process that drives the
    run, and drives runs in the background. Start as many hosts as you like, on any machine. On SIGTERM it takes
    nothing new and finishes what it has.
    """
    from leadhand.app.project.source_files import all_tools

    lead = open_lead(store, models, tools=all_tools(tools), documents=documents, concurrency=concurrency)
    if not 0 <= grace <= LONGEST_GRACE_S:
        raise UsageError(f"invalid value for --grace: {grace:g}", f"Give a number from 0 to {LONGEST_GRACE_S:,.0f}.")
    if lead.settings.database_path is not None:
        raise ConfigurationError(
            f"leadhand work needs a database that machines can share, and {lead.settings.database} is an SQLite file",
            "Name a PostgreSQL database with --database postgresql://USER@HOST/NAME or LEADHAND_DATABASE_URL.",
        )
    async with lead:
        from leadhand.app.runtime.cluster_host import ClusterHost
        from leadhand.app.runtime.driver import Driver, Resumer

        runtime = await lead.runtime()
        driver = Driver(runtime)
        host, resumer = ClusterHost(driver), Resumer(driver)
        stopping, leaving = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        signalled = iter((stopping.set, leaving.set))
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, lambda: next(signalled, leaving.set)())
        await host.start(HostKind.HOST)
        resumer.start()
        about = {
            "database": database_name(runtime),
            "model": f"{runtime.choice.models.default} ({runtime.choice.why})",
            "at once": f"{runtime.settings.concurrency:,} steps",
        }
        say_table(about.items())
        say("Press Ctrl-C to stop. What is not finished then continues on other hosts.")
        write_line(runtime.store.host)
        try:
            await stopping.wait()
            say("Finishing… Press Ctrl-C again to leave the rest to other hosts now.")
            await resumer.aclose()
            draining, left = asyncio.ensure_future(host.drain(grace)), asyncio.ensure_future(leaving.wait())
            await asyncio.wait({draining, left}, return_when=asyncio.FIRST_COMPLETED)
            for task in (draining, left):
                task.cancel()
            await asyncio.gather(draining, left, return_exceptions=True)
        finally:
            await resumer.aclose()
            await host.aclose()


async def hosts_list(
    *,
    json: Annotated[bool, Flag("Print a JSON array. It includes the listing process itself.")] = False,
    store: StoreFlags = StoreFlags(),
) -> None:
    """List the processes that are driving runs.

    A process is listed from the moment it takes a run until it releases the run or dies. On PostgreSQL, servers and
    hosts without a run are listed, too.
    """
    async with open_reader(store) as runtime:
        hosts, queue = await runtime.store.hosts(), await queue_of(runtime.store)
        if json:
            write_json([line.model_dump(mode="json") for line in hosts])
            return
        driven = [(line.host, await runtime.store.run(run_id)) for line in hosts for run_id in line.runs]
    announced = [_columns(line) for line in hosts if line.kind is not None]
    if announced:
        write_table(ANNOUNCED, announced)
        jobs = f"{count(queue.depth, 'job')} in the queue: {queue.steps:,} steps, {len(queue.runs):,} runs"
        say(f"{jobs}; oldest: {duration(queue.oldest_s)}" if queue.depth else "The queue is empty.")
    if driven and not announced:
        write_table(HEADINGS, [(host, run.run_id, status_words(run), run.request) for host, run in driven])
    elif not announced:
        say("No active runs.")


def _columns(line: HostLine) -> tuple[str, ...]:
    kind = f"{line.kind}, draining" if line.draining else str(line.kind)
    since = line.since.astimezone().strftime("%Y-%m-%d %H:%M:%S") if line.since is not None else ""
    return line.host, kind, f"{line.running:,} of {line.concurrency:,}", str(len(line.runs)), since
