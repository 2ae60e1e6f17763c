"""``leadhand answer`` and ``signal``: give a run what its flow waits for."""

from __future__ import annotations

import json
from typing import Annotated

from leadhand.api import Leadhand
from leadhand.app.settings import user
from leadhand.app.steering import questions
from leadhand.cli.commands.approvals import say_where
from leadhand.cli.commands.runs_control import Driver
from leadhand.cli.dispatch import Exit
from leadhand.cli.options import DriverFlags, Flag, StoreFlags, open_reader
from leadhand.cli.run_lookup import find_run
from leadhand.cli.terminal.streams import say
from leadhand.core.errors import RunOwned, UsageError
from leadhand.runs import Run

ANSWER, SIGNAL = "[RUN] TEXT", "[RUN] NAME [JSON]"


async def answer(
    *words: Annotated[
        str, Flag("Your answer, in words or as the number of a choice; before it, the run (default: last).", ANSWER)
    ],
    driver: Driver = Driver(),
    store: DriverFlags = DriverFlags(),
) -> int:
    """Answer the question that a run waits for, and continue the run.

    The answer of the run goes to stdout, progress to stderr. On a terminal, a run with a question prompts for the
    answer itself. Exit codes are those of run.

    Examples:
      leadhand answer "Lisbon, from 3 to 9 March"
      leadhand answer 7kq2 2
    """
    if not 1 <= len(words) <= 2:
        raise UsageError("give the answer, and before it at most a run", "Put text of several words in quotes.")
    *named, text = words
    async with open_reader(store) as runtime:
        listing = await find_run(runtime.store, named[0] if named else None)
        state = await runtime.load(listing.run_id)
        text = questions.checked(state, text)[1]
        if listing.owner is not None or listing.detached:
            await questions.reply(runtime, state.run_id, text, by=user())
            say("Answered.")
            await say_where(runtime, state.run_id, store)
            return Exit.ANSWERED

    async def take(lead: Leadhand) -> Run | None:
        runtime = await lead.runtime()
        runtime.check_resumable(state)  # before the answer is recorded
        await questions.reply(runtime, state.run_id, text, by=user())
        try:
            return Run(runtime, await runtime.take_over(state.run_id, known=state), drive=True)
        except RunOwned:
            return None

    code = await driver.drive(store, state, take)
    if code is None:
        say(f"Answered. {state.run_id} continues in another process: {store.command('runs', 'watch', state.run_id)}")
    return Exit.ANSWERED if code is None else code


async def signal(
    *words: Annotated[
        str,
        Flag(
            "The name for which the flow waits; before it the run (default: last), and after it the value that the"
            " flow receives (default: null). A value needs a run.",
            SIGNAL,
        ),
    ],
    store: StoreFlags = StoreFlags(),
) -> int:
    """Send a signal to a run, whose flow waits for it.

    A flow waits with run.wait_for(NAME), and receives the value. A signal that comes before is kept for it.

    Examples:
      leadhand signal paid
      leadhand signal last paid '{"amount": 12.5}'
    """
    if not 1 <= len(words) <= 3:
        raise UsageError("give the name of the signal", "Example: leadhand signal last paid")
    named, name, value = (None, *words, "null") if len(words) == 1 else (*words, "null")[:3]
    try:
        given = json.loads(value)
    except ValueError as error:
        raise UsageError(
            f"the value is not JSON: {error}", """Quote text: leadhand signal ID NAME '"yes"'"""
        ) from error
    async with open_reader(store) as runtime:
        found = await find_run(runtime.store, named)
        await questions.signal(runtime, found.run_id, name, given, by=user())
        say("Sent.")
        await say_where(runtime, found.run_id, store)
    return Exit.ANSWERED
