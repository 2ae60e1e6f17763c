"""What is written where: answers and JSON on stdout, all else on stderr, and neither ever breaks a run."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any, TextIO, cast

from leadhand.app.formatting import LONGEST_LINE, clean, one_line, sentence, shortened
from leadhand.domain.errors import LeadhandError


class _Streams:
    out: TextIO | None = None
    kept = False
    err: StandardError | None = None


class StandardError:
    """Stands for stderr on a terminal: while a view draws there, whole lines go through the view.

    A tool, or ``logging.basicConfig``, may keep hold of ``sys.stderr`` long before anything is drawn.
    """

    def __init__(self, terminal: TextIO) -> None:
        self.terminal = terminal
        self._tell: Callable[[str], None] | None = None
        self._begun = ""
        self._lock = threading.RLock()

    def write(self, text: str) -> int:
        with self._lock:
            tell = self._tell
            if tell is None:
                return self.terminal.write(text)
            *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            tell(line)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.terminal, name)

    @contextlib.contextmanager
    def told_by(self, tell: Callable[[str], None]) -> Generator[None]:
        """Have lines told in this way for as long as it lasts; the end of one that was only begun comes last."""
        self._tell = tell
        try:
            yield
        finally:
            with self._lock:
                self._tell, begun, self._begun = None, self._begun, ""
            if begun:
                say(begun)


@contextlib.contextmanager
def lines_told_by(tell: Callable[[str], None]) -> Generator[None]:
    """Have what is written to stderr told in this way, where stderr is a terminal and ours."""
    with _Streams.err.told_by(tell) if _Streams.err is not None else contextlib.nullcontext():
        yield


def terminal() -> TextIO:
    """Where views draw: stderr itself."""
    return _Streams.err.terminal if _Streams.err is not None else sys.stderr


class OutputClosed(Exception):
    """Nobody reads stdout any more."""


@contextlib.contextmanager
def own_stdout() -> Generator[None]:
    """Keep stdout for :func:`write`; what tools print meanwhile, and the programs they start, goes to stderr."""
    before = (_Streams.out, _Streams.kept, _Streams.err)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Half of a pair of surrogates, or a terminal that knows fewer letters, is no reason to fail.
            stream.reconfigure(errors="backslashreplace")
    with contextlib.ExitStack() as stack:
        _Streams.out, _Streams.kept = stack.enter_context(_own_descriptor(sys.stdout)), True
        if animated():
            _Streams.err = StandardError(sys.stderr)
            stack.enter_context(contextlib.redirect_stderr(cast("TextIO", _Streams.err)))
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        try:
            yield
        finally:
            _Streams.out, _Streams.kept, _Streams.err = before


@contextlib.contextmanager
def _own_descriptor(out: TextIO | None) -> Generator[TextIO | None]:
    """A stream to where ``out`` goes, while its descriptor, 1, leads to stderr. One of another descriptor is kept."""
    own = _duplicate(out)
    if own is None:
        yield out
        return
    try:
        _lead(1, to=2)
        yield own
    finally:
        with contextlib.suppress(OSError):
            os.dup2(own.fileno(), 1)
        with contextlib.suppress(OSError):
            own.close()


def _duplicate(out: TextIO | None) -> TextIO | None:
    """Another stream to where descriptor 1 goes; None when that is not where ``out`` writes."""
    try:
        if not isinstance(out, io.TextIOWrapper) or out.fileno() != 1:
            return None
        out.flush()
        return open(os.dup(1), "w", encoding=out.encoding, errors="backslashreplace")
    except (OSError, ValueError):
        return None


def _lead(descriptor: int, *, to: int) -> None:
    try:
        os.dup2(to, descriptor)
    except OSError:  # stderr is closed: then nobody hears it
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def _out() -> TextIO | None:
    """The stream for answers; None when it was closed before we began."""
    return _Streams.out if _Streams.kept else sys.stdout


def write(text: str) -> None:
    """Write to stdout, at once. Raises OutputClosed when nobody reads it, LeadhandError when it cannot be written."""
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
            f"stdout cannot be written: {error.strerror or error}", "What was found is kept: leadhand runs list"
        ) from error


def write_line(text: str) -> None:
    """Write a line for people to stdout."""
    write(clean(text) + "\n")


def write_json(value: Any) -> None:
    """Write one JSON value to stdout: on one line in a pipe, indented on a terminal."""
    write(as_json(value, indent=2 if out_is_terminal() else None) + "\n")


def as_json(value: Any, *, indent: int | None = None) -> str:
    """JSON in letters that stdout can show."""
    encoding = (getattr(_out(), "encoding", None) or "utf-8").lower().replace("-", "")
    return json.dumps(value, ensure_ascii=encoding != "utf8", indent=indent)


def say(text: str = "") -> None:
    """Write a line to stderr; that nobody reads it is no failure."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(clean(text) + "\n")
        sys.stderr.flush()


def say_at_once(line: str) -> None:
    """Write a line to stderr past every buffer and lock: from a handler of signals, before the process ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.write(sys.stderr.fileno(), f"{clean(line)}\n".encode(errors="backslashreplace"))


class _Told(logging.Handler):
    """Says what the library warns of; and what tools raised, with the traceback, when it is told that too."""

    def emit(self, record: logging.LogRecord) -> None:
        say(shortened(f"{record.levelname.capitalize()}: {record.getMessage()}", LONGEST_LINE))
        if record.exc_info:
            kind, error, trace = record.exc_info
            for line in "".join(traceback.format_exception(kind, error, _outside(trace))).splitlines():
                say(line)


def _outside(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the steps of ours that lead to somebody else's code; whole, where it never gets there."""
    at = trace
    while at is not None and str(at.tb_frame.f_globals.get("__name__", "")).startswith("leadhand."):
        at = at.tb_next
    return at or trace


@contextlib.contextmanager
def told_warnings(*, debug: bool = False) -> Generator[None]:
    """Have warnings of the library said in a line each, and not in Python's own way; ``debug``: what tools raise."""
    logger, tools = logging.getLogger("leadhand"), logging.getLogger("leadhand.tools")
    handler = _Told(logging.DEBUG if debug else logging.WARNING)
    propagate, logger.propagate, level = logger.propagate, False, tools.level
    logger.addHandler(handler)
    if debug:
        tools.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate
        tools.setLevel(level)


def complain(what: str, how: str) -> None:
    """Say what is wrong in one line, and how to mend it in another."""
    say(f"leadhand: {one_line(what)}")
    if how:
        say(f"  {sentence(how)}")


def out_is_terminal() -> bool:
    """Whether stdout is a terminal."""
    return _is_terminal(_out())


def err_is_terminal() -> bool:
    """Whether stderr is a terminal, so that a person is there to be told."""
    return _is_terminal(sys.stderr)


def may_ask() -> bool:
    """Whether a person can be asked: stdin and stderr are terminals."""
    return _is_terminal(sys.stdin) and _is_terminal(sys.stderr)


def animated() -> bool:
    """Whether lines may be drawn again and again: on a terminal that can move its cursor."""
    return err_is_terminal() and os.environ.get("TERM", "") not in ("dumb", "unknown", "")


def width() -> int:
    """Columns of the terminal."""
    import shutil

    return shutil.get_terminal_size().columns


def abandon_stdout() -> None:
    """Let the interpreter end without a complaint about a pipe that nobody reads."""
    out = _out()
    if out is not None:
        with contextlib.suppress(OSError, ValueError):  # one that is no file has nothing to complain about either
            os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False
