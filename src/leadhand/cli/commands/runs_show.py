"""``leadhand runs show`` and ``open``: look at one run, in the terminal or in the console."""

from __future__ import annotations

import sys
import webbrowser
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from leadhand.app.export.document import event_line
from leadhand.app.export.formatting import GLYPHS, LONGEST_LINE, age, count, label, one_line, shortened
from leadhand.app.runtime.membership import host_wait
from leadhand.app.runtime.runtime import Runtime
from leadhand.app.steering.model_calls import model_call
from leadhand.cli.options import Flag, RunId, StoreFlags, open_reader
from leadhand.cli.run_lookup import find_run
from leadhand.cli.terminal.messages import (
    MOST_CAUSES,
    answer_text,
    beside_lines,
    lasted,
    limits_line,
    models_line,
    next_lines,
    outcome_lines,
    resume_command,
    spending,
    status_words,
)
from leadhand.cli.terminal.streams import as_json, say, write_json, write_line
from leadhand.core.errors import UsageError
from leadhand.core.run import ENDED, UNSUCCESSFUL, StepStatus
from leadhand.core.state import RunState, StepState
from leadhand.core.work_result import VerdictKind
from leadhand.ports.runs import RunListing

PAGE = 40
"""Lines of a page, unless all is asked for: the steps and the answer share what the rest leaves."""
LEAST = 3
"""Lines that the steps get, and the answer, whatever else there is."""


async def runs_show(
    run_id: RunId = None,
    /,
    *,
    json: Annotated[bool, Flag("Print the run document.")] = False,
    full: Annotated[bool, Flag("Print every subtask, every cause and the whole answer.")] = False,
    seq: Annotated[int | None, Flag("Print this event of the log.", "N")] = None,
    call: Annotated[
        str | None, Flag("Print this model call, such as wo-001.0/t1: prompt, reply, tokens and cost, as JSON.", "CALL")
    ] = None,
    store: StoreFlags = StoreFlags(),
) -> None:
    """Show a run: what is missing, status, steps, artifacts and answer.

    The page has at most 40 lines or so: of a large run, it lists the subtasks that need attention, and of a long
    answer, the beginning.
    """
    async with open_reader(store) as runtime:
        listing = await find_run(runtime.store, run_id)
        if seq is not None:
            write_json(await _event(runtime, listing, seq))
        elif call is not None:
            write_json((await model_call(runtime, listing.run_id, call)).as_json())
        elif json:
            write_json((await runtime.document(listing.run_id)).as_json())
        else:
            state = await runtime.load(listing.run_id)
            later = await runtime.store.runs(follows=state.run_id)
            facts = _facts(state, listing, store, await host_wait(runtime.store, state, listing), runtime)
            for line in _page(state, facts, later, store, status_words(listing), full=full):
                write_line(line)


async def _event(runtime: Runtime, listing: RunListing, seq: int) -> dict[str, Any]:
    """Return one event of the log, with its payload. Raises UsageError."""
    entries = await runtime.store.read(listing.run_id, after=seq - 1, limit=1) if seq > 0 else []
    if not entries or entries[0].seq != seq:
        raise UsageError(f"no event {seq}", f"The events of this run are 1 to {listing.head_seq}.")
    event = event_line(entries[0])
    if "raw" in event:
        event["raw"] = await runtime.log(listing.run_id).unpack(event["raw"])
    return event


