"""Text as it is stored and cut into passages: plain Unicode, one line for each paragraph."""

from __future__ import annotations

import re
import unicodedata

MOST_CHARS = 400_000
"""Characters of one document; the rest is left out."""

_OWN_LINE = re.compile(r"\s*(?:[-*+•‣–]\s|\d{1,3}[.)]\s|#{1,6}\s|[|>]|```|~~~|={3,}|-{3,}| {4}|\t)")
"""A line that begins something of its own: an item, a heading, a row of a table, code."""
_HEADING = re.compile(r"\s*#{1,6}\s")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_SPACES = re.compile(r"[^\S\n]+")


def normalized(text: str) -> str:
    """Return text in NFC, without control characters, with the wrapped lines of each paragraph joined."""
    text = unicodedata.normalize("NFC", text[:MOST_CHARS].replace("\r\n", "\n").replace("\r", "\n"))
    text = text.encode(errors="ignore").decode()  # lone surrogates
    text = "".join(mark for mark in text if mark in "\n\t" or unicodedata.category(mark) not in ("Cc", "Cf"))
    lines: list[str] = []
    joins = code = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            code = not code
            lines.append(line.strip())
            joins = False
        elif code:
            lines.append(line.rstrip())
        else:
            shown = _SPACES.sub(" ", line).strip()
            if joins and shown and not _OWN_LINE.match(line):
                lines[-1] += f" {shown}"
            else:
                lines.append(shown)
            joins = bool(shown) and not _HEADING.match(line) and not shown.startswith("|")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
