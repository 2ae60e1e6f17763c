"""``leadhand runs skip``: leave a subtask undone."""

from __future__ import annotations

from leadhand.app.operator import skip
from leadhand.cli.options import ANSWER, HERE, Output, Place
from leadhand.cli.taking_up import steer
from leadhand.runs import user


async def runs_skip(
    run_id: str,
    /,
    *,
    subtask: str,
    reason: str | None = None,
    tools: tuple[str, ...] = (),
    output: Output = ANSWER,
    place: Place = HERE,
) -> int:
    """Leave a subtask undone that is not under way, such as one that waits for a yes.

    Parameters
    ----------
    run_id
        The run, or the beginning of its id.
    subtask
        The subtask, by its key, such as wo-001.0.
    reason
        Why: it is told with the gap in the answer.
    tools
        Add the tools of this Python file or module (may be given again): those the run was started with.
    """
    wish = skip(by=user(), subtask=subtask, reason=reason or "")
    return await steer(run_id, wish, f"{subtask} is left undone", tools=tools, output=output, place=place)
