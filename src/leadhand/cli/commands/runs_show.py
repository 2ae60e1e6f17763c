"""``leadhand runs show``: what became of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from leadhand.app.formatting import LONGEST_LINE, age, clean, count, duration, label, one_line, shortened
from leadhand.app.runtime import Runtime
from leadhand.cli.console import write, write_json
from leadhand.cli.exit_codes import Exit
from leadhand.cli.finding import find_run
from leadhand.cli.options import HERE, Place, open_reader
from leadhand.cli.telling import (
    active_s,
    answer_text,
    asked_lines,
    failure_lines,
    gap_lines,
    limits_line,
    spending,
    status_words,
    tools_of,
)
from leadhand.domain.document import event_line, work_order, work_state
from leadhand.domain.errors import UsageError
from leadhand.domain.lifecycle import AssignmentStatus
from leadhand.domain.listing import RunListing
from leadhand.domain.review import VerdictKind
from leadhand.domain.run import ENDED, RunStatus
from leadhand.domain.state import AssignmentState, OrderState, RunState
from leadhand.runs import Run

GLYPHS = {
    AssignmentStatus.PENDING: "·",
    AssignmentStatus.RUNNING: "◐",
    AssignmentStatus.WAITING: "‖",
    AssignmentStatus.COMPLETED: "✓",
    AssignmentStatus.FAILED: "✗",
    AssignmentStatus.DROPPED: "–",
}


async def runs_show(
    run_id: str,
    /,
    *,
    json: bool = False,
    seq: int | None = None,
    order: bool = False,
    place: Place = HERE,
) -> int:
    """Show what became of a run.

    Parameters
    ----------
    run_id
        The run, or the beginning of its id.
    json
        Print the run document.
    seq
        Print this one event of its log.
    order
        Print its work orders and their states.
    """
    if seq is not None and order:
        raise UsageError("--seq and --order exclude each other", "Give one of them.")
    async with open_reader(place) as lead:
        runtime = await lead.runtime()
        listing = await find_run(runtime.store, run_id)
        if seq is not None:
            write_json(await _event(runtime, listing, seq))
            return Exit.ANSWERED
        state = await runtime.load(listing.run_id)
        if order and json:
            write_json([_order_document(state, each) for each in state.orders.values()])
        elif order:
            write(_text(_orders(state, driven=listing.owner is not None)))
        elif json:
            write_json(await Run(runtime, state, drive=False).document())
        else:
            write(_text(_page(state, listing, place)))
    return Exit.ANSWERED


async def _event(runtime: Runtime, listing: RunListing, seq: int) -> dict[str, Any]:
    """One event of the log, with its payload even if that is kept elsewhere. Raises UsageError."""
    entries = await runtime.store.read(listing.run_id, after=seq - 1, limit=1) if seq > 0 else []
    if not entries or entries[0].seq != seq:
        raise UsageError(f"there is no event {seq}", f"They go from 1 to {listing.head_seq}.")
    event = event_line(entries[0])
    if "raw" in event:
        event["raw"] = await runtime.log(listing.run_id).unpack(event["raw"])
    return event


def _order_document(state: RunState, order: OrderState) -> dict[str, Any]:
    return {"work_order": work_order(order).as_json(), "work_state": work_state(state, order).as_json()}


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{clean(line)}\n" for line in lines)


def _page(state: RunState, listing: RunListing, place: Place) -> Iterator[str]:
    definition = state.definition
    yield f"{state.run_id}  {status_words(listing)}"
    yield one_line(definition.request)
    yield ""
    yield from _facts(state, listing, place)
    yield ""
    yield from _orders(state, driven=listing.owner is not None)
    finished = state.finished
    if finished is None:
        return
    if finished.answer.strip():
        yield from ["Answer:", *answer_text(finished.answer, finished.sources, run_id=state.run_id).splitlines(), ""]
    gaps = list(gap_lines(finished.gaps, told=finished.answer))
    if gaps:
        yield from [*gaps, ""]
    if finished.failure is not None:
        why = list(failure_lines(state, finished.failure, told=finished.answer))
        yield from [*why, ""] if why else []


def _facts(state: RunState, listing: RunListing, place: Place) -> Iterator[str]:
    started = state.created_at.astimezone()
    took = f", took {duration(active_s(state))}" if state.status in ENDED else ""
    yield f"started  {started:%Y-%m-%d %H:%M:%S} ({age(state.created_at, datetime.now(UTC))} ago{took})"
    models = state.definition.models
    yield f"model    {', '.join([models.default, *(f'{role}: {name}' for role, name in models.roles.items())])}"
    yield f"limits   {limits_line(state.definition)}"
    yield f"spent    {spending(state)}"
    yield from _history(state)
    resume = place.command("runs", "resume", state.run_id, tools=tools_of(state.definition))
    if state.finished is None:
        yield from (f"asks     {line}" for line in asked_lines(state, place))
    if listing.orphan:
        yield f"orphan   the process that drove it is gone; go on with: {resume}"
    elif listing.status is RunStatus.PAUSED:
        yield f"parked   go on with: {resume}"
    elif listing.status is RunStatus.WAITING:
        yield f"waits    go on when it is answered, or be asked on a terminal: {resume}"
    elif listing.owner is not None:
        yield f"driven   by {listing.owner}; follow it with: {place.command('runs', 'watch', state.run_id)}"


def _history(state: RunState) -> Iterator[str]:
    """Where a run comes from, and what it came to before people wanted more of it."""
    origin = state.definition.options.get("forked_from")
    if isinstance(origin, dict):
        yield f"fork     of {origin['run_id']}, up to event {origin['seq']}"
    if state.answers:
        earlier = ", ".join(f"{answer.number} ({answer.status.value})" for answer in state.answers)
        which = f"number {state.finished.number}" if state.finished is not None else "to come"
        yield f"answer   {which}; before it {earlier}: --json has them under earlier_answers"


def _orders(state: RunState, *, driven: bool) -> Iterator[str]:
    if not state.orders:
        yield from ["No work order was issued.", ""]
    for order in state.orders.values():
        subtasks = [state.assignments[key] for key in order.order.subtask_keys()]
        repairs = f", repairs {order.order.repairs}" if order.order.repairs else ""
        by = f", asked for by {order.by}" if order.by else ""
        yield f"{order.order.work_order_id}  {count(len(subtasks), 'subtask')}{repairs}{by}"
        width = max(len(subtask.key) for subtask in subtasks)
        yield from (f"  {_subtask(state, subtask, width, driven=driven)}".rstrip() for subtask in subtasks)
        yield ""


def _subtask(state: RunState, subtask: AssignmentState, width: int, *, driven: bool) -> str:
    words = [label(subtask.subtask.name, subtask.subtask.args)]
    if subtask.status is not AssignmentStatus.COMPLETED:
        interrupted = subtask.status is AssignmentStatus.RUNNING and not driven
        words.append("interrupted" if interrupted else subtask.status.value)
    assignment = state.assignments.get(subtask.key)
    tries = len(assignment.failures) + assignment.ok if assignment is not None else 0
    if tries > 1:
        words.append(count(tries, "attempt"))
    if subtask.verdict is not None and subtask.verdict.verdict is not VerdictKind.ACCEPT:
        words.append(f"review: {subtask.verdict.verdict.value}")
    if subtask.by and subtask.data is not None:
        words.append(f"result given by {subtask.by}")
    if subtask.superseded_by is not None:
        words.append(f"done again as {subtask.superseded_by}")
    if subtask.failure is not None:
        words.append(f"{shortened(subtask.failure.message, LONGEST_LINE)} ({subtask.failure.class_.value})")
    return f"{GLYPHS[subtask.status]} {subtask.key:<{width}}  {' · '.join(words)}"
