"""``leadhand runs supply``: give the result of a subtask by hand."""

from __future__ import annotations

from leadhand.app.operator import supply
from leadhand.cli.answers import given_json
from leadhand.cli.options import ANSWER, HERE, Output, Place
from leadhand.cli.taking_up import steer
from leadhand.runs import user


async def runs_supply(
    run_id: str,
    /,
    *,
    subtask: str,
    summary: str,
    result: str | None = None,
    tools: tuple[str, ...] = (),
    output: Output = ANSWER,
    place: Place = HERE,
) -> int:
    """Give the result of a subtask that failed or has not begun; what needs it goes on.

    Parameters
    ----------
    run_id
        The run, or the beginning of its id.
    subtask
        The subtask, by its key, such as wo-001.0.
    summary
        What it came to, in words.
    result
        What it came to, as JSON: what other subtasks take values from.
    tools
        Add the tools of this Python file or module (may be given again): those the run was started with.
    """
    wish = supply(by=user(), subtask=subtask, summary=summary, raw=given_json("--result", result))
    what = f"{subtask} has your result"
    return await steer(run_id, wish, what, tools=tools, output=output, place=place)
