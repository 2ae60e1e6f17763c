"""Public benchmarks, carried out as work orders and without a model. Fails if a goal is missed.

``scripts/public-benchmarks`` installs what they need.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from pathlib import Path

from .measuring import Sample

RESULTS = Path(__file__).parents[1] / "results.md"
NAMES = ("bfcl", "dojo")


def write(name: str, table: str) -> None:
    """Put a table between its marks in the results."""
    marked = re.compile(rf"(<!-- {name}: .*? -->\n).*?(\n<!-- end of {name} -->)", re.DOTALL)
    text, count = marked.subn(lambda found: f"{found[1]}\n{table}\n{found[2]}", RESULTS.read_text())
    assert count == 1, f"{RESULTS} has no place for {name}"
    RESULTS.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", help=f"which: {', '.join(NAMES)}; default: both")
    parser.add_argument("--all", action="store_true", help="everything, not 20 tasks of each")
    parser.add_argument("--only", default="", help="tasks whose name contains this")
    parser.add_argument("--write", action="store_true", help="write the tables into results.md")
    given = parser.parse_args()
    missed: list[str] = []
    for name in given.name or NAMES:
        measured = importlib.import_module(f"benchmarks.public.{name}").measure(
            Sample(None if given.all or given.only else 20, given.only)
        )
        print(f"\n{measured.markdown()}", flush=True)
        if given.write:
            write(name, measured.markdown())
        missed += measured.missed
    print(*missed, sep="\n", file=sys.stderr)
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
