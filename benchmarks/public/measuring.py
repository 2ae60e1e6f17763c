"""What the public benchmarks share: a sample, processes for every core, and tables."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple, TypeVar

_J = TypeVar("_J")
_R = TypeVar("_R")


class Sample(NamedTuple):
    """Which jobs are carried out: ``most``, spread evenly (None: all), of those whose name contains ``only``."""

    most: int | None = None
    only: str = ""

    def of(self, jobs: Sequence[_J], name_of: Callable[[_J], str]) -> list[_J]:
        """Return the chosen jobs, which are the same every time."""
        found = [job for job in jobs if self.only in name_of(job)]
        if self.most is None or self.most >= len(found):
            return found
        return [found[(2 * n + 1) * len(found) // (2 * self.most)] for n in range(self.most)]


class Measured(NamedTuple):
    """A table, whose first row has the heads, and each goal that was missed."""

    table: list[tuple[Any, ...]]
    missed: list[str]

    def markdown(self) -> str:
        """Return the table as Markdown."""
        heads, *rows = ([f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in self.table)
        marks = ["---:" if isinstance(cell, int) else "---" for cell in self.table[-1]]
        return "\n".join(f"| {' | '.join(row)} |" for row in (heads, marks, *rows))


def carried_out(carry_out: Callable[[_J], _R], jobs: Sequence[_J]) -> tuple[list[_R], float]:
    """Carry out jobs in forked processes, one for each core; return the results in order, and the seconds it took."""
    began = time.perf_counter()
    with ProcessPoolExecutor(max_workers=os.cpu_count(), mp_context=multiprocessing.get_context("fork")) as pool:
        return list(pool.map(carry_out, jobs)), time.perf_counter() - began
