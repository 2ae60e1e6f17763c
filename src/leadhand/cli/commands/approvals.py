"""``leadhand approvals list``, ``approve``, ``deny`` and ``settle``: approval requests of runs, and the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Annotated, Any

from leadhand.app.export.formatting import count
from leadhand.app.runtime.listings import definition_of
from leadhand.app.runtime.membership import refusal
from leadhand.app.runtime.runtime import Runtime
from leadhand.app.settings import user
from leadhand.app.steering import approvals
from leadhand.cli.options import DriverFlags, Flag, Json, StoreFlags, json_value, open_reader
from leadhand.cli.run_lookup import resume_line
from leadhand.cli.terminal.approval_card import card, question
from leadhand.cli.terminal.streams import out_is_terminal, say, width, write_json, write_line
from leadhand.core.errors import UsageError
from leadhand.core.run import ENDED, RunStatus
from leadhand.ports.runs import RunListing

SETTLED_WITHIN_S = 2.0
POLL_S = 0.05

ApprovalId = Annotated[str, Flag("The id of the approval, or of its run, or the beginning of one.", "ID")]


async def approvals_list(*, json: Json = False, store: StoreFlags = StoreFlags()) -> None:
    """List the pending approvals of all runs, newest first."""
    async with open_reader(store) as runtime:
        every = await approvals.open_approvals(runtime)
        pending = [each for each in every if not each.expired]
        expired = [each for each in every if each.expired]
        resumes = [await resume_line(runtime.store, run_id, store) for run_id in {each.run_id for each in expired}]
    if json:
        write_json([each.card().as_json() for each in pending])
        return
    for number, each in enumerate(pending):
        columns = width() if out_is_terminal() else None
        lines = card(each, datetime.now(UTC), width=columns)
        for line in (*[""] * bool(number), f"{each.id}  {question(each.approval)}", *lines):
            write_line(line)
    ways = {"call": "approve ID, or: deny ID --reason TEXT", "effect": "settle ID --happened, or --did-not"}
    for kind in sorted({each.approval.kind.replace("plan", "call") for each in pending}):
        say(f"Answer with: {store.command('approvals')} {ways[kind]}")
    if not pending:
        say("No pending approvals.")
    if expired:
        say(f"{count(len(expired), 'request')} expired without an answer and count as denied.")
        for line in resumes:
            say(f"Resume the run with: {line}")


async def approvals_approve(
    approval: ApprovalId,
    /,
    *,
    args: Annotated[str | None, Flag("Call it with these arguments instead, as one JSON object.", "JSON")] = None,
    always: Annotated[bool, Flag("Approve every call of this tool in this run.")] = False,
    reason: Annotated[str, Flag("Record a reason with the answer.", "TEXT")] = "",
    store: DriverFlags = DriverFlags(),
) -> None:
    """Approve a call.

    An approval covers exactly one call with exactly the arguments shown. You can approve from any machine that
    reaches the database: the process that is driving the run continues. If no process is driving it, Leadhand prints
    the command that resumes it.
    """
    changed = json_value("--args", args)
    what = "every call of {} in this run" if always else "{}"
    said = f"Approved {what}{' with your arguments' if changed else ''}."
    answered = {"approve": True, "args": changed, "always": always, "reason": reason}
    await _answer(approval, approvals.answer, said, store, **answered)


async def approvals_deny(
    approval: ApprovalId,
    /,
    *,
    reason: Annotated[str, Flag("Tell the lead why.", "TEXT")] = "",
    store: DriverFlags = DriverFlags(),
) -> None:
    """Deny a call. The lead sees your reason."""
    await _answer(approval, approvals.answer, "Denied {}.", store, approve=False, reason=reason)


async def approvals_settle(
    approval: ApprovalId,
    /,
    *,
    happened: Annotated[bool, Flag("The call went through. It is not repeated.")] = False,
    did_not: Annotated[bool, Flag("The call did not go through. The worker can make it again.")] = False,
    summary: Annotated[str, Flag("The result of the call, in words.", "TEXT")] = "",
    result: Annotated[str | None, Flag("The result of the call, as JSON.", "JSON")] = None,
    store: DriverFlags = DriverFlags(),
) -> None:
    """Say whether an interrupted irreversible call went through.

    Leadhand never repeats such a call on its own. If it went through, it counts as made, with the result you enter;
    if it did not, the worker can make it again.
    """
    if happened is did_not:
        raise UsageError("did the call go through?", "Check the service, then give --happened or --did-not.")
    raw = json_value("--result", result)
    what = "went through and is not repeated" if happened else "did not go through and can be made again"
    found = {"happened": happened, "summary": summary, "raw": raw}
    await _answer(approval, approvals.settle_effect, f"Recorded: {{}} {what}.", store, **found)


async def _answer(
    given: str, answer: Callable[..., Awaitable[object]], said: str, store: StoreFlags, **how: Any
) -> None:
    """Find a pending approval, answer it, and say where its run continues."""
    async with open_reader(store) as runtime:
        pending = await approvals.find_approval(runtime, given)
        await answer(runtime, pending, by=user(), **how)
        say(said.format(pending.approval.called or "the plan"))
        await say_where(runtime, pending.run_id, store)


async def say_where(runtime: Runtime, run_id: str, store: StoreFlags) -> None:
    """Print where a run continues whose request is answered."""
    listing = await _settled(runtime, run_id)
    if listing.status in ENDED:
        say(f"{run_id} continued and has finished: {store.command('runs', 'show', run_id)}")
    elif listing.owner is not None:
        say(f"{run_id} continues in the process that drives it: {store.command('runs', 'watch', run_id)}")
    elif listing.asking:
        say(f"{run_id} still waits for a person: {store.command('runs', 'show', run_id)}")
    else:
        resume = await resume_line(runtime.store, run_id, store)
        refused = await refusal(runtime.store, listing.run_id) if listing.detached else ""
        hooks = ", ".join((await definition_of(runtime.store, run_id)).hooks)
        server = f" yet: a server on this database{' that has ' * bool(hooks)}{hooks} will" if listing.detached else ""
        yet = f" ({refused})" if refused else server
        say(f"No process is driving {run_id}{yet}. Resume it with: {resume}")


async def _settled(runtime: Runtime, run_id: str) -> RunListing:
    """Return the listing of a run whose request is answered.

    If it waits, first give its process a moment to release it or, if it is detached, a server a moment to take it.
    """
    listing = await runtime.store.run(run_id)
    for _ in range(round(SETTLED_WITHIN_S / POLL_S)):
        rests = listing.owner is None and (listing.asking or not listing.detached)
        if listing.status is not RunStatus.WAITING or rests:
            break
        await asyncio.sleep(POLL_S)
        listing = await runtime.store.run(run_id)
    return listing
