"""``leadhand hosts list``: the processes that are driving runs."""

from __future__ import annotations

from typing import Annotated

from leadhand.cli.options import Flag, StoreFlags, open_reader
from leadhand.cli.terminal.messages import status_words, write_table
from leadhand.cli.terminal.streams import say, write_json

HEADINGS = ("HOST", "RUN", "STATUS", "REQUEST")


async def hosts_list(
    *,
    json: Annotated[bool, Flag("Print a JSON array. It includes the listing process itself.")] = False,
    store: StoreFlags = StoreFlags(),
) -> None:
    """List the processes that are driving runs."""
    async with open_reader(store) as runtime:
        hosts = await runtime.store.hosts()
        if json:
            write_json([line.model_dump(mode="json") for line in hosts])
            return
        driven = [(line.host, await runtime.store.run(run_id)) for line in hosts for run_id in line.runs]
    if driven:
        write_table(HEADINGS, [(host, run.run_id, status_words(run), run.request) for host, run in driven])
    else:
        say("No active runs.")
