"""``leadhand runs show`` and ``open``: look at one run, in the terminal or in the console."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from leadhand.app.document import event_line
from leadhand.app.formatting import (
    GLYPHS,
    LONGEST_LINE,
    age,
    clean,
    count,
    folded,
    label,
    one_line,
    shortened,
)
from leadhand.app.hosts.membership import host_wait
from leadhand.app.runtime import Runtime
from leadhand.app.steering.model_calls import model_call
from leadhand.cli.errors import Exit
from leadhand.cli.options import Flag, RunId, StoreFlags, open_reader
from leadhand.cli.run_lookup import find_run
from leadhand.cli.terminal.messages import (
    answer_text,
    approval_lines,
    beside_lines,
    lasted,
    limits_line,
    models_line,
    outcome_lines,
    resume_command,
    spending,
    status_words,
)
from leadhand.cli.terminal.model_call_text import model_call_lines
from leadhand.cli.terminal.streams import (
    as_json,
    height,
    out_is_terminal,
    say,
    width,
    write,
    write_json,
    write_line,
    write_paged,
)
from leadhand.core.errors import Failure, UsageError
from leadhand.core.relations import open_question
from leadhand.core.run import ENDED, UNSUCCESSFUL, RunStatus, StepStatus
from leadhand.core.state import RunState, StepState
from leadhand.core.work_result import VerdictKind
from leadhand.ports.hosts import HostWait
from leadhand.ports.runs import RunListing
from leadhand.ports.work_state import WorkState

FAILURE_WORDS = {
    "transient": "temporary error",
    "rate_limited": "rate limit",
    "unavailable": "not available",
    "rejected": "refused",
    "too_large": "too large",
    "insufficient": "not enough",
    "exhausted": "limit reached",
}
"""What the classes of failures mean; the others are words themselves."""
_CAUSES = {"not_found": "not found", "timeout": "timeout", "gave_up": "given up", "needs_failed": "blocked"}
MOST_LISTED = 12
"""Steps of an order that ``runs show`` lists, at most, unless all are asked for."""
LEAST_ANSWER = 10
"""Lines of an answer that a terminal shows in any case."""
SERVER_TIME_S = 5.0


async def runs_show(
    run_id: RunId,
    /,
    *,
    json: Annotated[bool, Flag("Print the run document.")] = False,
    seq: Annotated[int | None, Flag("Print this event of the log.", "N")] = None,
    order: Annotated[bool, Flag("Print the work orders and their states.")] = False,
    failed: Annotated[bool, Flag("Print what failed, why, and what to do next.")] = False,
    full: Annotated[bool, Flag("Print every subtask and the whole answer.")] = False,
    call: Annotated[
        str | None, Flag("Print this model call, such as wo-001.0/t1: its prompt, reply, tokens and cost.", "CALL")
    ] = None,
    store: StoreFlags = StoreFlags(),
) -> None:
    """Show a run: what is missing, status, steps, artifacts and answer."""
    flags = {"seq": seq is not None, "order": order, "failed": failed, "call": call is not None}
    chosen = [name for name, given in flags.items() if given]
    if len(chosen) > 1:
        raise UsageError(f"--{chosen[0]} and --{chosen[1]} exclude each other", "Give one of them.")
    if failed and json:
        raise UsageError("--failed and --json exclude each other", "Give one of them: the document has all gaps.")
    async with open_reader(store) as runtime:
        listing = await find_run(runtime.store, run_id)
        if seq is not None:
            write_json(await _event(runtime, listing, seq))
            return
        if call is not None:
            made = await model_call(runtime, listing.run_id, call)
            _ = write_json(made.as_json()) if json else write_paged(_text(model_call_lines(made)))
            return
        state = await runtime.load(listing.run_id)
        if order and json:
            pairs = [
                {"work_order": each.order, "work_state": WorkState.of(state, each)} for each in state.orders.values()
            ]
            write_json([{name: part.model_dump(mode="json") for name, part in pair.items()} for pair in pairs])
        elif json:
            write_json((await runtime.document(state.run_id)).as_json())
        elif failed:
            write_paged("".join(_failures(state, listing, store)))
        elif order:
            write_paged(_text(_Work(state, listing, store, full=True).orders()))
        else:
            later = await runtime.store.runs(follows=state.run_id)
            wait = await host_wait(runtime.store, state, listing)
            page = _text(_page(state, listing, later, store, wait, full=full))
            write_paged(page) if full else write(page)


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
    """Return lines as one text; for a terminal, they are broken at words."""
    columns = width() if out_is_terminal() else sys.maxsize
    return "".join(f"{folded(clean(line), columns)}\n" for line in lines)


def _page(
    state: RunState, listing: RunListing, later: Iterable[RunListing], store: StoreFlags, wait: HostWait, *, full: bool
) -> Iterator[str]:
    """What is missing comes first, the answer last: as much of it as a terminal shows, unless ``full``."""
    outcome = list(_outcome(state, listing, store, full=full))
    before = [*outcome, *_facts(state, listing, store, wait)]
    before += (f"followed by {each.run_id}: {shortened(each.request, LONGEST_LINE)}" for each in later)
    before += ["", *_Work(state, listing, store, full=full, before=outcome).lines()]
    yield from before
    finished = state.finished
    if finished is None or not finished.answer.strip():
        yield from beside_lines(state)
        return
    lines = answer_text(finished.answer, finished.sources, run_id=state.run_id).splitlines()
    room = max(LEAST_ANSWER, height() - len(before) - 4)
    yield "Answer:"
    yield from lines if full or not out_is_terminal() or len(lines) <= room else lines[:room]
    if not full and out_is_terminal() and len(lines) > room:
        yield f"… {count(len(lines) - room, 'more line')}: {store.command('runs', 'show', state.run_id, '--full')}"
    if state.definition.shape and finished.value is not None:
        yield from ["Value:", *as_json(finished.value, indent=2).splitlines()]
    yield from ["", *beside_lines(state), ""]


def _outcome(state: RunState, listing: RunListing, store: StoreFlags, *, full: bool) -> Iterator[str]:
    """The status, the request, and what failed with what to do next."""
    yield from [f"{state.run_id}  {status_words(listing)}", one_line(state.definition.request), ""]
    found = list(outcome_lines(state, store, **({"most": sys.maxsize} if full else {})))
    yield from [*found, ""] if found else []


def _failures(state: RunState, listing: RunListing, store: StoreFlags) -> Iterator[str]:
    outcome = list(_outcome(state, listing, store, full=True))
    yield _text(outcome)
    work = _Work(state, listing, store, full=True, before=outcome)
    failed = [each for each in state.steps.values() if each.failure is not None and each.superseded_by is None]
    yield _text(work.listed(failed)) if failed else "No subtask failed.\n"


def _facts(state: RunState, listing: RunListing, store: StoreFlags, wait: HostWait) -> Iterator[str]:
    started = state.created_at.astimezone()
    took = f", took {lasted(state)}" if state.status in ENDED else ""
    if state.definition.name:
        yield f"name     {state.definition.name}"
    if state.definition.tags:
        yield f"tags     {', '.join(f'{key}={value}' for key, value in state.definition.tags.items())}"
    yield f"started  {started:%Y-%m-%d %H:%M:%S} ({age(state.created_at, datetime.now(UTC))} ago{took})"
    yield f"model    {models_line(state.definition)}"
    yield f"limits   {limits_line(state.definition)}"
    yield f"spent    {spending(state)}"
    yield from _history(state)
    resume = resume_command(store, state.run_id, state.definition)
    if state.finished is None:
        yield from (f"asks     {line}" for line in approval_lines(state, store))
    if state.definition.priority:
        yield f"priority {state.definition.priority}"
    if wait.reason:
        place = f"position {wait.position:,} in the queue; " if wait.position is not None else ""
        yield f"waits    {place}{wait.reason}"
    if listing.orphan and wait.position is None:
        yield f"orphan   its process died; resume with: {resume}"
    elif listing.status is RunStatus.PAUSED:
        yield f"paused   resume with: {resume}"
    elif (asked := open_question(state)) is not None and state.finished is None:
        yield f"question {one_line(asked.text)}"
        yield f"answer   with: {resume_command(store, state.run_id, state.definition, verb='answer', words=('TEXT',))}"
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


class _Work:
    """The steps of a run in lines: all of them if ``full``, else those that need attention, and a few more.

    A failure that the lines ``before`` them name is not repeated.
    """

    def __init__(
        self, state: RunState, listing: RunListing, store: StoreFlags, *, full: bool, before: Iterable[str] = ()
    ) -> None:
        self._state = state
        self._driven = listing.owner is not None
        self._most = sys.maxsize if full else MOST_LISTED
        self._before = "\n".join(before)
        self._more = store.command("runs", "show", state.run_id, "--full")

    def lines(self) -> Iterator[str]:
        """Every step except what the lead does for its work orders; the todos and the artifacts."""
        state = self._state
        if state.orders:
            yield from self.orders()
        apart = [each for each in state.steps.values() if not each.order]
        shown = [each for each in apart if each.counts or each.step.parent or not state.orders]
        if shown or not state.orders:
            yield self._counted(shown, "step")
            yield from self.listed(shown)
        for todo in state.todos:
            yield f"todo     {GLYPHS.get(todo.status, GLYPHS['running'])} {one_line(todo.content)}"
        for path, versions in state.artifacts.items():
            yield f"artifact {path}  {count(versions[-1].size, 'byte')}, {count(len(versions), 'version')}"
        if state.todos or state.artifacts:
            yield ""

    def orders(self) -> Iterator[str]:
        state = self._state
        if not state.orders:
            yield from ["No work orders.", ""]
        for order in state.orders.values():
            repairs = f", repairs {order.order.repairs}" if order.order.repairs else ""
            given = [state.steps[key] for key in order.order.subtask_keys()]
            yield f"{order.order.work_order_id}  {self._counted(given, 'subtask')}{repairs}"
            yield from self.listed(given)

    def _counted(self, steps: Sequence[StepState], thing: str) -> str:
        """How many there are; if not all of them are listed, also of each status."""
        if len(steps) <= self._most:
            return count(len(steps), thing)
        statuses = Counter(map(_status, steps))
        counted = ", ".join(f"{number:,} {word}" for word, number in statuses.most_common())
        return f"{count(len(steps), thing)}: {counted}"

    def listed(self, steps: Sequence[StepState]) -> Iterator[str]:
        """A line for each step; if there are too many, first those that are not completed."""
        shown = list(steps)
        if len(shown) > self._most:
            shown = sorted(shown, key=lambda each: each.ok)[: self._most]
        wide = max((len(each.key) for each in shown), default=0)
        yield from (f"  {self._step(each, wide)}".rstrip() for each in shown)
        if len(steps) > len(shown):
            yield f"  … and {len(steps) - len(shown):,} more: {self._more}"
        yield ""

    def _step(self, each: StepState, wide: int) -> str:
        given, subtask, status = each.step, each.step.subtask, _status(each)
        words = [given.name, given.worker] if subtask is None else [label(subtask.name, each.args_made(ok=each.ok))]
        if each.status is not StepStatus.COMPLETED:
            interrupted = each.status is StepStatus.RUNNING and not self._driven
            words.append("interrupted" if interrupted else status)
        tries = len(each.failures) + each.ok
        if tries > 1:
            words.append(count(tries, "attempt"))
        if each.verdict is not None and each.verdict.verdict not in (VerdictKind.ACCEPT, VerdictKind.DROP):
            words.append(f"review: {each.verdict.verdict.value}")
        if each.by and each.data is not None:
            words.append(f"result supplied by {each.by}")
        if each.superseded_by is not None:
            words.append(f"replaced by {each.superseded_by}")
        if each.failure is not None:
            cause = _cause(each.failure)
            named = one_line(each.failure.message)[:LONGEST_LINE] in self._before
            words.append(cause if named else f"{shortened(each.failure.message, LONGEST_LINE)} ({cause})")
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


def _cause(failure: Failure) -> str:
    """Return why a step failed, in two words or fewer: ``HTTP 503``, ``timeout``, ``not available``."""
    if failure.type.startswith("http_"):
        return f"HTTP {failure.type.removeprefix('http_')}"
    return _CAUSES.get(failure.type) or FAILURE_WORDS.get(failure.class_, failure.class_)


async def runs_open(
    run_id: RunId,
    /,
    *,
    url: Annotated[str, Flag("The address of the console.", "URL")] = "http://127.0.0.1:8700",
    store: StoreFlags = StoreFlags(),
) -> int:
    """Open a run in the console of a running server."""
    import webbrowser

    async with open_reader(store) as runtime:
        found = (await find_run(runtime.store, run_id)).run_id
    await _check_server(url.rstrip("/"), found, store)
    page = f"{url.rstrip('/')}/runs/{found}"
    write_line(page)
    if not webbrowser.open(page):
        say("Could not open a browser. Open the address yourself.")
    return Exit.ANSWERED


async def _check_server(url: str, run_id: str, store: StoreFlags) -> None:
    """Raise UsageError if no server answers there, or if it does not have the run. One that wants a key is trusted."""
    import aiohttp

    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SERVER_TIME_S)) as session,
            session.get(f"{url}/api/runs/{run_id}", headers={"Accept": "application/json"}) as response,
        ):
            status = response.status
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        how = f"Start one: {store.command('serve', '--open')}. If it has another address, name it with --url."
        raise UsageError(f"no server answers at {url}", how) from error
    if status not in (200, 401, 403):
        how = "Name the server of this database with --url."
        raise UsageError(f"the server at {url} does not have this run (HTTP {status})", how)
