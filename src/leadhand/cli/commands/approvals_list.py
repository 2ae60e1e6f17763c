"""``leadhand approvals list``: what runs ask people."""

from __future__ import annotations

from datetime import UTC, datetime

from leadhand.app.approvals import OpenApproval, open_approvals
from leadhand.app.formatting import count
from leadhand.cli.cards import asker, card, question
from leadhand.cli.console import out_is_terminal, say, width, write_json, write_line
from leadhand.cli.exit_codes import Exit
from leadhand.cli.finding import definition_of
from leadhand.cli.options import HERE, Place, open_reader
from leadhand.cli.telling import tools_of


async def approvals_list(*, json: bool = False, place: Place = HERE) -> int:
    """List the open questions of all runs, newest first.

    Parameters
    ----------
    json
        Print a JSON array.
    """
    async with open_reader(place) as lead:
        runtime = await lead.runtime()
        every = await open_approvals(runtime)
        asked = [each for each in every if not each.expired]
        by = {} if json else {each.id: await asker(runtime, each) for each in asked}
        late = [(run_id, await definition_of(runtime.store, run_id)) for run_id in _late(every)]
    if json:
        write_json([each.document() for each in asked])
        return Exit.ANSWERED
    room = width() if out_is_terminal() else None
    now = datetime.now(UTC)
    for number, each in enumerate(asked):
        if number:
            write_line("")
        write_line(f"{each.id}  {question(each.approval)}")
        for line in card(each, now, width=room, by=by[each.id]):
            write_line(line)
    _say_how(asked, place)
    if late:
        say(f"{count(len(every) - len(asked), 'question')} found no answer in time, which is a no.")
        for run_id, definition in late:
            say(f"Go on with the run: {place.command('runs', 'resume', run_id, tools=tools_of(definition))}")
    return Exit.ANSWERED


def _late(every: list[OpenApproval]) -> list[str]:
    """The runs with a question that found no answer in time."""
    return sorted({each.run_id for each in every if each.expired})


def _say_how(asked: list[OpenApproval], place: Place) -> None:
    kinds = {each.approval.kind for each in asked}
    if not asked:
        say("Nothing is asked.")
        return
    say()
    if "call" in kinds:
        say(f"Say yes: {place.command('approvals', 'approve', 'ID')}")
        say(f"Say no:  {place.command('approvals', 'deny', 'ID')} --reason TEXT")
    if "effect" in kinds:
        say(f"Say what happened: {place.command('approvals', 'settle', 'ID')} --happened, or --did-not")
