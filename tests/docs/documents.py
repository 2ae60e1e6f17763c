"""The documentation as tests read it: pages, their fenced blocks, their tables and links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block: its page, language and text, the line it begins on, and the output that follows it directly."""

    page: Path
    language: str
    text: str
    line: int
    output: str | None = None


def named(page: Path) -> str:
    """A page as a test's id shows it."""
    return str(page.relative_to(ROOT))


def blocks(page: Path, *languages: str) -> Iterator[Block]:
    """The blocks of a page in these languages, in order."""
    text = page.read_text(encoding="utf-8")
    found = list(_FENCE.finditer(text))
    for here, behind in zip(found, [*found[1:], None], strict=False):
        if here[1] not in languages:
            continue
        follows = behind is not None and not text[here.end() : behind.start()].strip() and behind[1] == "text"
        yield Block(
            page=page,
            language=here[1],
            text=here[2],
            line=text[: here.start()].count("\n") + 1,
            output=behind[2] if follows and behind is not None else None,
        )


def links(page: Path) -> Iterator[str]:
    """The targets of a page's links and pictures; those in blocks do not count."""
    yield from _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8")))


def anchors(page: Path) -> set[str]:
    """What can be linked to in a page: its headings, as GitHub makes anchors of them."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-") for heading in headings}


def rows(page: Path, first: str) -> list[list[str]]:
    """The rows of every table whose first heading is ``first``, as cells."""
    found: list[list[str]] = []
    wanted = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            wanted = False
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if cells[0] == first:
            wanted = True
        elif wanted and set(cells[0]) - set("-: "):
            found.append(cells)
    return found
