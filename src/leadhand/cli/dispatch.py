"""Run the command that a command line names, and turn every error into two lines and an exit code."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sys
import traceback
from collections.abc import Callable, Sequence

from leadhand.cli.errors import Exit
from leadhand.cli.options import StoreFlags
from leadhand.cli.parser import parse
from leadhand.cli.terminal.streams import (
    OutputClosed,
    abandon_stdout,
    print_error,
    reserve_stdout,
    show_warnings,
)
from leadhand.core.errors import LeadhandError, UsageError


def dispatch(arguments: Sequence[str]) -> int:
    """Run the command that these arguments name and return its exit code. Raises only KeyboardInterrupt."""
    debug, store = "--debug" in arguments, StoreFlags()
    try:
        call = parse([argument if argument.isascii() else _decoded(argument) for argument in arguments])
        if call is None:
            return Exit.ANSWERED
        store = call.flags.get("store", store)
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        with (
            reserve_stdout(),
            show_warnings(debug=debug),
            contextlib.closing(call.start()) as command,
            asyncio.Runner(loop_factory=_fast_loop()) as runner,
        ):
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
