"""``leadhand runs list``: list runs, newest first."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from leadhand.app.formatting import age
from leadhand.cli.errors import Exit
from leadhand.cli.options import DEFAULT_STORE, Flag, Json, StoreFlags, open_reader
from leadhand.cli.run_lookup import mention_orphans
from leadhand.cli.terminal.messages import status_words, table_lines
from leadhand.cli.terminal.streams import err_is_terminal, say, write_json, write_line
from leadhand.domain.document import run_line
from leadhand.domain.errors import UsageError
from leadhand.domain.listing import RunListing
from leadhand.domain.run import RunStatus

HEADINGS = ("RUN", "STATUS", "AGE", "DONE", "REQUEST")


async def runs_list(
    *,
    status: Annotated[
        str | None,
        Flag("List runs with this status: queued, running, waiting, paused, succeeded, partial, failed, cancelled."),
    ] = None,
    text: Annotated[str, Flag("List runs with this text in their request.")] = "",
    limit: Annotated[int, Flag("Maximum number of runs.", "N")] = 20,
    json: Json = False,
    store: StoreFlags = DEFAULT_STORE,
) -> int:
    """List runs, newest first."""
    wanted = _status(status)
    if limit < 1:
        raise UsageError(f"invalid value for --limit: {limit}", "Give 1 or more.")
    async with open_reader(store) as lead:
        listings = await (await lead.runtime()).store.runs(status=wanted, text=text, limit=limit)
        if json:
            write_json([run_line(listing).as_json() for listing in listings])
            return Exit.ANSWERED
        if not listings:
            _say_empty(filtered=bool(wanted or text))
            return Exit.ANSWERED
        now = datetime.now(UTC)
        for line in table_lines(HEADINGS, [_row(listing, now) for listing in listings]):
            write_line(line)
        if len(listings) == limit:
            say(f"Showing the newest {limit:,}. Use --limit to list more.")
        if err_is_terminal():
            await mention_orphans(lead, store)
    return Exit.ANSWERED


def _status(name: str | None) -> RunStatus | None:
    if name is None:
        return None
    try:
        return RunStatus(name)
    except ValueError as error:
        listed = ", ".join(status.value for status in RunStatus)
        raise UsageError(f"invalid value for --status: {name!r}", f"Choose from: {listed}.") from error


def _row(listing: RunListing, now: datetime) -> tuple[str, ...]:
    done = f"{listing.completed}/{listing.subtasks}" if listing.subtasks else "-"
    return listing.run_id, status_words(listing), age(listing.created_at, now), done, listing.request


def _say_empty(*, filtered: bool) -> None:
    if filtered:
        say("No runs match. List all runs: leadhand runs list")
    else:
        say('No runs yet. Start one: leadhand run "What is the weather in Paris?"')
