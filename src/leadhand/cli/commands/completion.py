"""``leadhand completion``: print the completion script of a shell."""

from __future__ import annotations

from typing import Annotated

from leadhand.app.formatting import clean, one_line, short_id
from leadhand.cli.completion import RUNS, script
from leadhand.cli.options import Flag, StoreFlags, open_reader
from leadhand.cli.terminal.streams import write
from leadhand.core.errors import UsageError

SHELLS = ("bash", "zsh", "fish")
MOST_RUNS = 50
"""Runs that are completed: the newest ones."""


async def completion(
    shell: Annotated[str, Flag("The shell: bash, zsh or fish.", choices=SHELLS)],
    /,
    *,
    store: StoreFlags = StoreFlags(),
) -> None:
    """Print the completion script of a shell."""
    if shell == RUNS:
        async with open_reader(store) as runtime:
            listings = await runtime.store.runs(limit=MOST_RUNS)
        write("".join(f"{short_id(each.run_id)}\t{one_line(clean(each.request))[:60]}\n" for each in listings))
    elif shell in SHELLS:
        write(script(shell))
    else:
        raise UsageError(f"invalid shell: {shell!r}", f"Choose from: {', '.join(SHELLS)}.")
