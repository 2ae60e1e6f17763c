"""``leadhand runs retry``: have subtasks done again."""

from __future__ import annotations

from leadhand.app.operator import retry
from leadhand.cli.answers import given_json
from leadhand.cli.options import ANSWER, HERE, Output, Place
from leadhand.cli.taking_up import steer
from leadhand.runs import user


async def runs_retry(
    run_id: str,
    /,
    *,
    subtask: tuple[str, ...] = (),
    args: str | None = None,
    yes: bool = False,
    tools: tuple[str, ...] = (),
    output: Output = ANSWER,
    place: Place = HERE,
) -> int:
    """Have subtasks done again, and what waited for them; the rest stays as it is.

    Parameters
    ----------
    run_id
        The run, or the beginning of its id.
    subtask
        Do this one again, by its key, such as wo-001.0 (may be given again). Else every one that failed.
    args
        Do the one subtask with these arguments instead, all of them, as a JSON object.
    yes
        Do it, although it did, or may have done, what cannot be taken back.
    tools
        Add the tools of this Python file or module (may be given again): those the run was started with.
    """
    wish = retry(by=user(), subtasks=subtask, args=given_json("--args", args), confirmed=yes)
    what = f"{', '.join(subtask) or 'what failed'} is done again{' with your arguments' if args is not None else ''}"
    return await steer(run_id, wish, what, tools=tools, output=output, place=place)
