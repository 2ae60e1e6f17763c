"""``leadhand hosts list``: the processes that drive runs, and which."""

from __future__ import annotations

from leadhand.app.formatting import shortened
from leadhand.cli.console import out_is_terminal, say, width, write_json, write_line
from leadhand.cli.exit_codes import Exit
from leadhand.cli.options import HERE, Place, open_reader
from leadhand.cli.telling import status_words

HEADINGS = ("HOST", "RUN", "STATUS", "REQUEST")


async def hosts_list(*, json: bool = False, place: Place = HERE) -> int:
    """List the processes that are alive and drive runs, and which.

    Parameters
    ----------
    json
        Print a JSON array; the process that lists is in it, too.
    """
    async with open_reader(place) as lead:
        store = (await lead.runtime()).store
        hosts = await store.hosts()
        if json:
            write_json([line.model_dump(mode="json") for line in hosts])
            return Exit.ANSWERED
        driven = [(line.host, await store.run(run_id)) for line in hosts for run_id in line.runs]
    if not driven:
        say("Nobody drives a run.")
        return Exit.ANSWERED
    rows = [HEADINGS, *((host, run.run_id, status_words(run), run.request) for host, run in driven)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS) - 1)]
    room = max(20, width() - sum(widths) - 2 * len(widths)) if out_is_terminal() else 1_000
    for row in rows:
        cells = [f"{cell:<{wide}}" for cell, wide in zip(row, widths, strict=False)]
        write_line("  ".join([*cells, shortened(row[-1], room)]))
    return Exit.ANSWERED
