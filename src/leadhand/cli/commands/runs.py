"""``leadhand runs list``, ``show``, ``watch`` and ``export``: look at runs."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from leadhand.app.arguments import check_filters, parse_tags
from leadhand.app.export.export import Format, export
from leadhand.app.export.formatting import (
    age,
    clean,
    short_id,
)
from leadhand.app.export.run_document import run_line
from leadhand.app.project.config_files import unwritten
from leadhand.app.runtime.listings import definition_of
from leadhand.cli.dispatch import Exit, code_of
from leadhand.cli.foreground import Transcript, new_view, print_result
from leadhand.cli.options import Flag, Json, Output, RunId, StoreFlags, open_reader
from leadhand.cli.run_lookup import find_run
from leadhand.cli.terminal.messages import (
    answer_lines,
    resume_command,
    say_end,
    say_opening,
    status_words,
    write_table,
)
from leadhand.cli.terminal.streams import (
    as_json,
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
from leadhand.ports.runs import RunListing, RunSort
from leadhand.runs import Run

POLL_S = 0.2
ACTIVE = frozenset({RunStatus.QUEUED, RunStatus.RUNNING})
HEADINGS = ("RUN", "STATUS", "AGE", "DONE", "REQUEST")


async def runs_list(
    *,
    status: Annotated[
        str | None, Flag(f"List runs with this status: {', '.join(RunStatus)}.", choices=tuple(RunStatus))
    ] = None,
    flow: Annotated[str | None, Flag("List runs of this flow.", "NAME")] = None,
    search: Annotated[
        str, Flag("List runs with these words in their request, answer, errors or tool arguments.", "WORDS")
    ] = "",
    tag: Annotated[tuple[str, ...], Flag("List runs with this tag. Repeatable.", "KEY=VALUE")] = (),
    sort: Annotated[str, Flag(f"Sort by {', '.join(RunSort)}, the largest first.", choices=tuple(RunSort))] = "created",
    limit: Annotated[int, Flag("Maximum number of runs.", "N")] = 20,
    json: Json = False,
    store: StoreFlags = StoreFlags(),
) -> None:
    """List runs, newest first.

    A search finds the runs that have all of its words, or words that begin with them. Of a run that is running, only
    the name and request are searched.

    Examples:
      leadhand runs list --search "SKU-0042 timeout"
      leadhand runs list --sort cost --tag team=data --status failed
    """
    filters: Any = {"status": status, "flow": flow, "search": search, "tags": parse_tags(tag, "--tag")}
    any_given = any(value not in (None, "", {}) for value in filters.values())
    filters["sort"] = sort
    check_filters(limit, filters)
    async with open_reader(store) as runtime:
        listings = await runtime.store.runs(**filters, limit=limit)
        if json:
            write_json([run_line(listing).as_json() for listing in listings])
        elif not listings and any_given:
            say("No runs match. List all runs: leadhand runs list")
        elif not listings:
            say('No runs yet. Start one: leadhand run "What is the weather in Paris?"')
        else:
            now = datetime.now(UTC)
            write_table(HEADINGS, [_row(listing, now) for listing in listings])
            if len(listings) == limit:
                say(f"Showing the first {limit:,}. Use --limit to list more.")


def _row(listing: RunListing, now: datetime) -> tuple[str, ...]:
    done = f"{listing.completed}/{listing.subtasks or '?'}" if listing.subtasks or listing.completed else "-"
    shown = short_id(listing.run_id) if out_is_terminal() else listing.run_id
    return shown, status_words(listing), age(listing.created_at, now), done, listing.name or listing.request


async def runs_watch(run_id: RunId = None, /, *, output: Output = Output(), store: StoreFlags = StoreFlags()) -> int:
    """Follow a run until it ends, pauses, waits, or its process dies.

    Ctrl-C stops watching; the run continues. Exits with the code of the run.
    """
    shown = new_view(output)
    async with open_reader(store, on_text=shown.write_draft) as runtime:
        listing = await find_run(runtime.store, run_id)
        definition = await definition_of(runtime.store, listing.run_id)
        say_opening(runtime, listing.run_id, definition, why="")
        resting = asyncio.ensure_future(_rested(runtime.store, listing))
        try:
            with shown.shown():
                transcript = Transcript(
                    shown, partial(answer_lines, listing.run_id, store=store), stream=output.stream_json
                )
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
        say_end(run.state, store)
        if listing.orphan:
            say(f"The process of this run died. Resume with: {resume_command(store, listing.run_id, definition)}")
            return Exit.FAILED
    return code_of(run.state)


async def _rested(log: ContextStore, listing: RunListing) -> RunListing:
    while listing.status in ACTIVE and not listing.orphan:
        await asyncio.sleep(POLL_S)
        listing = await log.run(listing.run_id)
    return listing


async def runs_export(
    run_id: RunId = None,
    /,
    *,
    jsonl: Annotated[bool, Flag("Export JSON lines, as run --stream-json prints them. This is the default.")] = False,
    json: Annotated[bool, Flag("Export the run document, as runs show --json prints it.")] = False,
    md: Annotated[bool, Flag("Export the answer as Markdown, with numbered sources and gaps.")] = False,
    html: Annotated[bool, Flag("Export one HTML page without scripts or external resources.")] = False,
    output: Annotated[str | None, Flag("Write to this file instead of stdout.", "FILE")] = None,
    store: StoreFlags = StoreFlags(),
) -> int:
    """Export a run as JSON lines, a JSON document, Markdown or one HTML page.

    Examples:
      leadhand runs export > run.jsonl
      leadhand runs export last --html --output run.html
      leadhand runs export 7kq2 --md --output run.md
    """
    flags: dict[Format, bool] = {"jsonl": jsonl, "json": json, "md": md, "html": html}
    given: list[Format] = [name for name, chosen in flags.items() if chosen]
    if len(given) > 1:
        raise UsageError(f"--{given[0]} and --{given[1]} exclude each other", "Give one of them.")
    async with open_reader(store) as runtime:
        listing = await find_run(runtime.store, run_id)
        text, damage = await export(
            runtime.store, runtime.flows, listing.run_id, as_json, format=given[0] if given else "jsonl"
        )
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
    """Write the file, atomically unless it is a device or a pipe. Raises UsageError if that fails."""
    path, draft = Path(name).expanduser(), None
    try:
        if path.is_file() or not path.exists():
            draft = path.with_name(f".leadhand.{os.getpid()}.tmp")
        (draft or path).write_text(text, encoding="utf-8", errors="backslashreplace")
        if draft is not None:
            os.replace(draft, path)
    except OSError as error:
        if draft is not None:
            draft.unlink(missing_ok=True)
        raise UsageError(unwritten(error, path), "Name another file with --output FILE.") from error
