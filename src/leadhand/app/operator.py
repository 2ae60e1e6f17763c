"""What people can have done to a run beyond answering it: its subtasks again, left out or supplied; and forks of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from leadhand.app.arguments import json_value, text
from leadhand.app.runtime import Runtime, check_tools, needed_tools
from leadhand.domain.decide.operator_requests import ACTED, OperatorRequest, retriable, why_refused
from leadhand.domain.errors import LeadhandError, RunOwned, UsageError
from leadhand.domain.events import (
    RequestDeclined,
    ResultSupplied,
    RetryGranted,
    RetryRequested,
    SkipRequested,
    SubtaskResolved,
)
from leadhand.domain.evolve import replay
from leadhand.domain.evolve.orders import blocked_by
from leadhand.domain.run import RunStatus
from leadhand.domain.state import RunState
from leadhand.domain.tool import ToolSpec
from leadhand.domain.value import Json
from leadhand.engine import forking
from leadhand.engine.forking import MadeEffect
from leadhand.engine.gate import argument_problems

SHOWN = 3
TAKEN_UP_WITHIN_S = 30.0
LOOK_EVERY_S = 0.05
WISHES = (RetryRequested, SkipRequested, ResultSupplied)


def retry(
    *, by: str, subtasks: Iterable[str] = (), args: dict[str, Json] | None = None, confirmed: bool = False
) -> RetryRequested:
    """The request to have subtasks done again (none named: every one that failed), one of them with other ``args``.

    ``confirmed``: also what did, or may have done, what cannot be taken back.

    Raises UsageError, as :func:`skip` and :func:`supply` do, for what no log can keep.
    """
    if isinstance(subtasks, str):
        subtasks = (subtasks,)
    keys = tuple(text(key, "the subtask", "Give its key, such as wo-001.0.") for key in subtasks)
    if args is not None:
        if not isinstance(args, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError("the arguments are no JSON object", "Give all of them, as one object.")
        json_value(args, "the arguments", "Give what JSON can say.")
    return RetryRequested(by=by, subtasks=tuple(dict.fromkeys(keys)), args=args, confirmed=confirmed)


def skip(*, by: str, subtask: str, reason: str = "") -> SkipRequested:
    """The request to leave a subtask undone."""
    key = text(subtask, "the subtask", "Give its key, such as wo-001.0.")
    return SkipRequested(by=by, subtask=key, reason=text(reason, "the reason", "Give the reason in words."))


def supply(*, by: str, subtask: str, summary: str, raw: Json = None) -> ResultSupplied:
    """The request to give the result of a subtask in its place: evidence of a person."""
    key = text(subtask, "the subtask", "Give its key, such as wo-001.0.")
    said = text(summary, "the summary", "Say in words what the result is.").strip()
    if not said:
        raise UsageError("the summary is empty", "Say in words what the result is.")
    data = json_value(raw, "the result", "Give what JSON can say.")
    return ResultSupplied(by=by, subtask=key, summary=said, raw=data)


class Asked(NamedTuple):
    """A request on record: its place in the log of the run, and the state of the run before it."""

    before: RunState
    seq: int


async def want(runtime: Runtime, run_id: str, request: OperatorRequest) -> RunState | None:
    """Have a request granted. A run that is over is reopened.

    Returns the state to drive when nobody drives the run. None: the process that drives it has granted the request, or
    the run is parked, and whoever resumes it will. Raises NoSuchRun, UsageError for what cannot be granted,
    ConfigurationError when nobody drives the run and a tool that it needs then is not in this process.
    """
    listing = await runtime.store.run(run_id)
    if listing.owner is None and listing.status is not RunStatus.PAUSED:
        state = await runtime.load(run_id)
        check(state, request, resting=True)
        check_tools(tools_for(state, request), runtime.toolbox)
    asked = await ask(runtime, run_id, request)
    while not await taken_up(runtime, asked):
        with contextlib.suppress(RunOwned):  # when somebody was quicker: they decide
            return await runtime.reopen(run_id, ended=True)
    return None


async def ask(runtime: Runtime, run_id: str, request: OperatorRequest) -> Asked:
    """Put a request on record. Raises NoSuchRun, UsageError for what cannot be granted."""
    before = await runtime.load(run_id)
    resting = before.status is RunStatus.PAUSED or (await runtime.store.run(run_id)).owner is None
    check(before, request, resting=resting)
    (entry,) = await runtime.log(run_id).append(request)
    return Asked(before, entry.seq)


def check(state: RunState, request: OperatorRequest, *, resting: bool = False) -> None:
    """Raise UsageError for a request that cannot be granted as the run is now; ``resting``: nobody carries it out."""
    objection = why_refused(state, request, resting=resting)
    if objection.endswith(ACTED):
        raise UsageError(objection, "If that is well, confirm it: --yes, or confirmed=True in Python.")
    if objection:
        raise UsageError(objection, f"See its subtasks: leadhand runs show {state.run_id}")
    if isinstance(request, RetryRequested) and request.args is not None:
        subtask = state.assignments[request.subtasks[0]].subtask
        tool = state.tools.get(subtask.tool or "")
        faults = argument_problems(tool, request.args) if tool is not None else []
        if faults:
            raise UsageError(
                f"{subtask.tool} does not take these arguments: {'; '.join(faults)}", "Give all of them, as one object."
            )


def tools_for(state: RunState, request: OperatorRequest) -> list[ToolSpec]:
    """The tools that a run needs once a request is granted: those of what is done again, and of what waited for it."""
    if isinstance(request, RetryRequested):
        keys = set(request.subtasks or retriable(state, confirmed=request.confirmed))
        again = keys | set(blocked_by(state, keys))
    else:
        again = set(blocked_by(state, {request.subtask})) if isinstance(request, ResultSupplied) else set[str]()
    named = {state.assignments[key].subtask.tool for key in again} | {tool.name for tool in needed_tools(state)}
    return [tool for tool in state.definition.tools if tool.name in named]


async def taken_up(runtime: Runtime, asked: Asked) -> bool:
    """Whether a request is in good hands: whoever drives the run has granted it, or the run is parked, and whoever resumes
    it will. False: nobody drives it.

    Raises UsageError when it was declined, LeadhandError when the process that drives the run does not react.
    """
    run_id = asked.before.run_id
    pending, seen = deque(asked.before.pending_requests), asked.before.seq  # up to this one, which is the last
    for _ in range(round(TAKEN_UP_WITHIN_S / LOOK_EVERY_S)):
        listing = await runtime.store.run(run_id)
        for entry in await runtime.store.read(run_id, after=seen):
            seen = entry.seq
            if isinstance(entry.event, WISHES) and seen <= asked.seq:
                pending.append(entry.event)
            elif pending and _decides(entry.event, pending[0]):
                pending.popleft()
                if pending or seen < asked.seq:
                    continue
                if isinstance(entry.event, RequestDeclined):
                    raise UsageError(entry.event.reason, f"See its subtasks: leadhand runs show {run_id}")
                return True
        if listing.owner is None:
            return listing.status is RunStatus.PAUSED
        await asyncio.sleep(LOOK_EVERY_S)
    raise LeadhandError(
        f"the process that drives {run_id} does not react",
        "The request is on record and will be seen when it does; or end that process, and ask again.",
    )


def _decides(event: object, request: OperatorRequest) -> bool:
    """Whether an event is what becomes of a request, the oldest there is."""
    match event:
        case RetryGranted():
            return True
        case RequestDeclined():
            return event.request == request.type
        case SubtaskResolved():
            return not isinstance(request, RetryRequested) and request.subtask == event.subtask
        case _:
            return False


class Cut(NamedTuple):
    """Where a run is to be forked: its state there, and what it did later that cannot be taken back, in order."""

    state: RunState
    done: list[MadeEffect]


async def cut(runtime: Runtime, run_id: str, at: int) -> Cut:
    """What a run was at event ``at``, and did after it. Raises NoSuchRun, UsageError for what is no event's number."""
    entries = await runtime.store.read(run_id)
    if type(at) is not int or not 1 <= at <= len(entries):
        raise UsageError(
            f"run {run_id} cannot be forked at {at}", f"Name one of its events by its number, 1 to {len(entries)}."
        )
    return Cut(replay(run_id, entries[:at]), forking.done_after(entries, at))


async def fork(
    runtime: Runtime, run_id: str, at: int, *, confirmed: bool = False, by: str = "", detached: bool | None = None
) -> RunState:
    """Make another run that begins as this one did, up to event ``at``; the state to drive.

    ``by`` is who wants it; ``detached`` whether it is to outlive its process, as the first run unless given.
    Raises NoSuchRun, UsageError for a sequence that is none, and, unless ``confirmed``, when the run did things after
    ``at`` that cannot be taken back and that the fork may do again; ConfigurationError when a tool that the fork needs
    is not in this process.
    """
    there = await cut(runtime, run_id, at)
    if there.done and not confirmed:
        raise UsageError(
            f"after event {at} the run did what cannot be taken back: {', '.join(_told(there.done))}",
            "The fork may do it again. If that is well, confirm it with confirmed=True.",
        )
    check_tools(needed_tools(there.state), runtime.toolbox)
    return await runtime.adopt_fork(run_id, at, by=by, detached=detached)


def _told(done: list[MadeEffect]) -> Iterator[str]:
    """What was done, in a few words."""
    yield from (f"{each.tool} (event {each.seq})" for each in done[:SHOWN])
    if len(done) > SHOWN:
        yield f"and {len(done) - SHOWN} more"
