"""What commands that answer a question have in common: finding it, and saying what comes of the answer."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from leadhand.app.approvals import OpenApproval, find_approval
from leadhand.app.runtime import Runtime
from leadhand.cli.console import say
from leadhand.cli.finding import definition_of
from leadhand.cli.options import Place
from leadhand.cli.telling import tools_of
from leadhand.domain.errors import UsageError
from leadhand.domain.listing import RunListing
from leadhand.domain.run import ENDED, RunStatus

LETS_GO_WITHIN_S = 2.0
LOOK_EVERY_S = 0.05


async def find_question(runtime: Runtime, given: str, place: Place, *, kind: str) -> OpenApproval:
    """The open question of that id. Raises UsageError, which names the right command when it is of the other kind."""
    asked = await find_approval(runtime, given)
    tool = asked.approval.tool
    if asked.approval.kind == kind:
        return asked
    if kind == "call":
        raise UsageError(
            f"{tool} had begun, and nobody saw its end: whether it may be called is not the question",
            f"Say what became of it: {place.command('approvals', 'settle', asked.id)} --happened, or --did-not",
        )
    raise UsageError(
        f"{tool} has not been called yet: the question is whether it may be",
        f"Say yes: {place.command('approvals', 'approve', asked.id)}, or no, with deny instead of approve.",
    )


def given_json(flag: str, given: str | None) -> Any:
    """The value of a flag that takes JSON; None when it was not given. Raises UsageError."""
    if given is None:
        return None
    try:
        return json.loads(given)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{flag} is no JSON: {error}", f"""Give it in quotes: {flag} '{{"amount": 20}}'""") from error


async def tell_answered(runtime: Runtime, asked: OpenApproval, place: Place, what: str) -> None:
    """Say what was answered, and where the run goes on."""
    say(what)
    listing = await _settled(runtime, asked.run_id)
    run_id = asked.run_id
    if listing.status in ENDED:
        say(f"{run_id} went on where it was driven: {place.command('runs', 'show', run_id)}")
        return
    if listing.owner is not None:
        say(f"{run_id} goes on in the process that drives it: {place.command('runs', 'watch', run_id)}")
        return
    tools = tools_of(await definition_of(runtime.store, run_id))
    say(f"Nobody drives {run_id} now. Go on with it: {place.command('runs', 'resume', run_id, tools=tools)}")


async def _settled(runtime: Runtime, run_id: str) -> RunListing:
    """The line of a run, not in the moment between its coming to rest and its process letting go of it."""
    listing = await runtime.store.run(run_id)
    for _ in range(round(LETS_GO_WITHIN_S / LOOK_EVERY_S)):
        if listing.status is not RunStatus.WAITING or listing.owner is None:
            break
        await asyncio.sleep(LOOK_EVERY_S)
        listing = await runtime.store.run(run_id)
    return listing
