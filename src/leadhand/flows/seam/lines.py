"""The lines at which coroutines of users wait, and those at which they block the loop."""

from __future__ import annotations

from typing import Any

LONG_S = 1.0
"""Seconds of a coroutine between two awaits that are reported, since it blocks all runs of the process."""
_FRAMES = ("cr_frame", "gi_frame", "ag_frame")
_INNER = ("cr_await", "gi_yieldfrom", "ag_await")


def blocked(line: str, seconds: float, how: str) -> str:
    """Return what is reported of a coroutine that took these seconds between two awaits; "" if they are few."""
    return f"line {line} blocked the loop for {seconds:.1f} s: {how}" if seconds > LONG_S else ""


def waits_at(coroutine: Any, file: str = "", ours: str = "") -> str:
    """Return the innermost line of a file at which a coroutine waits; "?" if it waits in another file.

    Without a ``file``, it is that of the outermost frame that is not in the directory ``ours``.
    """
    line, inner = "?", coroutine
    while inner is not None:
        frame = next((found for name in _FRAMES if (found := getattr(inner, name, None)) is not None), None)
        if frame is not None:
            name = frame.f_code.co_filename
            file = file or ("" if name.startswith(ours) else name)
            if name == file:
                line = place(file, frame.f_lineno)
        inner = next((found for name in _INNER if (found := getattr(inner, name, None)) is not None), None)
    return line


def place(file: str, line: int) -> str:
    """Return how a line is named: ``12 of my_flow.py``."""
    return f"{line} of {file.rpartition('/')[2]}"
