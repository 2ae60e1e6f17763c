"""``leadhand runs list``: the runs there are."""

from __future__ import annotations

from datetime import UTC, datetime

from leadhand.app.formatting import age, shortened
from leadhand.cli.console import err_is_terminal, out_is_terminal, say, width, write_json, write_line
from leadhand.cli.exit_codes import Exit
from leadhand.cli.finding import mention_orphans
from leadhand.cli.options import HERE, Place, open_reader
from leadhand.cli.telling import status_words
from leadhand.domain.document import run_line
from leadhand.domain.errors import UsageError
from leadhand.domain.listing import RunListing
from leadhand.domain.run import RunStatus

HEADINGS = ("RUN", "STATUS", "AGE", "DONE", "REQUEST")


async def runs_list(
    *,
    status: str | None = None,
    text: str = "",
    limit: int = 20,
    json: bool = False,
    place: Place = HERE,
) -> int:
    """List runs, newest first.

    Parameters
    ----------
    status
        Only those of this status: queued, running, waiting, paused, succeeded, partial, failed, cancelled.
    text
        Only those with this text in their request.
    limit
        At most so many.
    json
        Print a JSON array.
    """
    wanted = _status(status)
    if limit < 1:
        raise UsageError(f"--limit is {limit}", "Give 1 or more.")
    async with open_reader(place) as lead:
        store = (await lead.runtime()).store
        listings = await store.runs(status=wanted, text=text, limit=limit)
        if json:
            write_json([run_line(listing).as_json() for listing in listings])
            return Exit.ANSWERED
        if not listings:
            _say_empty(filtered=bool(wanted or text))
            return Exit.ANSWERED
        for line in _table(listings, datetime.now(UTC)):
            write_line(line)
        if len(listings) == limit:
            say(f"The newest {limit:,} are shown; --limit shows more.")
        if err_is_terminal():
            await mention_orphans(lead, place)
    return Exit.ANSWERED


def _status(name: str | None) -> RunStatus | None:
    if name is None:
        return None
    try:
        return RunStatus(name)
    except ValueError as error:
        listed = ", ".join(status.value for status in RunStatus)
        raise UsageError(f"--status is {name!r}", f"It is one of: {listed}.") from error


def _table(listings: list[RunListing], now: datetime) -> list[str]:
    """Aligned columns; the request is cut at the edge of a terminal, and whole in a pipe."""
    rows = [HEADINGS, *(_row(listing, now) for listing in listings)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS) - 1)]
    left = sum(widths) + 2 * len(widths)
    room = max(20, width() - left) if out_is_terminal() else 1_000
    return [
        "  ".join([*(f"{cell:<{wide}}" for cell, wide in zip(row, widths, strict=False)), shortened(row[-1], room)])
        for row in rows
    ]


def _row(listing: RunListing, now: datetime) -> tuple[str, ...]:
    done = f"{listing.completed}/{listing.subtasks}" if listing.subtasks else "-"
    return listing.run_id, status_words(listing), age(listing.created_at, now), done, listing.request


def _say_empty(*, filtered: bool) -> None:
    if filtered:
        say("No run is like that. leadhand runs list shows all.")
    else:
        say('No runs yet. Start one: leadhand run "What is the weather in Paris?"')
