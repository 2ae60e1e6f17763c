"""``leadhand runs retry``, ``skip`` and ``supply``: steer the subtasks of a run."""

from __future__ import annotations

from typing import Annotated

from leadhand.app import operator
from leadhand.cli.options import (
    DEFAULT_DRIVER,
    DEFAULT_OUTPUT,
    DriverFlags,
    Flag,
    Output,
    RunId,
    SameTools,
    json_value,
)
from leadhand.cli.resume_run import steer_run
from leadhand.runs import user

Subtask = Annotated[str, Flag("The subtask, by its key, such as wo-001.0.", "KEY")]


async def runs_retry(
    run_id: RunId,
    /,
    *,
    subtask: Annotated[
        tuple[str, ...],
        Flag("Retry this subtask, by its key, such as wo-001.0. Repeatable. Without it, every failed one.", "KEY"),
    ] = (),
    args: Annotated[str | None, Flag("Retry the one subtask with these arguments, as a JSON object.", "JSON")] = None,
    yes: Annotated[bool, Flag("Retry even if a subtask made, or may have made, an irreversible call.")] = False,
    tools: SameTools = (),
    output: Output = DEFAULT_OUTPUT,
    store: DriverFlags = DEFAULT_DRIVER,
) -> int:
    """Retry subtasks and everything that depends on them."""
    request = operator.retry(by=user(), subtasks=subtask, args=json_value("--args", args), confirmed=yes)
    what = ", ".join(subtask) or "the failed subtasks"
    done = f"retrying {what}{' with your arguments' if args is not None else ''}"
    return await steer_run(run_id, request, done, tools=tools, output=output, store=store)


async def runs_skip(
    run_id: RunId,
    /,
    *,
    subtask: Subtask,
    reason: Annotated[str | None, Flag("Give a reason. The answer shows it with the gap.", "TEXT")] = None,
    tools: SameTools = (),
    output: Output = DEFAULT_OUTPUT,
    store: DriverFlags = DEFAULT_DRIVER,
) -> int:
    """Skip a subtask that is not running."""
    request = operator.skip(by=user(), subtask=subtask, reason=reason or "")
    return await steer_run(run_id, request, f"{subtask} is skipped", tools=tools, output=output, store=store)


async def runs_supply(
    run_id: RunId,
    /,
    *,
    subtask: Subtask,
    summary: Annotated[str, Flag("The result, in words.", "TEXT")],
    result: Annotated[str | None, Flag("The result as JSON, for subtasks that use its values.", "JSON")] = None,
    tools: SameTools = (),
    output: Output = DEFAULT_OUTPUT,
    store: DriverFlags = DEFAULT_DRIVER,
) -> int:
    """Enter the result of a subtask that failed or has not started."""
    request = operator.supply(by=user(), subtask=subtask, summary=summary, raw=json_value("--result", result))
    return await steer_run(run_id, request, f"{subtask} has your result", tools=tools, output=output, store=store)
