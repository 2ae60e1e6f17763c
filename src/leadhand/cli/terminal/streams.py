"""Stdout for answers and JSON, stderr for everything else. A stream that fails never breaks a run."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import shutil
import sys
import traceback
from collections.abc import Generator
from typing import Any, TextIO, cast

from leadhand.app.export.formatting import LONGEST_LINE, clean, one_line, sentence, shortened
from leadhand.core.errors import LeadhandError


class _Streams:
    out: TextIO | None = None
    kept = False


class Terminal:
    """Replaces stderr on a terminal: while a view draws there, what is written goes ``through`` the view.

    A tool, or ``logging.basicConfig``, may keep a reference to ``sys.stderr`` from before anything is drawn.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.through: TextIO | None = None

    def write(self, text: str) -> int:
        """Write text to the view or to the terminal."""
        return (self.through or self.stream).write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class OutputClosed(Exception):
    """The reader of stdout is gone."""


@contextlib.contextmanager
def reserve_stdout() -> Generator[None]:
    """Reserve stdout for :func:`write`. What tools and the programs they start print goes to stderr."""
    before = (_Streams.out, _Streams.kept)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A lone surrogate, or a terminal with a smaller character set, must not raise.
            stream.reconfigure(errors="backslashreplace")
    with contextlib.ExitStack() as stack:
        _Streams.out, _Streams.kept = _own_descriptor(sys.stdout, stack) or sys.stdout, True
        if animated():
            stack.enter_context(contextlib.redirect_stderr(cast("TextIO", Terminal(sys.stderr))))
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        try:
            yield
        finally:
            _Streams.out, _Streams.kept = before


def _own_descriptor(out: TextIO | None, stack: contextlib.ExitStack) -> TextIO | None:
    """Return a duplicate of descriptor 1, which leads to stderr until ``stack`` ends; None if ``out`` is elsewhere."""
    try:
        if not isinstance(out, io.TextIOWrapper) or out.fileno() != 1:
            return None
        out.flush()
        own = io.TextIOWrapper(os.fdopen(os.dup(1), "wb"), out.encoding, "backslashreplace", write_through=True)
    except (OSError, ValueError):
        return None
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        _to_nowhere(1)

    def give_back() -> None:
        with contextlib.suppress(OSError):
            os.dup2(own.fileno(), 1)
        with contextlib.suppress(OSError):
            own.close()

    stack.callback(give_back)
    return own


def _to_nowhere(descriptor: int) -> None:
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), descriptor)


def _out() -> TextIO | None:
    """The stream for answers; None if it was closed when the process started."""
    return _Streams.out if _Streams.kept else sys.stdout


def own_stdout() -> TextIO:
    """Return stdout as UTF-8, for a protocol that has it alone. Raises OutputClosed if it is closed."""
    if (out := _out()) is None:
        raise OutputClosed
    cast("io.TextIOWrapper", out).reconfigure(encoding="utf-8")
    return out


def write(text: str) -> None:
    """Write to stdout and flush. Raises OutputClosed if the reader is gone, LeadhandError for any other failure."""
    out = _out()
    if out is None:
        raise OutputClosed
    try:
        out.write(text)
        out.flush()
    except (BrokenPipeError, ValueError) as error:
        raise OutputClosed from error
    except OSError as error:
        raise LeadhandError(
            f"cannot write to stdout: {error.strerror or error}",
            "The result is kept. List your runs: leadhand runs list",
        ) from error


def write_line(text: str) -> None:
    """Write a line of text to stdout, without control characters."""
    write(clean(text) + "\n")


def write_json(value: Any) -> None:
    """Write one JSON value to stdout: on one line in a pipe, indented on a terminal."""
    write(as_json(value, indent=2 if out_is_terminal() else None) + "\n")


def as_json(value: Any, *, indent: int | None = None) -> str:
    """Return JSON, with non-ASCII characters escaped unless stdout is UTF-8; on a terminal, control characters, too."""
    written = json.dumps(value, ensure_ascii=not out_is_utf8(), indent=indent)
    return "".join(map(_escaped, written)) if out_is_terminal() else written


def _escaped(letter: str) -> str:
    """Return a character of JSON, escaped if it could control the terminal or change the direction of writing."""
    return letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1]


def out_is_utf8() -> bool:
    """Whether stdout can express every character."""
    return (getattr(_out(), "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"


def say(text: str = "") -> None:
    """Write a line to stderr. Failing to is not an error."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(clean(text) + "\n")
        sys.stderr.flush()


def say_unbuffered(line: str) -> None:
    """Write a line to stderr past every buffer and lock, from a signal handler before the process ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.write(sys.stderr.fileno(), f"{clean(line)}\n".encode(errors="backslashreplace"))


class _LogLines(logging.Handler):
    """Writes log records of the library to stderr, one line each, with tracebacks of tools after their line."""

    def emit(self, record: logging.LogRecord) -> None:
        say(shortened(f"{record.levelname.capitalize()}: {record.getMessage()}", LONGEST_LINE))
        if record.exc_info:
            for line in "".join(traceback.format_exception(*record.exc_info)).splitlines():
                say(line)


@contextlib.contextmanager
def show_warnings(*, debug: bool = False) -> Generator[None]:
    """Write warnings of the library to stderr, one line each; ``debug`` adds what tools raise."""
    logger, tools = logging.getLogger("leadhand"), logging.getLogger("leadhand.tools")
    handler = _LogLines(logging.DEBUG if debug else logging.WARNING)
    propagate, logger.propagate, level = logger.propagate, False, tools.level
    logger.addHandler(handler)
    if debug:
        tools.setLevel(logging.DEBUG)
    driver = logging.getLogger("psycopg")  # the store reports a lost connection once
    before = driver.level
    driver.setLevel(logging.DEBUG if debug else logging.CRITICAL)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate
        tools.setLevel(level)
        driver.setLevel(before)


def print_error(what: str, how: str) -> None:
    """Write an error to stderr: one line for what is wrong, one for how to fix it."""
    say(f"leadhand: {one_line(what)}")
    if how:
        say(f"  {sentence(how)}")


def out_is_terminal() -> bool:
    """Whether stdout is a terminal."""
    return _is_terminal(_out())


def err_is_terminal() -> bool:
    """Whether stderr is a terminal."""
    return _is_terminal(sys.stderr)


def can_prompt() -> bool:
    """Whether we can prompt: stdin and stderr are terminals."""
    return _is_terminal(sys.stdin) and _is_terminal(sys.stderr)


def animated() -> bool:
    """Whether lines can be redrawn: stderr is a terminal that can move its cursor."""
    return err_is_terminal() and os.environ.get("TERM", "") not in ("dumb", "unknown", "")


def width() -> int:
    """Columns of the terminal."""
    return shutil.get_terminal_size().columns


def abandon_stdout() -> None:
    """Point stdout at /dev/null, so that the interpreter can flush it at exit although its reader is gone."""
    out = _out()
    if out is not None:
        with contextlib.suppress(OSError, ValueError):  # a stream without a descriptor has nothing to flush
            _to_nowhere(out.fileno())


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False
