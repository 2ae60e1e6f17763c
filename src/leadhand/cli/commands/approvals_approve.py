"""``leadhand approvals approve``: say yes to a call."""

from __future__ import annotations

from leadhand.app.approvals import approve
from leadhand.cli.answers import find_question, given_json, tell_answered
from leadhand.cli.exit_codes import Exit
from leadhand.cli.options import HERE, Place, open_reader
from leadhand.runs import user


async def approvals_approve(
    question: str,
    /,
    *,
    args: str | None = None,
    always: bool = False,
    reason: str = "",
    place: Place = HERE,
) -> int:
    """Say yes to a call.

    Parameters
    ----------
    question
        The id of the question, or its beginning; RUN:CALL is another name for it.
    args
        Have it called with these arguments instead, all of them, as one JSON object.
    always
        Say yes to every call of this tool in this run.
    reason
        Put this on record with the answer.
    """
    changed = given_json("--args", args)
    async with open_reader(place) as lead:
        runtime = await lead.runtime()
        asked = await find_question(runtime, question, place, kind="call")
        await approve(runtime, asked, by=user(), args=changed, always=always, reason=reason)
        tool = asked.approval.tool
        may = f"every call of {tool} in this run may be made" if always else f"{tool} may be called"
        await tell_answered(runtime, asked, place, f"Yes: {may}{', with your arguments' if changed else ''}.")
    return Exit.ANSWERED
