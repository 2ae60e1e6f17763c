"""What is written where: answers and JSON on stdout, all else on stderr, and neither ever breaks a run."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import sys
from collections.abc import Generator
from typing import Any, TextIO

from leadhand.domain.errors import LeadhandError

_CONTROL = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"  # titles, links, device strings
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
"""Escape sequences, and control characters but tab and line feed: an answer must not steer the terminal it is on."""
LONGEST_LINE = 300
"""Characters of a line of progress: what tools and models say may be longer than anybody reads."""


class _Streams:
    out: TextIO | None = None
    kept = False


class OutputClosed(Exception):
    """Nobody reads stdout any more."""


@contextlib.contextmanager
def own_stdout() -> Generator[None]:
    """Keep stdout for :func:`write`; what tools print meanwhile, and the programs they start, goes to stderr."""
    before = (_Streams.out, _Streams.kept)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Half of a pair of surrogates, or a terminal that knows fewer letters, is no reason to fail.
            stream.reconfigure(errors="backslashreplace")
    with contextlib.ExitStack() as stack:
        _Streams.out, _Streams.kept = stack.enter_context(_own_descriptor(sys.stdout)), True
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        try:
            yield
        finally:
            _Streams.out, _Streams.kept = before


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


class _Told(logging.Handler):
    """Says what the library warns of."""

    def emit(self, record: logging.LogRecord) -> None:
        say(shortened(f"{record.levelname.capitalize()}: {record.getMessage()}", LONGEST_LINE))


@contextlib.contextmanager
def told_warnings() -> Generator[None]:
    """Have warnings of the library said in a line each, and not in Python's own way."""
    logger = logging.getLogger("leadhand")
    handler = _Told(logging.WARNING)
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate


def complain(what: str, how: str) -> None:
    """Say what is wrong in one line, and how to mend it in another."""
    say(f"leadhand: {one_line(what)}")
    if how:
        say(f"  {sentence(how)}")


def clean(text: str) -> str:
    """Text without control characters and escape sequences."""
    return _CONTROL.sub("", text)


def one_line(text: str) -> str:
    """Text on one line."""
    return " ".join(clean(text).split())


def sentence(text: str) -> str:
    """Text on one line, with a capital unless it begins with a command."""
    line = one_line(text)
    return line if line.startswith("leadhand ") else line[:1].upper() + line[1:]


def cut(text: str, most: int = LONGEST_LINE) -> str:
    """Text in a line of its own, columns kept, and of at most so many characters."""
    line = " ".join(clean(text[: 4 * most]).splitlines())
    return line if len(line) <= most and len(text) <= 4 * most else line[: most - 1].rstrip() + "…"


def shortened(text: str, width: int) -> str:
    """Text on one line and of at most ``width`` characters."""
    line = one_line(text)
    return line if len(line) <= width else line[: max(1, width - 1)].rstrip() + "…"


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