def _page(
    state: RunState, facts: Iterable[str], later: Iterable[RunListing], store: StoreFlags, status: str, *, full: bool
) -> Iterator[str]:
    """What is missing comes first, the answer last."""
    more = store.command("runs", "show", state.run_id, "--full")
    outcome = [*outcome_lines(state, store, most=sys.maxsize if full else MOST_CAUSES), *next_lines(state, store)]
    head = [f"{state.run_id}  {status}", one_line(state.definition.request), ""]
    head += [*outcome, ""] if outcome else []
    head += facts
    followed = [f"followed by {each.run_id}: {shortened(each.request, LONGEST_LINE)}" for each in later]
    head += [*_first(followed, sys.maxsize if full else LEAST, more), ""]
    beside = list(_first(beside_lines(state), sys.maxsize if full else 2 * LEAST, more))
    room = sys.maxsize if full else PAGE - len(head) - len(beside) - len(state.orders)
    yield from head
    work = list(_work(state, max(LEAST, (room - 7) // 2), more, "\n".join(outcome), full=full))
    yield from work
    finished = state.finished
    if finished is not None and finished.answer.strip():
        text = answer_text(finished.answer, finished.sources).splitlines()
        if state.definition.shape and finished.value is not None:
            text += ["Value:", *as_json(finished.value, indent=2).splitlines()]
        left = room + len(state.orders) - len(work) - 3
        yield from ["Answer:", *_first(text, max(LEAST, left), more), ""]
    yield from beside


def _first(lines: Sequence[str], most: int, more: str) -> Iterator[str]:
    """Yield the first of some lines, and how many more there are."""
    yield from lines[:most]
    if len(lines) > most:
        yield f"… {count(len(lines) - most, 'more line')}: {more}"


def _facts(state: RunState, listing: RunListing, store: StoreFlags, wait: str, runtime: Runtime) -> Iterator[str]:
    definition, origin, follows = state.definition, state.definition.forked_from, state.definition.follows
    took = f", ended {lasted(state)} later" if state.status in ENDED else ""
    if definition.name:
        yield f"name     {definition.name}"
    if definition.tags:
        yield f"tags     {', '.join(f'{key}={value}' for key, value in definition.tags.items())}"
    started, ago = state.created_at.astimezone(), age(state.created_at, datetime.now(UTC))
    yield f"started  {started:%Y-%m-%d %H:%M:%S} ({ago} ago{took})"
    yield f"model    {models_line(definition)}"
    yield f"limits   {limits_line(definition)}"
    yield f"spent    {spending(state)}"
    if origin is not None:
        yield f"fork     of {origin.run_id} at event {origin.seq}"
    if follows is not None:
        yield f"follows  {follows.run_id}: {shortened(one_line(follows.request), LONGEST_LINE)}"
    if state.answers:
        earlier = ", ".join(f"{answer.number} ({answer.status.value})" for answer in state.answers)
        yield f"answers  earlier: {earlier}; see earlier_answers in --json"
    if wait:
        yield f"waits    {wait}"
    if listing.orphan and not (wait and runtime.cluster is not None):
        yield f"orphan   its process died; resume with: {resume_command(store, state.run_id, definition)}"
    elif listing.owner is not None:
        yield f"driven   by {listing.owner}; follow it with: {store.command('runs', 'watch', state.run_id)}"


def _work(state: RunState, most: int, more: str, named: str, *, full: bool) -> Iterator[str]:
    """The steps except what the lead does for its work orders, the todos and the artifacts.

    Of more than ``most`` steps, those that are not completed come first. Failures ``named`` before are not repeated.
    """
    apart = [
        each
        for each in state.steps.values()
        if not each.order and (each.counts or each.step.parent or not state.orders)
    ]
    groups: list[tuple[str, str, list[StepState]]] = []
    for order in state.orders.values():
        repairs = f", repairs {order.order.repairs}" if order.order.repairs else ""
        steps = [state.steps[key] for key in order.order.subtask_keys]
        groups.append((f"{order.order.work_order_id}  ", repairs, steps))
    if apart or not groups:
        groups.append(("", "", apart))
    for begins, ends, steps in groups:
        yield f"{begins}{_counted(steps, 'subtask' if begins else 'step', most)}{ends}"
        shown = steps if len(steps) <= most else sorted(steps, key=lambda each: each.ok)[:most]
        most = max(1, most - len(shown)) if len(groups) > 1 else most
        wide = max((len(each.key) for each in shown), default=0)
        yield from (f"  {_line(each, wide, named)}".rstrip() for each in shown)
        if len(steps) > len(shown):
            yield f"  … and {len(steps) - len(shown):,} more: {more}"
    yield ""
    todos = [f"todo     {GLYPHS.get(todo.status, GLYPHS['running'])} {one_line(todo.content)}" for todo in state.todos]
    artifacts = [
        f"artifact {path}  {count(versions[-1].size, 'byte')}, {count(len(versions), 'version')}"
        for path, versions in state.artifacts.items()
    ]
    for lines in (todos, artifacts):
        yield from _first(lines, sys.maxsize if full else LEAST, more)
    if todos or artifacts:
        yield ""


def _counted(steps: Sequence[StepState], thing: str, most: int) -> str:
    """How many there are; if not all of them are listed, also of each status."""
    statuses = Counter(map(_status, steps)).most_common() if len(steps) > most else []
    return ": ".join(filter(None, (count(len(steps), thing), ", ".join(f"{n:,} {word}" for word, n in statuses))))


def _line(each: StepState, wide: int, named: str) -> str:
    given, subtask, status = each.step, each.step.subtask, _status(each)
    names = list(dict.fromkeys((given.name, given.worker)))
    words = names if subtask is None else [label(subtask.name, each.args_made(ok=each.ok))]
    if each.status is not StepStatus.COMPLETED:
        words.append(status)
    tries = len(each.failures) + each.ok
    if tries > 1:
        words.append(count(tries, "attempt"))
    if each.verdict is not None and each.verdict.verdict not in (VerdictKind.ACCEPT, VerdictKind.DROP):
        words.append(f"review: {each.verdict.verdict.value}")
    if each.by and each.data is not None:
        words.append(f"result supplied by {each.by}")
    if each.superseded_by is not None:
        words.append(f"replaced by {each.superseded_by}")
    if (failure := each.failure) is not None and each.status not in (StepStatus.RUNNING, StepStatus.WAITING):
        cause = failure.class_.replace("_", " ")
        is_named = one_line(failure.message)[:LONGEST_LINE] in named
        words.append(cause if is_named else f"{shortened(failure.message, LONGEST_LINE)} ({cause})")
    glyph = GLYPHS["failed"] if status == "failed" else GLYPHS[each.status]
    return f"{glyph} {each.key:<{wide}}  {' · '.join(words)}"


def _status(each: StepState) -> str:
    """Return the status of a step in one word: what failed by itself has failed, even if a review dropped it."""
    if each.status not in UNSUCCESSFUL:
        return each.status
    if each.failure is not None and each.failure.type == "cancelled":
        return "cancelled"
    failed = each.status is StepStatus.FAILED or (each.failure is not None and not each.by)
    return "failed" if failed else "skipped"


async def runs_open(
    run_id: RunId = None,
    /,
    *,
    url: Annotated[str, Flag("The address of the console.", "URL")] = "http://127.0.0.1:8700",
    store: StoreFlags = StoreFlags(),
) -> None:
    """Open a run in the console of a running server."""
    async with open_reader(store) as runtime:
        found = (await find_run(runtime.store, run_id)).run_id
    page = f"{url.rstrip('/')}/runs/{found}"
    write_line(page)
    if not webbrowser.open(page):
        say("Could not open a browser. Open the address yourself.")
