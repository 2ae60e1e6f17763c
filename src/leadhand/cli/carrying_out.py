"""Carries out a command line: finds the command, runs it, and turns whatever goes wrong into two lines and a code."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import traceback
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from leadhand.cli import plain
from leadhand.cli.console import OutputClosed, abandon_stdout, complain, own_stdout, told_warnings
from leadhand.cli.exit_codes import Exit
from leadhand.domain.errors import LeadhandError, UsageError


def carry_out(arguments: Sequence[str]) -> int:
    """Carry out the command that these arguments call for; the exit code. Raises nothing but KeyboardInterrupt."""
    debug = "--debug" in arguments
    try:
        _check_letters(arguments)
        function, args, kwargs = plain.read(arguments) or _parsed(arguments)
        if not inspect.iscoroutinefunction(function):
            function(*args, **kwargs)  # help, which belongs on stdout
            return Exit.ANSWERED
        with own_stdout(), told_warnings(debug=debug):
            try:
                return _run(function(*args, **kwargs))
            except (OutputClosed, BrokenPipeError):
                abandon_stdout()
                return Exit.PIPE_CLOSED
    except LeadhandError as error:
        if debug:
            traceback.print_exc()
        complain(error.what, error.how)
        return error.exit_code
    except BrokenPipeError:
        abandon_stdout()
        return Exit.PIPE_CLOSED
    except Exception as error:
        if debug:
            traceback.print_exc()
        complain(
            f"internal error: {type(error).__name__}: {error}",
            "Run it again with --debug for the traceback; the run is kept: leadhand runs list",
        )
        return Exit.FAILED


def _check_letters(arguments: Sequence[str]) -> None:
    """Raise UsageError for an argument that is not in UTF-8: it can be neither kept nor shown."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError as error:
            shown = argument.encode(errors="backslashreplace").decode()
            raise UsageError(f"the argument '{shown}' is no text in UTF-8", "Give it in UTF-8.") from error


def _parsed(arguments: Sequence[str]) -> tuple[Callable[..., Any], Sequence[Any], dict[str, Any]]:
    from leadhand.cli.parser import parse

    return parse(arguments)


def _run(command: Coroutine[Any, Any, int]) -> int:
    """Run a command in a loop of its own."""
    with contextlib.closing(command):
        return asyncio.run(command)
