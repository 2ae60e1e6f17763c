"""Strategies for texts as models write them: Markdown in several scripts, with citations, quotations and addresses."""

from __future__ import annotations

import re

from hypothesis import strategies as st

WORDS = [
    *("rain", "prices", "Köln", "élan", "ordered", "I", "never", "zwölf", "naïve", "it's"),
    *("дождь", "βροχή", "مطر", "السعر", "גשם", "מחיר", "बारिश", "แพง"),
    *("今天下雨", "价格", "가격", "値段は", "🚲", "👍🏽", "✅", "é", "ﬁne"),
]
FIGURES = ["7", "1,254.00", "12 %", "3.5", "٣", "2026-12-03", "€104.50", "½", "10:30"]
CITATIONS = {"[1]": ["1"], "[2, 3]": ["2", "3"], "[p4]": ["p4"], "(p5)": ["p5"], "【6†a】": ["6"], "[^7]": ["7"]}
CITATIONS["[c0ffee01.1]"] = ["c0ffee01.1"]
QUOTATIONS = [
    "“one two three four five six”",
    "„fünf ganze Wörter stehen hier“",
    "«un deux trois quatre cinq»",
    '"short"',
]
ADDRESSES = ["https://example.org/a_(b)?c=1", "[1](https://example.org/1)", "[2]: https://example.org/2"]
IDS = ["`run_1`", "A-7781", "X200", "bob@example.org", "wo-001.2"]

words = st.sampled_from(WORDS)
sentences = st.lists(words | st.sampled_from(FIGURES), min_size=1, max_size=8).map(" ".join)
"""Words and figures."""
rich = st.lists(
    st.one_of(sentences, *map(st.sampled_from, (list(CITATIONS), QUOTATIONS, ADDRESSES, IDS))), min_size=1, max_size=8
).map(" ".join)
"""A line with everything in it that exact checks read."""


def _table(rows: list[tuple[str, str]]) -> str:
    cells = [tuple(cell.replace("|", "/") for cell in row) for row in rows]
    lines = [f"| {left} | {right} |" for left, right in cells]
    return "\n".join([lines[0], "|---|--:|", *lines[1:]])


blocks = st.one_of(
    rich,
    st.lists(rich, min_size=2, max_size=3).map("\n".join),
    rich.map("## {}".format),
    rich.map("{}\n===".format),
    st.lists(rich, min_size=1, max_size=3).map(lambda lines: "\n".join(f"- {line}" for line in lines)),
    st.lists(rich, min_size=1, max_size=3).map(lambda lines: "\n".join(f"{n}. {s}" for n, s in enumerate(lines, 1))),
    rich.map("- a\n  - b\n    - {}".format),
    rich.map("> {}\n> and so on".format),
    rich.map((">" * 30 + " {}").format),
    st.lists(st.tuples(rich, rich), min_size=1, max_size=3).map(_table),
    rich.map("```\n{}\n```".format),
    rich.map("```markdown\n# {}\n```".format),
    rich.map("    {}".format),
    rich.map("<div>{}</div>".format),
    st.just("---"),
)
documents = st.tuples(st.lists(blocks, min_size=1, max_size=6), st.sampled_from(["\n\n", "\r\n\r\n", "\n\n\n"])).map(
    lambda parts: parts[1].join(parts[0])
)
"""Documents of all kinds of blocks."""

_KEPT = re.compile(
    r"(?:`{3,}|~{3,})[^\n]*|`[^`]*`|"
    r"[“„«][^”“»]*[”“»]|\"[^\"\n]*\"|[\[【(][^\]】)\n]*[\]】)]|https?://\S+|<[^>]*>|\S*[\d@٣½]\S*|&\w+;"
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def reworded(text: str, word: str = "blorp") -> str:
    """Return a text in which every word outside of quotations, ids, numbers and addresses is another one."""
    written, at = "", 0
    for kept in _KEPT.finditer(text):
        written += _WORD.sub(word, text[at : kept.start()]) + kept[0]
        at = kept.end()
    return written + _WORD.sub(word, text[at:])
