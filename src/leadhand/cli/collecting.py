"""The garbage collector of a process that does nothing but drive a run."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Generator

THRESHOLDS = (20_000, 50, 50)
"""A run makes many small values and few cycles: Python's own (700, 10, 10) has it looked through again and again."""


@contextlib.contextmanager
def seldom() -> Generator[None]:
    """Have the collector look seldom, and not at what is imported by now. A library has no business to do so."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
