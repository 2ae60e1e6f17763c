"""What is written where: answers and JSON on stdout, all else on stderr, and neither ever breaks a run."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Generator
from typing import Any, TextIO

from leadhand.domain.errors import LeadhandError

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters but tab and line feed: an answer must not steer the terminal that shows it."""


class _Streams:
    out: TextIO | None = None
    kept = False


class OutputClosed(Exception):
    """Nobody reads stdout any more."""


@contextlib.contextmanager
def own_stdout() -> Generator[None]:
    """Keep stdout for :func:`write`; what tools print meanwhile goes to stderr."""
    before = (_Streams.out, _Streams.kept)
    _Streams.out, _Streams.kept = sys.stdout, True
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Half of a pair of surrogates, or a terminal that knows fewer letters, is no reason to fail.
            stream.reconfigure(errors="backslashreplace")
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _Streams.out, _Streams.kept = before


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


def complain(what: str, how: str) -> None:
    """Say what is wrong in one line, and how to mend it in another."""
    say(f"leadhand: {one_line(what)}")
    if how:
        say(f"  {sentence(how)}")


def clean(text: str) -> str:
    """Text without control characters."""
    return _CONTROL.sub("", text)


def one_line(text: str) -> str:
    """Text on one line."""
    return " ".join(clean(text).split())


def sentence(text: str) -> str:
    """Text on one line, with a capital unless it begins with a command."""
    line = one_line(text)
    return line if line.startswith("leadhand ") else line[:1].upper() + line[1:]


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
