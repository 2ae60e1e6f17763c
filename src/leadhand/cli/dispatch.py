"""Run the command that a command line names, and turn every error into two lines and an exit code."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

from leadhand.cli.options import StoreFlags
from leadhand.cli.parser import parse
from leadhand.cli.terminal.streams import (
    OutputClosed,
    abandon_stdout,
    print_error,
    reserve_stdout,
    show_warnings,
)
from leadhand.core.errors import Failure, FailureClass, LeadhandError, UsageError
from leadhand.core.run import Gap, RunStatus

if TYPE_CHECKING:
    from leadhand.core.state import RunState


class Exit(IntEnum):
    """The exit codes. ``docs/reference/cli.md`` promises them to scripts."""

    ANSWERED = 0
    FAILED = 1
    USAGE = 2
    PARTIAL = 3
    WAITING = 4
    EXHAUSTED = 5
    CONFIGURATION = 6
    INTERRUPTED = 130
    PIPE_CLOSED = 141
    """The reader closed stdout: 128 + SIGPIPE, as shells report it."""


OF_STATUS = {
    RunStatus.SUCCEEDED: Exit.ANSWERED,
    RunStatus.PARTIAL: Exit.PARTIAL,
    RunStatus.WAITING: Exit.WAITING,
    RunStatus.PAUSED: Exit.INTERRUPTED,
}
"""Every other status exits with FAILED: a run that still counts as running here has lost its process."""

CREDENTIALS = frozenset({"bad_key", "unknown_model", "not_an_api", "quota", "configuration"})
"""Types of ``unavailable`` failures that are configuration errors when they end a whole run."""


def exit_code(status: RunStatus, failure: Failure | None, gaps: Sequence[Gap]) -> Exit:
    """Return the exit code of a run: that of its status, unless a limit or the configuration ended it.

    A used-up limit takes precedence over a partial answer. A run that failed for another reason does not count as out
    of budget, even if its subtasks never ran.
    """
    if status is RunStatus.FAILED and failure is not None:
        if failure.class_ == FailureClass.UNAVAILABLE and failure.type in CREDENTIALS:
            return Exit.CONFIGURATION
        return Exit.EXHAUSTED if failure.class_ == FailureClass.EXHAUSTED else Exit.FAILED
    classes = {each.class_ for each in (*gaps, *filter(None, [failure]))}
    if status in (RunStatus.PARTIAL, RunStatus.FAILED) and FailureClass.EXHAUSTED in classes:
        return Exit.EXHAUSTED
    return OF_STATUS.get(status, Exit.FAILED)


def code_of(state: RunState) -> Exit:
    """Return the exit code of a run at rest."""
    finished = state.finished
    return exit_code(state.status, finished and finished.failure, finished.gaps if finished is not None else ())


def dispatch(arguments: Sequence[str]) -> int:
    """Run the command that these arguments name and return its exit code. Raises only KeyboardInterrupt."""
    debug, store = "--debug" in arguments, StoreFlags()
    try:
        call = parse([argument if argument.isascii() else _decoded(argument) for argument in arguments])
        if call is None:
            return Exit.ANSWERED
        store = call.flags.get("store", store)
        with (
            reserve_stdout(),
            show_warnings(debug=debug),
            contextlib.closing(call.start()) as command,
            asyncio.Runner(loop_factory=_fast_loop()) as runner,
        ):
            if not gc.isenabled():  # a command of its own process begins
                gc.freeze()
                gc.enable()
                signal.signal(signal.SIGINT, signal.default_int_handler)  # for asyncio, which cancels the command
            return runner.run(command) or Exit.ANSWERED
    except (OutputClosed, BrokenPipeError):
        abandon_stdout()
        return Exit.PIPE_CLOSED
    except LeadhandError as error:
        if debug:
            traceback.print_exc()
        how = error.how
        if isinstance(error, UsageError) and error.continued is not None:
            from leadhand.cli.terminal.messages import flags_needed

            how += store.command(*flags_needed(store, error.continued)).removeprefix("leadhand")
        print_error(error.what, how)
        return error.exit_code
    except Exception as error:
        if debug:
            traceback.print_exc()
        if isinstance(error, UnicodeEncodeError) and error.encoding == sys.getfilesystemencoding():
            print_error(f"the locale cannot express the file name {error.object!r}", "Set LC_ALL=C.UTF-8.")
            return Exit.USAGE
        print_error(
            f"internal error: {type(error).__name__}: {error}",
            "Add --debug to see the traceback. If a run had started, leadhand runs list shows it.",
        )
        return Exit.FAILED


def _fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes an event loop of uvloop, if that is installed, and if stdin, stdout and stderr are open.

    Where one of them is closed, a socket of the loop gets its descriptor, which uvloop cannot close: it aborts.
    """
    try:
        for descriptor in range(3):
            os.fstat(descriptor)
        import uvloop
    except (ImportError, OSError):
        return None
    return uvloop.new_event_loop


def _decoded(argument: str) -> str:
    """Return an argument as UTF-8, whatever the locale says. Raises UsageError if it cannot be stored or shown."""
    try:
        return os.fsencode(argument).decode()
    except UnicodeError as error:
        shown = argument.encode(errors="backslashreplace").decode()
        raise UsageError(f"the argument '{shown}' is not valid UTF-8", "Encode it as UTF-8.") from error
