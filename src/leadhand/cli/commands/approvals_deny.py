"""``leadhand approvals deny``: say no to a call."""

from __future__ import annotations

from leadhand.app.approvals import deny
from leadhand.cli.answers import find_question, tell_answered
from leadhand.cli.exit_codes import Exit
from leadhand.cli.options import HERE, Place, open_reader
from leadhand.runs import user


async def approvals_deny(question: str, /, *, reason: str = "", place: Place = HERE) -> int:
    """Say no to a call; the lead is told the reason.

    Parameters
    ----------
    question
        The id of the question, or its beginning; RUN:CALL is another name for it.
    reason
        Tell the lead why.
    """
    async with open_reader(place) as lead:
        runtime = await lead.runtime()
        asked = await find_question(runtime, question, place, kind="call")
        await deny(runtime, asked, by=user(), reason=reason)
        await tell_answered(runtime, asked, place, f"No: {asked.approval.tool} is not called.")
    return Exit.ANSWERED
