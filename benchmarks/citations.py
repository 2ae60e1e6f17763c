"""Measure how many distorted and invented citations the checks of reports catch, among 2 and among 150 sources.

Run ``uv run python -m benchmarks.citations``; ``--write`` renews ``docs/explanation/false-citations.md``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import process_time

from tests.citations.suite import SIZES, citing_all, tables

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "false-citations.md"
BEGIN, END = "<!-- measured -->", "<!-- end of measured -->"


def main() -> None:
    measured = tables()
    begun = process_time()
    sentences = len(citing_all.__wrapped__("known", SIZES[-1]))
    print(
        f"{measured}\n\n{process_time() - begun:.2f} s of CPU for {sentences} sentences that cite {SIZES[-1]} sources"
    )
    if "--write" in sys.argv:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{measured}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
