"""Drive a run in this process: show its progress, pause it on a signal, and print the result."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Generator, Iterator
from types import FrameType

from leadhand.api import Leadhand
from leadhand.cli.errors import Exit, exit_code
from leadhand.cli.options import Output, StoreFlags
from leadhand.cli.terminal.messages import answer_text, approval_lines, closing, say_lines
from leadhand.cli.terminal.plain_view import PlainView, View, view
from leadhand.cli.terminal.streams import (
    OutputClosed,
    animated,
    as_json,
    can_prompt,
    err_is_terminal,
    out_is_terminal,
    say,
    say_unbuffered,
    write,
    write_json,
)
from leadhand.domain.document import event_line
from leadhand.domain.errors import LeadhandError
from leadhand.domain.events import Entry
from leadhand.domain.run import RunStatus
from leadhand.domain.state import RunState
from leadhand.ports import ContextStore
from leadhand.runs import Run

SHOWN_APPROVALS = 3


class Transcript:
    """Passes the entries of a run on as they are committed: to a view, and to stdout if they are streamed there.

    ``seen`` is the last entry from before this process took the run: up to it the view is filled without a word.
    """

    def __init__(self, shown: View, *, stream: bool, seen: int = 0) -> None:
        self._view = shown
        self._stream = stream
        self._seen = seen
        self.position = 0

    async def follow(self, log: ContextStore, run_id: str) -> None:
        """Show entries until it is cancelled. Raises OutputClosed, and what the store raises."""
        async with contextlib.aclosing(log.follow(run_id, self.position)) as batches:
            async for batch in batches:
                self._show(batch)

    async def catch_up(self, log: ContextStore, run_id: str) -> None:
        """Show the committed entries that were not shown yet. Raises as :meth:`follow` does."""
        self._show(await log.read(run_id, after=self.position))

    def _show(self, batch: list[Entry]) -> None:
        for entry in batch:
            self._view.take(entry, new=entry.seq > self._seen)
            self.position = entry.seq
        if self._stream:
            write("".join(as_json(event_line(entry)) + "\n" for entry in batch))


async def run_in_foreground(
    lead: Leadhand, run: Run, shown: View, *, output: Output, store: StoreFlags, resume: str
) -> int:
    """Drive a run until it ends, pauses or waits, print the result, and return the exit code.

    On a terminal it prompts for the approvals that the run waits for. ``resume`` is the command that resumes the run.
    Raises OutputClosed if the reader of stdout is gone; the run is paused then.
    """
    log = (await lead.runtime()).store
    transcript = Transcript(shown, stream=output.stream_json, seen=run.state.seq)
    try:
        while True:
            state, closed = await _drive(log, run, transcript, shown, resume)
            if closed or state.status is not RunStatus.WAITING or not can_prompt():
                break
            from leadhand.cli.terminal.prompt import prompt_for_approvals

            if not await prompt_for_approvals(await lead.runtime(), run.run_id):
                break
            run = await lead.resume(run.run_id)
    except LeadhandError:
        say(f"The run is kept. Resume with: {resume}")
        raise
    if not closed:
        await print_result(run, state, output)
    say_end(state, store, resume=resume)
    if closed:
        raise OutputClosed
    return code_of(state)


async def _drive(
    log: ContextStore, run: Run, transcript: Transcript, shown: View, resume: str
) -> tuple[RunState, bool]:
    """Drive a run until it rests and everything was shown; the state, and whether the reader of stdout is gone."""
    with shown.shown(), _Interrupts(run, shown, resume).handled():
        following = asyncio.ensure_future(transcript.follow(log, run.run_id))
        resting = asyncio.ensure_future(run.wait())
        try:
            await asyncio.wait({following, resting}, return_when=asyncio.FIRST_COMPLETED)
            failed = following.exception() if following.done() else None
            if failed is not None and not resting.done():
                closed = isinstance(failed, OutputClosed)
                await run.pause("stdout was closed" if closed else "progress could not be shown")
            state = await resting
        finally:
            for task in (following, resting):
                task.cancel()
            shown_all, _ = await asyncio.gather(following, resting, return_exceptions=True)
        if isinstance(shown_all, Exception):
            if isinstance(shown_all, OutputClosed):
                return state, True
            raise shown_all
        try:
            await transcript.catch_up(log, run.run_id)
        except OutputClosed:
            return state, True
        return state, False


class _Interrupts:
    """The first signal pauses the run, the second one ends the process: the run is durable either way.

    The handlers are Python's own and not the loop's, so that they also run while a tool blocks the loop.
    """

    def __init__(self, run: Run, shown: View, resume: str) -> None:
        self._run = run
        self._view = shown
        self._resume = resume
        self._loop = asyncio.get_running_loop()
        self._signalled = False
        self._pausing: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def handled(self) -> Generator[None]:
        """Handle signals in this way inside the block."""
        with contextlib.ExitStack() as stack:
            for number in _signals():
                stack.callback(signal.signal, number, signal.signal(number, self._handle))
            yield

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self._signalled:
            self._quit()
        self._signalled = True
        self._loop.call_soon_threadsafe(self._pause)

    def _pause(self) -> None:
        self._view.say("Pausing… Press Ctrl-C again to quit now.")
        self._pausing = asyncio.ensure_future(self._run.pause("interrupted"))

    def _quit(self) -> None:
        with contextlib.suppress(Exception):  # the process ends whatever the view was doing
            self._view.hide()
        say_unbuffered(f"Quit without pausing. Resume with: {self._resume}")
        os._exit(Exit.INTERRUPTED)


def _signals() -> Iterator[signal.Signals]:
    yield signal.SIGINT
    yield signal.SIGTERM
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup ignores it: the run continues without a terminal
        yield signal.SIGHUP


def new_view(output: Output) -> View:
    """Return the view for this terminal: plain lines if the events themselves are printed to it."""
    return PlainView() if output.stream_json and animated() and out_is_terminal() else view()


def code_of(state: RunState) -> Exit:
    """Return the exit code of a run at rest."""
    finished = state.finished
    if finished is None:
        return exit_code(state.status, None, [])
    failure = finished.failure.model_dump(mode="json") if finished.failure is not None else None
    return exit_code(state.status, failure, [gap.model_dump(mode="json") for gap in finished.gaps])


async def print_result(run: Run, state: RunState, output: Output) -> None:
    """Print the answer of a run, or its document, to stdout."""
    if output.json:
        write_json(await run.document())
    elif output.stream_json:
        write(as_json({"type": "run", "document": await run.document()}) + "\n")
    elif state.finished is not None and state.finished.answer.strip():
        apart = out_is_terminal() and err_is_terminal()
        write(("\n" if apart else "") + answer_text(state.finished.answer, state.finished.sources, run_id=state.run_id))
        if apart:
            say()


def say_end(state: RunState, store: StoreFlags, *, resume: str) -> None:
    """Say how the run ended, and how to resume it if it can be resumed."""
    say_lines(closing(state, store.command("runs", "show", state.run_id)))
    if state.status is RunStatus.PAUSED:
        say(f"Paused. Resume with: {resume}")
    elif state.status is RunStatus.WAITING:
        lines = list(approval_lines(state, store))
        say(f"Waiting for approval. List all requests: {store.command('approvals', 'list')}")
        for line in lines[:SHOWN_APPROVALS]:
            say(f"  {line}")
        if len(lines) > SHOWN_APPROVALS:
            say(f"  and {len(lines) - SHOWN_APPROVALS:,} more")
        say(f"Then resume the run, or answer on a terminal: {resume}")
