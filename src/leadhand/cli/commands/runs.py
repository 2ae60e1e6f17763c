"""``leadhand runs list``, ``show``, ``watch`` and ``export``: look at runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from leadhand.app.export import Format, export
from leadhand.app.formatting import GLYPHS, LONGEST_LINE, age, clean, count, duration, label, one_line, shortened
from leadhand.app.runtime import Runtime
from leadhand.cli.errors import Exit, code_of
from leadhand.cli.foreground import Transcript, new_view, print_result, say_end
from leadhand.cli.options import Flag, Json, Output, RunId, StoreFlags, one_of, open_reader
from leadhand.cli.run_lookup import definition_of, find_run, mention_orphans
from leadhand.cli.terminal.messages import (
    active_s,
    answer_text,
    approval_lines,
    failure_lines,
    gap_lines,
    limits_line,
    models_line,
    resume_command,
    say_opening,
    spending,
    status_words,
    write_table,
)
from leadhand.cli.terminal.streams import as_json, err_is_terminal, out_is_utf8, print_error, say, write, write_json
from leadhand.domain.document import event_line, run_line, work_order, work_state
from leadhand.domain.errors import Failure, UsageError
from leadhand.domain.lifecycle import AssignmentStatus
from leadhand.domain.listing import RunListing
from leadhand.domain.run import ENDED, RunStatus
from leadhand.domain.state import AssignmentState, RunState
from leadhand.domain.work_result import VerdictKind
from leadhand.ports import ContextStore
from leadhand.runs import Run

POLL_S = 0.2
ACTIVE = frozenset({RunStatus.QUEUED, RunStatus.RUNNING})
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
    store: StoreFlags = StoreFlags(),
) -> None:
    """List runs, newest first."""
    only = None if status is None else one_of("--status", RunStatus, status)
    if limit < 1:
        raise UsageError(f"invalid value for --limit: {limit}", "Give 1 or more.")
    async with open_reader(store) as runtime:
        listings = await runtime.store.runs(status=only, text=text, limit=limit)
        if json:
            write_json([run_line(listing).as_json() for listing in listings])
            return
        if not listings:
            if only or text:
                say("No runs match. List all runs: leadhand runs list")
            else:
                say('No runs yet. Start one: leadhand run "What is the weather in Paris?"')
            return
        now = datetime.now(UTC)
        write_table(HEADINGS, [_row(listing, now) for listing in listings])
        if len(listings) == limit:
            say(f"Showing the newest {limit:,}. Use --limit to list more.")
        if err_is_terminal():
            await mention_orphans(runtime, store)


def _row(listing: RunListing, now: datetime) -> tuple[str, ...]:
    done = f"{listing.completed}/{listing.subtasks or '?'}" if listing.subtasks or listing.completed else "-"
    return listing.run_id, status_words(listing), age(listing.created_at, now), done, listing.request


async def runs_show(
    run_id: RunId,
    /,
    *,
    json: Annotated[bool, Flag("Print the run document.")] = False,
    seq: Annotated[int | None, Flag("Print this event of the log.", "N")] = None,
    order: Annotated[bool, Flag("Print the work orders and their states.")] = False,
    store: StoreFlags = StoreFlags(),
) -> None:
    """Show a run: status, assignments, artifacts, answer and gaps."""
    if seq is not None and order:
        raise UsageError("--seq and --order exclude each other", "Give one of them.")
    async with open_reader(store) as runtime:
        listing = await find_run(runtime.store, run_id)
        if seq is not None:
            write_json(await _event(runtime, listing, seq))
            return
        state = await runtime.load(listing.run_id)
        if order and json:
            orders = state.orders.values()
            pairs = [(work_order(each).as_json(), work_state(state, each).as_json()) for each in orders]
            write_json([{"work_order": ordered, "work_state": reached} for ordered, reached in pairs])
        elif order:
            write(_text(_orders(state, driven=listing.owner is not None)))
        elif json:
            write_json((await runtime.document(state.run_id)).as_json())
        else:
            later = await runtime.store.runs(follows=state.run_id)
            write(_text(_page(state, listing, later, store)))


async def _event(runtime: Runtime, listing: RunListing, seq: int) -> dict[str, Any]:
    """Return one event of the log, with its payload. Raises UsageError."""
    entries = await runtime.store.read(listing.run_id, after=seq - 1, limit=1) if seq > 0 else []
    if not entries or entries[0].seq != seq:
        raise UsageError(f"no event {seq}", f"The events of this run are 1 to {listing.head_seq}.")
    event = event_line(entries[0])
    if "raw" in event:
        event["raw"] = await runtime.log(listing.run_id).unpack(event["raw"])
    return event


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{clean(line)}\n" for line in lines)


def _page(state: RunState, listing: RunListing, later: Iterable[RunListing], store: StoreFlags) -> Iterator[str]:
    yield from [f"{state.run_id}  {status_words(listing)}", one_line(state.definition.request), ""]
    yield from _facts(state, listing, store)
    yield from (f"followed by {each.run_id}: {shortened(each.request, LONGEST_LINE)}" for each in later)
    yield ""
    yield from _work(state, driven=listing.owner is not None)
    finished = state.finished
    if finished is None:
        return
    if finished.answer.strip():
        yield from ["Answer:", *answer_text(finished.answer, finished.sources, run_id=state.run_id).splitlines(), ""]
    gaps = list(gap_lines(finished.gaps, answer=finished.answer))
    if gaps:
        yield from [*gaps, ""]
    if finished.failure is not None:
        why = list(failure_lines(state, finished.failure, answer=finished.answer))
        yield from [*why, ""] if why else []


def _facts(state: RunState, listing: RunListing, store: StoreFlags) -> Iterator[str]:
    started = state.created_at.astimezone()
    took = f", took {duration(active_s(state))}" if state.status in ENDED else ""
    yield f"started  {started:%Y-%m-%d %H:%M:%S} ({age(state.created_at, datetime.now(UTC))} ago{took})"
    yield f"model    {models_line(state.definition)}"
    yield f"limits   {limits_line(state.definition)}"
    yield f"spent    {spending(state)}"
    yield from _history(state)
    resume = resume_command(store, state.run_id, state.definition)
    if state.finished is None:
        yield from (f"approval {line}" for line in approval_lines(state, store))
    if listing.orphan:
        yield f"orphan   its process died; resume with: {resume}"
    elif listing.status is RunStatus.PAUSED:
        yield f"paused   resume with: {resume}"
    elif listing.status is RunStatus.WAITING:
        yield f"waiting  once answered, or to answer on a terminal: {resume}"
    elif listing.owner is not None:
        yield f"driven   by {listing.owner}; follow it with: {store.command('runs', 'watch', state.run_id)}"


def _history(state: RunState) -> Iterator[str]:
    """The run that this one is a fork or a follow-up of, and its earlier answers."""
    origin, follows = state.definition.forked_from, state.definition.follows
    if origin is not None:
        yield f"fork     of {origin.run_id} at event {origin.seq}"
    if follows is not None:
        yield f"follows  {follows.run_id}: {shortened(one_line(follows.request), LONGEST_LINE)}"
    if state.answers:
        earlier = ", ".join(f"{answer.number} ({answer.status.value})" for answer in state.answers)
        which = f"number {state.finished.number}" if state.finished is not None else "pending"
        yield f"answer   {which}; earlier: {earlier}; see earlier_answers in --json"


def _orders(state: RunState, *, driven: bool) -> Iterator[str]:
    if not state.orders:
        yield from ["No work orders.", ""]
    for order in state.orders.values():
        repairs = f", repairs {order.order.repairs}" if order.order.repairs else ""
        by = f", requested by {order.by}" if order.by else ""
        yield f"{order.order.work_order_id}  {count(len(order.order.subtasks), 'subtask')}{repairs}{by}"
        yield from _listed([state.assignments[key] for key in order.order.subtask_keys()], driven=driven)


def _work(state: RunState, *, driven: bool) -> Iterator[str]:
    """Every assignment except what the lead does for its work orders; the todos and the artifacts."""
    if state.orders:
        yield from _orders(state, driven=driven)
    apart = [each for each in state.assignments.values() if not each.order]
    shown = [each for each in apart if each.counts or each.assignment.parent or not state.orders]
    if shown or not state.orders:
        yield count(len(shown), "assignment")
        yield from _listed(shown, driven=driven, in_answer=_answered_failure(state))
    for todo in state.todos:
        yield f"todo     {GLYPHS.get(todo.status, GLYPHS['running'])} {one_line(todo.content)}"
    for path, versions in state.artifacts.items():
        yield f"artifact {path}  {count(versions[-1].size, 'byte')}, {count(len(versions), 'version')}"
    if state.todos or state.artifacts:
        yield ""


def _answered_failure(state: RunState) -> Failure | None:
    """Why the run failed, if its answer contains it."""
    finished = state.finished
    if finished is None or finished.failure is None or finished.failure.message not in finished.answer:
        return None
    return finished.failure


def _listed(assignments: Sequence[AssignmentState], *, driven: bool, in_answer: Failure | None = None) -> Iterator[str]:
    """A line for each assignment, without the failure that the answer contains."""
    width = max((len(each.key) for each in assignments), default=0)
    yield from (f"  {_assignment(each, width, driven=driven, in_answer=in_answer)}".rstrip() for each in assignments)
    yield ""


def _assignment(each: AssignmentState, width: int, *, driven: bool, in_answer: Failure | None) -> str:
    given, subtask = each.assignment, each.assignment.subtask
    words = [given.name, given.role] if subtask is None else [label(subtask.name, subtask.args)]
    if each.status is not AssignmentStatus.COMPLETED:
        interrupted = each.status is AssignmentStatus.RUNNING and not driven
        words.append("interrupted" if interrupted else each.status.value)
    tries = len(each.failures) + each.ok
    if tries > 1:
        words.append(count(tries, "attempt"))
    if each.verdict is not None and each.verdict.verdict is not VerdictKind.ACCEPT:
        words.append(f"review: {each.verdict.verdict.value}")
    if each.by and each.data is not None:
        words.append(f"result supplied by {each.by}")
    if each.superseded_by is not None:
        words.append(f"replaced by {each.superseded_by}")
    if each.failure is not None and each.failure != in_answer:
        words.append(f"{shortened(each.failure.message, LONGEST_LINE)} ({each.failure.class_.value})")
    return f"{GLYPHS[each.status]} {each.key:<{width}}  {' · '.join(words)}"


async def runs_watch(run_id: RunId, /, *, output: Output = Output(), store: StoreFlags = StoreFlags()) -> int:
    """Follow a run until it ends, pauses, waits, or its process dies."""
    async with open_reader(store) as runtime:
        listing = await find_run(runtime.store, run_id)
        definition = await definition_of(runtime.store, listing.run_id)
        say_opening(runtime, listing.run_id, definition, why="")
        shown = new_view(output)
        resting = asyncio.ensure_future(_rested(runtime.store, listing))
        try:
            with shown.shown():
                transcript = Transcript(shown, stream=output.stream_json)
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
        say_end(run.state, store, resume=resume)
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

    If a damaged run cannot be read to its end, what can be read is exported, and the exit code is 6.
    """
    flags: dict[Format, bool] = {"jsonl": jsonl, "json": json, "md": md, "html": html}
    given: list[Format] = [name for name, chosen in flags.items() if chosen]
    if len(given) > 1:
        raise UsageError(f"--{given[0]} and --{given[1]} exclude each other", "Give one of them.")
    async with open_reader(store) as runtime:
        listing = await find_run(runtime.store, run_id)
        text, damage = await export(runtime, listing.run_id, as_json, format=given[0] if given else "jsonl")
    if output is None or output == "-":
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
        raise UsageError(
            f"cannot write {path}: {error.strerror or error}", "Name another file with --output FILE."
        ) from error
