"""``leadhand approvals settle``: say what became of a call that had begun and whose end nobody saw."""

from __future__ import annotations

from leadhand.app.approvals import settle_effect
from leadhand.cli.answers import find_question, given_json, tell_answered
from leadhand.cli.exit_codes import Exit
from leadhand.cli.options import HERE, Place, open_reader
from leadhand.domain.errors import UsageError
from leadhand.runs import user


async def approvals_settle(
    question: str,
    /,
    *,
    happened: bool = False,
    did_not: bool = False,
    summary: str = "",
    result: str | None = None,
    place: Place = HERE,
) -> int:
    """Say what became of a call that had begun and whose end nobody saw.

    Parameters
    ----------
    question
        The id of the question, or its beginning; RUN:CALL is another name for it.
    happened
        It happened: it counts as made, and is not made again.
    did_not
        It did not happen: it may be made again.
    summary
        What it came to, in words.
    result
        What it returned, as JSON.
    """
    if happened is did_not:
        raise UsageError("did it happen, or did it not?", "Give --happened or --did-not; find out first where you can.")
    raw = given_json("--result", result)
    async with open_reader(place) as lead:
        runtime = await lead.runtime()
        asked = await find_question(runtime, question, place, kind="effect")
        await settle_effect(runtime, asked, by=user(), happened=happened, summary=summary, raw=raw)
        tool = asked.approval.tool
        said = "happened, and is not made again" if happened else "did not happen, and may be made again"
        await tell_answered(runtime, asked, place, f"On record: {tool} {said}.")
    return Exit.ANSWERED
