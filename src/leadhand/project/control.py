"""What people can have done to a run beyond answering it: its subtasks again, left out or supplied; and forks of it."""

from __future__ import annotations

from typing import Any

from leadhand.domain.errors import UsageError
from leadhand.domain.events import ResultSupplied, RetryRequested, SkipRequested
from leadhand.domain.run import ENDED, RunStatus
from leadhand.domain.state import RunState
from leadhand.domain.value import Json
from leadhand.domain.wishes import Wish, objection_to
from leadhand.engine import forking
from leadhand.engine.forking import Done
from leadhand.engine.gate import argument_faults
from leadhand.project.arguments import json_value, text
from leadhand.project.runtime import Runtime

SHOWN = 3


async def retry(
    runtime: Runtime, run_id: str, *, by: str, subtasks: tuple[str, ...] = (), args: dict[str, Json] | None = None
) -> RunState | None:
    """Have subtasks done again (none named: every one that failed), one of them with other ``args`` if given.

    A run that is over is reopened. Returns the state to drive when nobody drives the run, None when somebody does or
    the run is parked. Raises NoSuchRun, and UsageError for what cannot be granted.
    """
    state = await runtime.load(run_id)
    if args is not None and len(subtasks) == 1 and subtasks[0] in state.subtasks:
        _check_args(state, subtasks[0], args)
    return await _wish(runtime, state, RetryRequested(by=by, subtasks=subtasks, args=args))


async def skip(runtime: Runtime, run_id: str, subtask: str, *, by: str, reason: str = "") -> RunState | None:
    """Leave a subtask undone. Returns and raises as :func:`retry` does."""
    said = text(reason, "the reason", "Give the reason in words.")
    return await _wish(runtime, await runtime.load(run_id), SkipRequested(by=by, subtask=subtask, reason=said))


async def supply(
    runtime: Runtime, run_id: str, subtask: str, *, by: str, summary: str, raw: Json = None
) -> RunState | None:
    """Give the result of a subtask in its place: evidence of a person. Returns and raises as :func:`retry` does."""
    said = text(summary, "the summary", "Say in words what the result is.").strip()
    if not said:
        raise UsageError("the summary is empty", "Say in words what the result is.")
    data = json_value(raw, "the result", "Give what JSON can say.")
    wish = ResultSupplied(by=by, subtask=subtask, summary=said, raw=data)
    return await _wish(runtime, await runtime.load(run_id), wish)


async def fork(runtime: Runtime, run_id: str, at: int, *, confirmed: bool = False) -> RunState:
    """Make another run that begins as this one did, up to event ``at``; the state to drive.

    Raises NoSuchRun, and UsageError: for a sequence that is none, and, unless ``confirmed``, when the run did things
    after ``at`` that cannot be taken back and that the fork may do again.
    """
    done = await done_after(runtime, run_id, at)
    if done and not confirmed:
        listed = ", ".join(f"{each.tool} (event {each.seq})" for each in done[:SHOWN])
        more = f" and {len(done) - SHOWN} more" if len(done) > SHOWN else ""
        raise UsageError(
            f"after event {at} the run did what cannot be taken back: {listed}{more}",
            "The fork may do it again. If that is well, confirm it: --yes, or confirmed=True in Python.",
        )
    return await runtime.adopt_fork(run_id, at)


async def done_after(runtime: Runtime, run_id: str, at: int) -> list[Done]:
    """What a run did after ``at`` that cannot be taken back, in order. Raises NoSuchRun."""
    return forking.done_after(await runtime.store.read(run_id), at)


async def _wish(runtime: Runtime, state: RunState, wish: Wish) -> RunState | None:
    objection = objection_to(state, wish)
    if objection:
        raise UsageError(objection, f"See its subtasks: leadhand runs show {state.run_id}")
    listing = await runtime.store.run(state.run_id)
    await runtime.log(state.run_id).append(wish)
    if listing.owner is not None or listing.status is RunStatus.PAUSED:
        return None
    return await runtime.reopen(state.run_id, ended=listing.status in ENDED)


def _check_args(state: RunState, key: str, args: dict[str, Any]) -> None:
    json_value(args, "the arguments", "Give what JSON can say.")
    tool = state.tools.get(state.subtasks[key].subtask.tool or "")
    faults = argument_faults(tool, args) if tool is not None else []
    if faults:
        raise UsageError(
            f"{state.subtasks[key].subtask.tool} does not take these arguments: {'; '.join(faults)}",
            "Give all of them, as one object.",
        )
