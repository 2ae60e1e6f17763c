"""Carries a run through in the foreground: shows it, parks it when interrupted, prints what it came to."""

from __future__ import annotations

import asyncio
import contextlib

from leadhand.api import Leadhand
from leadhand.cli.collecting import seldom
from leadhand.cli.console import (
    OutputClosed,
    animated,
    as_json,
    err_is_terminal,
    may_ask,
    out_is_terminal,
    say,
    write,
    write_json,
)
from leadhand.cli.exit_codes import Exit, exit_code
from leadhand.cli.lines import Lines, View, view
from leadhand.cli.losses import losses
from leadhand.cli.options import Output, Place
from leadhand.cli.parking import Parking
from leadhand.cli.standstill import noticed
from leadhand.cli.telling import answer_text, asked_lines, closing, say_lines, say_table
from leadhand.domain.document import event_line
from leadhand.domain.errors import LeadhandError
from leadhand.domain.events import Entry
from leadhand.domain.run import RunStatus
from leadhand.domain.state import RunState
from leadhand.ports import ContextStore
from leadhand.runs import Run

MOST_ASKED = 3
"""Questions that the last lines of a waiting run name."""


class Feed:
    """Hands the entries of a run on as they are committed: to a view, and to stdout when they are asked for."""

    def __init__(self, store: ContextStore, run_id: str, shown: View, *, stream: bool, seen: int = 0) -> None:
        self._store = store
        self._run_id = run_id
        self._view = shown
        self._stream = stream
        self._seen = seen
        self._position = 0
        self._moved = asyncio.Event()
        self.closed = False

    async def read(self) -> None:
        """Read until it is cancelled, or nobody reads stdout any more. Raises what the store raises."""
        async with contextlib.aclosing(self._store.follow(self._run_id, self._position)) as batches:
            async for batch in batches:
                try:
                    self._hand_on(batch)
                except OutputClosed:
                    self.closed = True
                    return

    def _hand_on(self, batch: list[Entry]) -> None:
        for entry in batch:
            self._view.take(entry, new=entry.seq > self._seen)
        if self._stream:
            write("".join(as_json(event_line(entry)) + "\n" for entry in batch))
        self._position = batch[-1].seq
        self._moved.set()

    async def reach(self, seq: int, reading: asyncio.Future[None]) -> None:
        """Wait until the entry of this sequence was handed on, or the reading has ended."""
        while self._position < seq and not reading.done():
            self._moved.clear()
            moved = asyncio.ensure_future(self._moved.wait())
            await asyncio.wait({moved, reading}, return_when=asyncio.FIRST_COMPLETED)
            moved.cancel()


async def carry_through(lead: Leadhand, run: Run, shown: View, *, output: Output, place: Place, resume: str) -> int:
    """Drive a run until it is over, or rests, and print what it came to; the exit code.

    On a terminal it asks for the approvals the run waits for. ``resume`` is the command that takes the run up again.
    Raises OutputClosed when nobody reads stdout any more: the run is parked then.
    """
    store = (await lead.runtime()).store
    feed = Feed(store, run.run_id, shown, stream=output.stream_json, seen=run.state.seq)
    say_table(iter(await losses(store, run.state)))
    try:
        state = await _drive(lead, run, feed, shown, resume)
    except LeadhandError:
        say(f"The run is kept. Resume with: {resume}")
        raise
    while state.status is RunStatus.WAITING and may_ask() and not feed.closed:
        from leadhand.cli.asking import ask_for_approvals

        if not await ask_for_approvals(await lead.runtime(), run.run_id):
            break
        run = await lead.resume(run.run_id)
        state = await _drive(lead, run, feed, shown, resume)
    if not feed.closed:
        await print_outcome(run, state, output)
    say_end(state, place, resume=resume)
    if feed.closed:
        raise OutputClosed
    return code_of(state)


async def _drive(lead: Leadhand, run: Run, feed: Feed, shown: View, resume: str) -> RunState:
    """Drive a run until it rests, with everything shown and written that happened until then."""
    runtime = await lead.runtime()
    store = runtime.store
    with seldom(), shown.shown(), Parking(run, shown, resume).on_signals(), noticed(runtime.toolbox, shown.tell):
        reading = asyncio.ensure_future(feed.read())
        resting = asyncio.ensure_future(run.wait())
        try:
            await asyncio.wait({reading, resting}, return_when=asyncio.FIRST_COMPLETED)
            if not resting.done():
                await run.pause("nobody reads its output" if feed.closed else "it cannot be shown")
            state = await resting
            if not reading.done():
                await feed.reach((await store.run(run.run_id)).head_seq, reading)
        finally:
            for task in (reading, resting):
                task.cancel()
            seen, _ = await asyncio.gather(reading, resting, return_exceptions=True)
        if isinstance(seen, Exception):
            raise seen
        return state


def new_view(output: Output) -> View:
    """The view of this terminal; plain lines where the events themselves go to the same one."""
    return Lines() if output.stream_json and animated() and out_is_terminal() else view()


def code_of(state: RunState) -> Exit:
    """The exit code of a run at rest."""
    finished = state.finished
    if finished is None:
        return exit_code(state.status, None, [])
    failure = finished.failure.model_dump(mode="json") if finished.failure is not None else None
    return exit_code(state.status, failure, [gap.model_dump(mode="json") for gap in finished.gaps])


def say_end(state: RunState, place: Place, *, resume: str) -> None:
    """The last lines on stderr: what the run came to, and how to go on with one that can."""
    say_lines(closing(state, place.command("runs", "show", state.run_id)))
    if state.status is RunStatus.PAUSED:
        say(f"Parked. Resume with: {resume}")
    elif state.status is RunStatus.WAITING:
        _say_asked(state, place)
        say(f"Then go on, or be asked on a terminal: {resume}")


def _say_asked(state: RunState, place: Place) -> None:
    """What a waiting run asks, and how it is answered from anywhere."""
    asked = list(asked_lines(state, place))
    say(f"Waiting for a person's answer. All that is asked: {place.command('approvals', 'list')}")
    for line in asked[:MOST_ASKED]:
        say(f"  {line}")
    if len(asked) > MOST_ASKED:
        say(f"  and {len(asked) - MOST_ASKED:,} more")


async def print_outcome(run: Run, state: RunState, output: Output) -> None:
    """What the run came to, on stdout: its answer, or the document."""
    if output.json:
        write_json(await run.document())
    elif output.stream_json:
        write(as_json({"type": "run", "document": await run.document()}) + "\n")
    elif state.finished is not None and state.finished.answer.strip():
        apart = out_is_terminal() and err_is_terminal()
        write(("\n" if apart else "") + answer_text(state.finished.answer, state.finished.sources, run_id=state.run_id))
        if apart:
            say()
