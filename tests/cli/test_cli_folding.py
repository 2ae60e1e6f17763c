"""Lines for people end at words on a terminal, and commands stay whole, to be copied."""

from __future__ import annotations

from typing import Any

import pytest
from cli.terminals import ESCAPES, rest_of

from leadhand.app.export.formatting import folded


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("short", ["short"]),
        ("limits   $1.00 · 30 min · 3 work orders · 9", ["limits   $1.00 · 30 min · 3 work orders", "         · 9"]),
        (
            "  ✗ wo-001.75  price of SKU-0075 · failed · no",
            ["  ✗ wo-001.75  price of SKU-0075 ·", "    failed · no"],
        ),
        (
            "1 part missing. Retry with: leadhand runs retry 01m83xeecbxx",
            ["1 part missing. Retry with:", "leadhand runs retry 01m83xeecbxx"],
        ),
        (
            "1 part missing. Retry with: leadhand runs retry 01m83xeecbxx --tools a/long/path/to/shop.py",
            ["1 part missing. Retry with: leadhand runs retry 01m83xeecbxx --tools a/long/path/to/shop.py"],
        ),
        ("two\nlines, which are not a line for people but the text of a model", None),
    ],
)
def test_a_line_breaks_at_words_under_its_own_column(line: str, lines: list[str] | None) -> None:
    assert folded(line, 40).split("\n") == (lines or line.split("\n"))


@pytest.mark.parametrize("columns", [40, 80])
def test_no_word_is_cut_at_the_edge_of_a_terminal(leadhand: Any, terminal: Any, columns: int) -> None:
    child = terminal(
        "run", "--offline", "Weather in Paris and Berlin, and the way from Paris to Berlin", columns=columns
    )
    text = ESCAPES.sub("", rest_of(child)).replace("\r", "")
    end = [line for line in text.split("Sources:")[1].splitlines() if line]
    assert max(map(len, end)) <= columns
    run_id = leadhand.listing()["run_id"]
    for source in leadhand("runs", "show", run_id, "--json").json["sources"]:
        assert f"{source['title']} {source['url']}" in " ".join(end)
    assert end[-1].endswith(f"leadhand runs show {run_id[4:12]}")
