"""``leadhand answer``: answer the question of a run, and continue the run."""

from __future__ import annotations

from typing import Annotated

from leadhand.api import Leadhand
from leadhand.app.settings import user
from leadhand.app.steering import questions
from leadhand.cli.commands.approvals import say_where
from leadhand.cli.commands.runs_control import Driver
from leadhand.cli.errors import Exit
from leadhand.cli.options import DriverFlags, Flag, Output, RunId, SameTools, open_reader
from leadhand.cli.run_lookup import find_run
from leadhand.cli.terminal.streams import say
from leadhand.core.errors import RunOwned
from leadhand.runs import Run


async def answer(
    run_id: RunId,
    text: Annotated[str, Flag("Your answer, in words, or the number of a choice.", "TEXT")],
    /,
    *,
    tools: SameTools = (),
    output: Output = Output(),
    store: DriverFlags = DriverFlags(),
) -> int:
    """Answer the question that a run waits for, and continue the run."""
    async with open_reader(store) as runtime:
        listing = await find_run(runtime.store, run_id)
        state = await runtime.load(listing.run_id)
        text = questions.chosen(*questions.checked(state, text))
        if listing.owner is not None or listing.detached:
            await questions.reply(runtime, state.run_id, text, by=user())
            say("Answered.")
            await say_where(runtime, state.run_id, store)
            return Exit.ANSWERED

    async def take(lead: Leadhand) -> Run | None:
        runtime = await lead.runtime()
        await questions.reply(runtime, state.run_id, text, by=user())
        try:
            return Run(runtime, await runtime.take_over(state.run_id), drive=True)
        except RunOwned:
            return None

    code = await Driver(tools, output, store).drive(state, take)
    if code is None:
        say(f"Answered. {state.run_id} continues in another process: {store.command('runs', 'watch', state.run_id)}")
    return Exit.ANSWERED if code is None else code
