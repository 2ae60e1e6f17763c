"""``leadhand runs list``, ``show``, ``watch`` and ``export``: look at runs."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from leadhand.app.arguments import check_filters, parse_tags
from leadhand.app.document.run_document import run_line
from leadhand.app.export.export import Format, export
from leadhand.app.formatting import (
    age,
    clean,
    short_id,
)
from leadhand.app.hosts.listings import definition_of
from leadhand.app.project.config_files import unwritten
from leadhand.cli.errors import Exit, code_of
from leadhand.cli.flag_values import one_of
from leadhand.cli.foreground import Transcript, new_view, print_result, say_end
from leadhand.cli.options import Flag, Json, Output, RunId, StoreFlags, open_reader
from leadhand.cli.run_lookup import find_run, mention_orphans
from leadhand.cli.terminal.messages import (
    resume_command,
    say_opening,
    status_words,
    write_table,
)
from leadhand.cli.terminal.streams import (
    as_json,
    err_is_terminal,
    out_is_terminal,
    out_is_utf8,
    print_error,
    say,
    write,
    write_json,
)
from leadhand.core.errors import UsageError
from leadhand.core.run import RunStatus
from leadhand.ports import ContextStore
from leadhand.ports.runs import RunFilter, RunListing, RunSort
from leadhand.runs import Run

POLL_S = 0.2
ACTIVE = frozenset({RunStatus.QUEUED, RunStatus.RUNNING})
HEADINGS = ("RUN", "STATUS", "AGE", "DONE", "REQUEST")


async def runs_list(
    *,
    status: Annotated[
        str | None,
        Flag(
            "List runs with this status: queued, running, waiting, paused, succeeded, partial, failed, cancelled.",
            choices=tuple(RunStatus),
        ),
    ] = None,
    flow: Annotated[str | None, Flag("List runs of this flow.", "NAME")] = None,
    text: Annotated[str, Flag("List runs with this text in their name or request.")] = "",
    search: Annotated[
        str, Flag("List runs with these words in their request, answer, errors or tool arguments.", "WORDS")
    ] = "",
    tag: Annotated[tuple[str, ...], Flag("List runs with this tag. Repeatable.", "KEY=VALUE")] = (),
    min_cost: Annotated[float | None, Flag("List runs that cost at least this much.", "USD")] = None,
    max_cost: Annotated[float | None, Flag("List runs that cost at most this much.", "USD")] = None,
    min_duration: Annotated[float | None, Flag("List runs that took at least this long.", "SECONDS")] = None,
    max_duration: Annotated[float | None, Flag("List runs that took at most this long.", "SECONDS")] = None,
    sort: Annotated[
        str,
        Flag("Sort by created, cost, duration, status or flow, the largest first.", "ORDER", choices=tuple(RunSort)),
    ] = "created",
    reverse: Annotated[bool, Flag("Reverse the order.")] = False,
    limit: Annotated[int, Flag("Maximum number of runs.", "N")] = 20,
    json: Json = False,
    store: StoreFlags = StoreFlags(),
) -> None:
    """List runs, newest first."""
    only = None if status is None else one_of("--status", RunStatus, status)
    if limit < 1:
        raise UsageError(f"invalid value for --limit: {limit}", "Give 1 or more.")
    filters: RunFilter = {
        "status": only,
        "flow": flow,
        "text": text,
        "search": search,
        "tags": parse_tags(tag, "--tag"),
        "min_cost_usd": min_cost,
        "max_cost_usd": max_cost,
        "min_duration_s": min_duration,
        "max_duration_s": max_duration,
    }
    check_filters(limit, filters)
    any_given = any(value not in (None, "", {}) for value in filters.values())
    filters["sort"] = order = one_of("--sort", RunSort, sort)
    filters["ascending"] = reverse
    async with open_reader(store) as runtime:
        listings = await runtime.store.runs(**filters, limit=limit)
        if json:
            write_json([run_line(listing).as_json() for listing in listings])
            return
        if not listings:
            if any_given:
                say("No runs match. List all runs: leadhand runs list")
            else:
                say('No runs yet. Start one: leadhand run "What is the weather in Paris?"')
            return
        now = datetime.now(UTC)
        write_table(HEADINGS, [_row(listing, now) for listing in listings])
        if len(listings) == limit:
            which = "newest" if order is RunSort.CREATED and not reverse else "first"
            say(f"Showing the {which} {limit:,}. Use --limit to list more.")
        if err_is_terminal():
            await mention_orphans(runtime, store)


def _row(listing: RunListing, now: datetime) -> tuple[str, ...]:
    done = f"{listing.completed}/{listing.subtasks or '?'}" if listing.subtasks or listing.completed else "-"
    shown = short_id(listing.run_id) if out_is_terminal() else listing.run_id
    return shown, status_words(listing), age(listing.created_at, now), done, listing.name or listing.request


async def runs_watch(run_id: RunId, /, *, output: Output = Output(), store: StoreFlags = StoreFlags()) -> int:
    """Follow a run until it ends, pauses, waits, or its process dies."""
    shown = new_view(output)
    async with open_reader(store, on_text=shown.write_draft) as runtime:
        listing = await find_run(runtime.store, run_id)
        definition = await definition_of(runtime.store, listing.run_id)
        say_opening(runtime, listing.run_id, definition, why="")
        resting = asyncio.ensure_future(_rested(runtime.store, listing))
        try:
            with shown.shown():
                transcript = Transcript(shown, stream=output.stream_json)
                await transcript.catch_up(runtime.store, listing.run_id)
                if runtime.cluster is not None and shown.draws_drafts:
                    runtime.cluster.live.watch(listing.run_id)
                await transcript.show_until(resting, runtime.store, listing.run_id)
            listing = await resting
        except asyncio.CancelledError:
            say("Stopped watching. The run continues.")
            raise
        finally:
            resting.cancel()
        run = Run(runtime, await runtime.load(listing.run_id), drive=False)
        await print_result(run, output)
        resume = resume_command(store, listing.run_id, definition)
        say_end(run.state, store, ())
        if listing.orphan:
            say(f"The process of this run died. Resume with: {resume}")
            return Exit.FAILED
    return code_of(run.state)


async def _rested(log: ContextStore, listing: RunListing) -> RunListing:
    """Return the listing of a run when it rests or its process has died."""
    while listing.status in ACTIVE and not listing.orphan:
        await asyncio.sleep(POLL_S)
        listing = await log.run(listing.run_id)
    return listing


async def runs_export(
    run_id: RunId,
    /,
    *,
    jsonl: Annotated[bool, Flag("Export JSON lines, as run --stream-json prints them. This is the default.")] = False,
    json: Annotated[bool, Flag("Export the run document, as runs show --json prints it.")] = False,
    md: Annotated[bool, Flag("Export the answer as Markdown, with numbered sources and gaps.")] = False,
    html: Annotated[bool, Flag("Export one HTML page without scripts or external resources.")] = False,
    output: Annotated[str | None, Flag("Write to this file instead of stdout.", "FILE")] = None,
    store: StoreFlags = StoreFlags(),
) -> int:
    """Export a run as JSON lines (its events, then the run document), as its document, as Markdown or as an HTML page.

    Of a damaged run, --jsonl exports what can be read, and the exit code is 6.
    """
    flags: dict[Format, bool] = {"jsonl": jsonl, "json": json, "md": md, "html": html}
    given: list[Format] = [name for name, chosen in flags.items() if chosen]
    if len(given) > 1:
        raise UsageError(f"--{given[0]} and --{given[1]} exclude each other", "Give one of them.")
    async with open_reader(store) as runtime:
        listing = await find_run(runtime.store, run_id)
        text, damage = await export(runtime, listing.run_id, as_json, format=given[0] if given else "jsonl")
    if output is None or output == "-":
        text = clean(text) if out_is_terminal() else text
        write(text if not html or out_is_utf8() else text.encode("ascii", "xmlcharrefreplace").decode())
    else:
        _save(output, text)
        say(f"{listing.run_id} written to {output}")
    if damage is None:
        return Exit.ANSWERED
    print_error(f"the export is incomplete: {damage.what}", damage.how)
    return Exit.CONFIGURATION


def _save(name: str, text: str) -> None:
    """Write the file atomically. Raises UsageError if that fails."""
    path = Path(name).expanduser()
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        if path.is_dir():
            raise UsageError(f"{path} is a directory", "Name a file in it.")
        if not path.parent.is_dir():
            raise UsageError(f"no directory {path.parent}", "Create it first, or name another file with --output FILE.")
        draft.write_text(text, encoding="utf-8", errors="backslashreplace")
        os.replace(draft, path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(unwritten(error, path), "Name another file with --output FILE.") from error
