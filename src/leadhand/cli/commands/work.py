"""``leadhand work``: carry out attempts of the runs of other processes, and drive runs in the background."""

from __future__ import annotations

import asyncio
import signal
from typing import Annotated

from leadhand.cli.options import Documents, DriverFlags, Flag, ModelFlags, Tools, open_lead
from leadhand.cli.terminal.messages import database_name, say_table
from leadhand.cli.terminal.streams import say, write_line
from leadhand.core.errors import ConfigurationError, UsageError
from leadhand.ports.hosts import HostKind

GRACE_S = 30.0
LONGEST_GRACE_S = 86_400.0


async def work(
    *,
    tools: Tools = (),
    documents: Documents = None,
    concurrency: Annotated[
        int | None,
        Flag("Carry out at most N steps at once (default: LEADHAND_CONCURRENCY, else 1,000).", "N"),
    ] = None,
    grace: Annotated[
        float, Flag("After SIGTERM or Ctrl-C, finish steps for up to S seconds; then others continue them.", "S")
    ] = GRACE_S,
    models: ModelFlags = ModelFlags(),
    store: DriverFlags = DriverFlags(),
) -> None:
    """Work for the runs of a PostgreSQL database until Ctrl-C or SIGTERM."""
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
        from leadhand.app.driving.cluster import ClusterHost
        from leadhand.app.driving.driver import Driver, Resumer

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
