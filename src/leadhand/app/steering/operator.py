"""Requests of people: stop a run, retry, skip or supply its subtasks, and fork it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from leadhand.app.arguments import flag, json_arguments, json_value, text
from leadhand.app.new_limits import advice_to_raise, limits_changed, what_to_raise
from leadhand.app.project.toolsets import check_tools, needed_tools
from leadhand.app.runtime.clock import new_run_id
from leadhand.app.runtime.model_selection import prices_needed
from leadhand.app.runtime.runtime import Runtime
from leadhand.app.settings import reserves
from leadhand.core import events as ev
from leadhand.core.approval import args_hash
from leadhand.core.artifact import BLOB_KEY
from leadhand.core.decide import decide, stopping
from leadhand.core.decide.requests import ACTED, repeated, why_refused
from leadhand.core.errors import Failure, FailureClass, LeadhandError, RunOwned, UnreadableRun, UsageError
from leadhand.core.errors.advice import Advice
from leadhand.core.evolve import fold, foreseen, replay
from leadhand.core.limits import OF_MONEY, Concurrency, Limits, SharedBudget
from leadhand.core.relations import blocked_by, open_plan, tools_of
from leadhand.core.run import RunStatus
from leadhand.core.state import RunState
from leadhand.core.text import listed
from leadhand.core.tool import ToolSpec
from leadhand.core.value import Json
from leadhand.engine import forking
from leadhand.engine.forking import MadeEffect
from leadhand.engine.gate import argument_problems, supplied_problems
from leadhand.ports.heads import RunHead
from leadhand.ports.runs import RunListing

LOOKS, LOOK_EVERY_S = 600, 0.05
SUBTASK = ("the subtask", "Give its key, such as wo-001.0.")


async def stop(
    runtime: Runtime,
    listing: RunListing,
    request: ev.RunRequested,
    *,
    until: Collection[RunStatus],
) -> RunStatus:
    """Append a request, wait until the run has one of these statuses, and return the status.

    Drives the run if no other process does; stops it without its flow if this process does not have the flow, and
    cancels it even if its log cannot be read. Raises LeadhandError if the process that drives it does not react.
    """
    run_id = listing.run_id
    await runtime.log(run_id).append(request)
    for _ in range(LOOKS):
        listing = await runtime.store.run(run_id)
        if listing.status in until:
            return listing.status
        if listing.owner is None:
            try:
                epoch = await runtime.store.claim(run_id)
            except (RunOwned, UsageError):
                continue  # another process was faster: it reads the request or has ended the run
            try:
                state = await runtime.load(run_id)
            except BaseException as error:
                try:
                    if not isinstance(error, UnreadableRun) or request.what != "cancel":
                        raise
                    message = f"cancelled by {request.by}; its results are unknown: {error.what}"
                    failure = Failure.of(message, "cancelled", FailureClass.REJECTED, error.how)
                    finished = ev.RunFinished(status=RunStatus.CANCELLED, answer="", failure=failure)
                    head = RunHead(0, listing.subtasks, listing.completed, listing.failed)
                    await runtime.log(run_id).append(finished, epoch=epoch, head=head)
                    return RunStatus.CANCELLED
                finally:
                    await runtime.store.release(run_id, epoch)
            return await _stopped(runtime, state)
        await asyncio.sleep(LOOK_EVERY_S)
    raise _no_reaction(run_id, listing.owner)


async def _stopped(runtime: Runtime, state: RunState) -> RunStatus:
    """Carry out the request to cancel or pause a run that this process owns, release it, and return its status.

    A run whose flow is not here is stopped without it: the results so far are kept, and listed as the answer if the
    hooks of the run let it pass.
    """
    try:
        runtime.flows.of(state.definition)
    except LeadhandError:
        try:
            if (asked := stopping(state)) is not None:
                ended = decide(state, asked, datetime.now(UTC))
                events = await runtime.hooks.guarded(state, ended)
                await runtime.log(state.run_id).append(*events, epoch=state.epoch)
        finally:
            await runtime.store.release(state.run_id, state.epoch)
        return (await runtime.load(state.run_id)).status
    return (await runtime.drive(state)).status


def _no_reaction(run_id: str, owner: str | None) -> LeadhandError:
    return LeadhandError(
        f"the process that drives {run_id} ({owner}) does not react",
        "The request is recorded. To apply it now, end that process and try again.",
    )


ALLOWED = ("allow_unknown_price",)
"""What a process allows the runs that it continues."""
NONE = Limits()
"""Limits of which none is set: a run keeps those that it has."""


def _change(runtime: Runtime, state: RunState, given: Limits, by: str) -> tuple[ev.RunChanged, ...]:
    """Return the event that gives a run other limits, none if none are given.

    Raises UsageError for a value out of range and for a limit that is used up already, ConfigurationError for a budget
    that the unknown price of a model makes useless.
    """
    if not given.model_fields_set:
        return ()
    event = limits_changed(state, runtime.settings.limits.only(ALLOWED).patched(given), by)
    if given.model_fields_set.intersection(OF_MONEY):
        budgeted = replace(runtime.settings, limits=event.limits, budgets=state.definition.budgets)
        event = event.evolve(needs_prices=prices_needed(budgeted, runtime.models, state.definition))
    return (event,)


async def resume(runtime: Runtime, run_id: str, given: Limits = NONE, *, by: str) -> RunState:
    """Take over a run that is paused, waiting or orphaned, with other limits where they are ``given``.

    With other limits, a run that is over is reopened, and what failed is retried. A run with ``plan_only`` carries out
    its plan. Raises as :meth:`Runtime.take_over` and for invalid limits; then nothing is recorded.
    """
    state = await runtime.load(run_id)
    if state.finished is None:
        requests = (*_change(runtime, state, given, by), *_plan_approved(state, by))
        if state.status in (RunStatus.PAUSED, RunStatus.WAITING):
            requests = (*requests, ev.RunRequested(what="resume", by=by))
        return await runtime.take_over(run_id, *requests, known=state)
    if given.model_fields_set:
        return await want(runtime, run_id, retry(by=by), given) or await runtime.load(run_id)
    if how := advice_to_raise(state):
        ended = f"run {run_id} has ended ({state.finished.status.value}), since a limit was used up"
        raise UsageError(ended, how, continued=state.definition)
    return await runtime.take_over(run_id, known=state)


def _plan_approved(state: RunState, by: str) -> tuple[ev.ApprovalAnswered, ...]:
    """Return the approval of the open plan of a run that only had to plan: who resumes it wants it carried out."""
    asked, definition = open_plan(state), state.definition
    if asked is None or definition.approve_plan or not definition.plan_only:
        return ()
    answer = ev.ApprovalAnswered(
        by=by, approval_id=asked.approval_id, approve=True, args_hash=args_hash(asked.args), reason="resumed"
    )
    return (answer,)


def retry(
    *, by: str, subtasks: Iterable[str] = (), args: dict[str, Json] | None = None, confirmed: bool = False
) -> ev.StepRequested:
    """A request to retry subtasks (all that failed if none is named), or one subtask with other ``args``.

    ``confirmed``: also retry subtasks whose irreversible call happened or may have happened.

    Raises UsageError, like :func:`skip` and :func:`supply`, for values that the log cannot store.
    """
    if isinstance(subtasks, str):
        subtasks = (subtasks,)
    keys = tuple(text(key, *SUBTASK) for key in subtasks)
    if args is not None:
        args = json_arguments(args, "Pass all arguments as one object.")
    again = flag(confirmed, "confirmed")
    return ev.StepRequested(what="retry", by=by, steps=tuple(dict.fromkeys(keys)), args=args, confirmed=again)


def skip(*, by: str, subtask: str, reason: str = "") -> ev.StepRequested:
    """A request to skip a subtask."""
    key = text(subtask, *SUBTASK)
    return ev.StepRequested(
        what="skip", by=by, steps=(key,), reason=text(reason, "the reason", "Pass the reason as text.")
    )


def supply(*, by: str, subtask: str, summary: str, raw: Json = None, may_approve: bool = True) -> ev.StepRequested:
    """A request to complete a subtask with a result that a person supplies, who may answer approval requests or not."""
    key = text(subtask, *SUBTASK)
    said = text(summary, "the summary", "Describe the result in words.").strip()
    if not said:
        raise UsageError("the summary is empty", "Describe the result in words.")
    data = json_value(raw, "the result", "Pass a JSON value.")
    if BLOB_KEY in json.dumps(data):  # it would be loaded as a payload, also one of another run
        raise UsageError("the result contains $blob, which is reserved", "Rename that key.")
    return ev.StepRequested(what="supply", by=by, steps=(key,), summary=said, raw=data, may_approve=may_approve)


class Asked(NamedTuple):
    """A recorded request: its sequence number, and the state of the run before it."""

    before: RunState
    seq: int


async def want(runtime: Runtime, run_id: str, request: ev.StepRequested, limits: Limits = NONE) -> RunState | None:
    """Submit a request, with other limits of the run if some are given, and reopen the run if it is over.

    Returns the state to drive if no process drives the run, or None if the owner has granted the request or the run is
    paused. Raises NoSuchRun; UsageError if the request or a limit is not possible; ConfigurationError if no process
    drives the run and this process lacks the flow or a tool that the run needs; then nothing is recorded.
    """
    asked = await ask(runtime, run_id, request, limits, here=True)
    while not await taken_up(runtime, asked):
        with contextlib.suppress(RunOwned):  # another process took the run first and decides
            return await runtime.take_over(run_id, ended=True, known=asked.before)
    return None


async def ask(
    runtime: Runtime, run_id: str, request: ev.StepRequested, limits: Limits = NONE, *, here: bool = False
) -> Asked:
    """Record a request; ``here``: this process grants it if no other drives the run. Raises as :func:`want` does."""
    before = await runtime.load(run_id)
    changed = _change(runtime, before, limits, request.by)
    if request.what == "retry" and not request.steps and (how := what_to_raise(before, limits)):
        raise UsageError("a limit is used up", how, continued=before.definition)
    paused, driven = before.status is RunStatus.PAUSED, (await runtime.store.run(run_id)).owner is not None
    after = _after(before, changed)
    check(after, request, resting=paused or not driven)
    if here and not paused and not driven:
        runtime.check_resumable(after)
        check_tools(tools_for(after, request), runtime.toolbox)
    *_, entry = await runtime.log(run_id).append(*changed, request)
    return Asked(before, entry.seq)


def _after(state: RunState, events: Iterable[ev.AnyEvent]) -> RunState:
    return foreseen(state, events, state.last_at or state.created_at)


def check(state: RunState, request: ev.StepRequested, *, resting: bool = False) -> None:
    """Raise UsageError if the run cannot grant the request now; ``resting``: no process drives the run."""
    objection = why_refused(state, request, resting=resting)
    if objection.endswith(ACTED):
        raise UsageError(objection, Advice("To do it anyway, {confirm}."))
    if objection:
        raise UsageError(objection, Advice("See what it did: {show_run}", run=state.run_id))
    if request.what == "supply" and (faults := supplied_problems(state, request.steps[0], request.raw)):
        raise UsageError(f"the result does not fit: {'; '.join(faults)}", "Pass it as data that fits.")
    if request.what == "retry" and request.args is not None:
        subtask = state.steps[request.steps[0]].step.subtask
        tool = state.tools.get(subtask.tool or "") if subtask is not None else None
        if tool is not None and (faults := argument_problems(tool, request.args)):
            raise UsageError(
                f"invalid arguments for {tool.name}: {'; '.join(faults)}", "Pass all arguments as one object."
            )


def tools_for(state: RunState, request: ev.StepRequested) -> list[ToolSpec]:
    """The tools that a run needs to carry out a request: those of the retried and the unblocked subtasks.

    All of them if nothing but the flow itself is retried.
    """
    keys, again = set(request.steps), set[str]()
    if request.what == "retry":
        keys = keys or set(repeated(state, confirmed=request.confirmed))
        again = set(keys)
        if not keys:
            return list(state.definition.tools)
    if request.what != "skip":
        again |= set(blocked_by(state, keys))
    named = {tool.name for tool in needed_tools(state)}
    for step in (state.steps[key].step for key in again):
        named |= {step.subtask.tool or ""} if step.subtask is not None else tools_of(state, step)
    return [tool for tool in state.definition.tools if tool.name in named]


async def taken_up(runtime: Runtime, asked: Asked) -> bool:
    """Whether the owner has granted a request, or the run is paused; False if no process drives the run.

    Raises UsageError if the request was declined, and LeadhandError if the owner does not react.
    """
    run_id, state, ahead = asked.before.run_id, asked.before, 0
    for _ in range(LOOKS):
        listing = await runtime.store.run(run_id)
        for entry in await runtime.store.read(run_id, after=state.seq):
            pending, state = len(state.pending_requests), fold(state, [entry])
            if entry.seq == asked.seq:
                ahead = pending
            elif entry.seq > asked.seq and len(state.pending_requests) < pending:
                if ahead:  # an earlier request was decided
                    ahead -= 1
                    continue
                if isinstance(entry.event, ev.RequestDecided) and entry.event.declined:
                    raise UsageError(entry.event.declined, Advice("See its subtasks: {show_run}", run=run_id))
                return True
        if listing.owner is None:
            return listing.status is RunStatus.PAUSED
        await asyncio.sleep(LOOK_EVERY_S)
    raise _no_reaction(run_id, (await runtime.store.run(run_id)).owner)


class Cut(NamedTuple):
    """A fork point: the state at that event, and the irreversible calls made after it, in order."""

    state: RunState
    done: list[MadeEffect]


async def cut(runtime: Runtime, run_id: str, at: int) -> Cut:
    """Return the fork point at event ``at``. Raises NoSuchRun, and UsageError for an invalid event number."""
    entries = await runtime.store.read(run_id)
    if type(at) is not int or not 1 <= at <= len(entries):
        raise UsageError(
            f"run {run_id} cannot be forked at {at}", f"Choose the number of an event, 1 to {len(entries)}."
        )
    return Cut(replay(run_id, entries[:at]), forking.done_after(entries, at))


async def fork(
    runtime: Runtime,
    run_id: str,
    at: int,
    given: Limits = NONE,
    *,
    confirmed: bool = False,
    by: str = "",
    detached: bool | None = None,
    key_id: str = "",
    shared: tuple[Iterable[SharedBudget], Concurrency] = ((), Concurrency()),
    most: Limits | None = None,
) -> RunState:
    """Create a run that starts with the log of this one up to event ``at``, and return the state to drive.

    ``by`` is who asks for it; ``detached`` whether the fork outlives its process (default: like the first run);
    ``key_id`` is the API key that the fork belongs to, ``shared`` are the budgets and the limits at once that it
    shares with other runs; ``given`` are other limits, and ``most`` the highest that the fork gets.
    Raises NoSuchRun; UsageError for an invalid event number and, unless ``confirmed``, if the fork may repeat an
    irreversible call; ConfigurationError if this process lacks a tool that the fork needs, and if the price of a model
    that a budget should limit is not known.
    """
    there = await cut(runtime, run_id, at)
    if there.done and not flag(confirmed, "confirmed"):
        calls = listed([f"{each.tool} (event {each.seq})" for each in there.done])
        raise UsageError(
            f"after event {at} the run made irreversible calls: {calls}",
            "The fork may repeat them. To fork anyway, pass confirmed=True.",
        )
    runtime.check_resumable(there.state)
    fork_id = new_run_id()
    runtime.give(fork_id, runtime.toolbox.deps_of_runs.get(run_id))
    definition = there.state.definition
    asked = limits_changed(there.state, runtime.settings.limits.only(ALLOWED).patched(given), by)
    limits = asked.limits
    changed = limits if most is None else limits.within(most)
    budgets = tuple(shared[0])
    priced = replace(runtime.settings, limits=changed, budgets=budgets)
    changes: dict[str, Any] = {
        "by": by,
        "key_id": key_id,
        "budgets": budgets,
        "needs_prices": prices_needed(priced, runtime.models, definition) or definition.needs_prices,
        "concurrency": replace(runtime.settings, shared=shared[1]).concurrency_of_runs,
        "traceparent": "",  # another request asked for the fork
        "limits": changed,
        "detached": definition.detached if detached is None else detached,
        **reserves(changed, definition.closing_stages),
    }
    await forking.fork(runtime.store, run_id, at, fork_id, asked.turns, **changes)
    forked = await runtime.load(fork_id)
    if forked.status in (RunStatus.PAUSED, RunStatus.WAITING):
        await runtime.log(fork_id).append(ev.RunRequested(what="resume", by="the fork"))
        forked = await runtime.load(fork_id)
    return forked
