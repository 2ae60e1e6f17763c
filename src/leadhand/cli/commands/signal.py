"""``leadhand signal``: send a signal to the flow of a run."""

from __future__ import annotations

import json
from typing import Annotated

from leadhand.app.settings import user
from leadhand.app.steering import questions
from leadhand.cli.commands.approvals import say_where
from leadhand.cli.errors import Exit
from leadhand.cli.options import Flag, RunId, StoreFlags, open_reader
from leadhand.cli.run_lookup import find_run
from leadhand.cli.terminal.streams import say
from leadhand.core.errors import UsageError


async def signal(
    run_id: RunId,
    name: Annotated[str, Flag("The name for which the flow waits.", "NAME")],
    value: Annotated[str, Flag("The value that the flow receives (default: null).", "JSON")] = "null",
    /,
    *,
    store: StoreFlags = StoreFlags(),
) -> int:
    """Send a signal to a run."""
    try:
        given = json.loads(value)
    except ValueError as error:
        raise UsageError(
            f"the value is not JSON: {error}", """Quote text: leadhand signal ID NAME '"yes"'"""
        ) from error
    async with open_reader(store) as runtime:
        found = await find_run(runtime.store, run_id)
        await questions.signal(runtime, found.run_id, name, given, by=user())
        say("Sent.")
        await say_where(runtime, found.run_id, store)
    return Exit.ANSWERED
