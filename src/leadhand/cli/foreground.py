"""Drive a run in this process: show its progress, pause it on a signal, and print the result."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Generator, Iterable
from functools import partial
from types import FrameType
from typing import Any

from leadhand.api import Leadhand
from leadhand.app.export.document import event_line
from leadhand.app.export.formatting import clean
from leadhand.cli.dispatch import Exit, code_of
from leadhand.cli.options import Output, StoreFlags
from leadhand.cli.terminal.messages import (
    answer_text,
    asked_lines,
    only_planned,
    resume_command,
    say_end,
    say_opening,
    signal_lines,
)
from leadhand.cli.terminal.progress import View
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
from leadhand.core.approval import Question
from leadhand.core.errors import LeadhandError
from leadhand.core.events import Entry, QuestionAsked
from leadhand.core.relations import open_plan
from leadhand.core.run import RunStatus
from leadhand.core.state import RunState
from leadhand.core.value import compact_json
from leadhand.flows.map import MAP, line_of
from leadhand.mapping import Mapped
from leadhand.ports import ContextStore
from leadhand.runs import Run


class Transcript:
    """Passes the entries of a run on as they are committed: to a view, and to stdout if they are streamed there.

    ``seen`` is the last entry from before this process took the run; the view shows no lines for entries up to it.
    ``how`` returns the lines that say how to send a signal, or to answer a question in time.
    """

    def __init__(self, shown: View, how: Callable[[Question], Iterable[str]], *, stream: bool, seen: int = 0) -> None:
        self._view, self._how = shown, how
        self._stream = stream
        self._seen = seen
        self._position = 0

    async def show_until(self, resting: asyncio.Future[Any], log: ContextStore, run_id: str) -> None:
        """Show entries until ``resting`` is done. Raises OutputClosed, and what the store raises."""
        following = asyncio.ensure_future(self._follow(log, run_id))
        try:
            await asyncio.wait({following, resting}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            following.cancel()
            (failed,) = await asyncio.gather(following, return_exceptions=True)
        if isinstance(failed, Exception):
            raise failed
        await self.catch_up(log, run_id)

    async def catch_up(self, log: ContextStore, run_id: str) -> None:
        """Show what has been committed. Raises OutputClosed, and what the store raises."""
        self._show(await log.read(run_id, after=self._position))

    async def _follow(self, log: ContextStore, run_id: str) -> None:
        async with contextlib.aclosing(log.follow(run_id, self._position)) as batches:
            async for batch in batches:
                self._show(batch)

    def _show(self, batch: list[Entry]) -> None:
        for entry in batch:
            self._view.take(entry, new=entry.seq > self._seen)
            if isinstance(entry.event, QuestionAsked) and entry.seq > self._seen:
                for line in self._how(entry.event.question):
                    self._view.say(line)
            self._position = entry.seq
        if self._stream:
            write("".join(as_json(event_line(entry)) + "\n" for entry in batch))


async def run_in_foreground(
    lead: Leadhand,
    run: Run,
    shown: View,
    *,
    tools: Iterable[str],
    output: Output,
    store: StoreFlags,
    why: str | None = None,
) -> int:
    """Drive a run until it ends, pauses or waits, print the result, and return the exit code.

    On a terminal it prompts for the approvals that the run waits for. ``why`` explains the models of an earlier run.
    Raises OutputClosed if the reader of stdout is gone; the run is paused then.
    """
    runtime = await lead.runtime()
    resume = resume_command(store, run.run_id, run.state.definition, tools)
    say_opening(runtime, run.run_id, run.state.definition, why=why)
    for line in signal_lines(run.state, store):
        say(line)
    how = partial(asked_lines, run.run_id, store=store)
    transcript = Transcript(shown, how, stream=output.stream_json, seen=run.state.seq)
    try:
        while (await _drive(runtime.store, run, transcript, shown, resume)).status is RunStatus.WAITING:
            if not can_prompt() or only_planned(run.state):
                break
            from leadhand.cli.terminal.prompt import prompt_for_answers  # for people at a terminal

            if not await prompt_for_answers(runtime, run.run_id):
                break
            run = await lead.resume(run.run_id)
    except OutputClosed:
        say_end(run.state, store, tools)
        raise
    except LeadhandError:
        say(f"The run is kept. Resume with: {resume}")
        raise
    await print_result(run, output)
    say_end(run.state, store, tools)
    return Exit.ANSWERED if only_planned(run.state) else code_of(run.state)


async def _drive(log: ContextStore, run: Run, transcript: Transcript, shown: View, resume: str) -> RunState:
    """Drive a run until it rests and everything is shown; pause it if its progress cannot be shown.

    Raises what ended the driving, or the showing, such as OutputClosed.
    """
    with shown.shown(), _interruptible(run, shown, resume):
        resting = asyncio.ensure_future(run.wait())
        try:
            await transcript.show_until(resting, log, run.run_id)
            return await resting
        except Exception as error:
            if not resting.done():
                closed = isinstance(error, OutputClosed)
                await run.pause("stdout was closed" if closed else "progress could not be shown")
            await resting
            raise
        finally:
            resting.cancel()
            await asyncio.gather(resting, return_exceptions=True)


@contextlib.contextmanager
def _interruptible(run: Run, shown: View, resume: str) -> Generator[None]:
    """Pause the run at the first signal inside the block, and end the process at the second: the run is durable.

    The handlers are Python's own and not the loop's, so that they also run while a tool blocks the loop.
    """
    loop = asyncio.get_running_loop()
    pausing: list[asyncio.Task[None]] = []
    signalled = False

    def pause() -> None:
        shown.say("Pausing… Press Ctrl-C again to quit now.")
        pausing.append(asyncio.ensure_future(run.pause("interrupted")))

    def handle(_number: int, _frame: FrameType | None) -> None:
        nonlocal signalled
        if signalled:
            with contextlib.suppress(Exception):  # the process ends whatever the view was doing
                shown.hide()
            say_unbuffered(f"Quit without pausing. Resume with: {resume}")
            os._exit(Exit.INTERRUPTED)
        signalled = True
        loop.call_soon_threadsafe(pause)

    handled = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # by nohup: the run continues without a terminal
        handled.remove(signal.SIGHUP)
    with contextlib.ExitStack() as stack:
        for number in handled:
            stack.callback(signal.signal, number, signal.signal(number, handle))
        yield


def new_view(output: Output) -> View:
    """Return the view for this terminal: plain lines in a pipe, or if the events themselves are printed to it."""
    if not animated() or (output.stream_json and out_is_terminal()):
        return View()
    from leadhand.cli.terminal.live_view import LiveView

    return LiveView()


async def print_result(run: Run, output: Output) -> None:
    """Print the answer of a run, or its document, to stdout."""
    if output.json:
        write_json(await run.document())
    elif output.stream_json:
        write(as_json({"type": "run", "document": await run.document()}) + "\n")
    elif only_planned(run.state) and (plan := open_plan(run.state)) is not None:
        from leadhand.cli.terminal.approval_card import plan_lines  # few runs only plan

        write("".join(f"{clean(line)}\n" for line in plan_lines(plan.args)))
    elif (finished := run.state.finished) is not None and run.state.definition.flow == MAP:
        write("".join([as_json(line_of(each)) + "\n" async for each in Mapped(run).results()]))
    elif (
        finished is not None
        and finished.value is not None
        and (run.state.definition.shape or finished.answer == compact_json(finished.value))
    ):
        write_json(finished.value)
    elif finished is not None and finished.answer.strip():
        apart, text = out_is_terminal() and err_is_terminal(), answer_text(finished.answer, finished.sources)
        if run.state.definition.shape:  # who reads JSON on stdout gets no prose there
            say(text.rstrip("\n"))
            return
        write(("\n" if apart else "") + text)
        if apart:
            say()
