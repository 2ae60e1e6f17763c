"""Markdown on a terminal: rendered, and wrapped at words. Imported on terminals only: rich is slow to import."""

from __future__ import annotations

import os

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown

from leadhand.app.export.formatting import clean

MAX_WIDTH = 100
"""Columns that text is wrapped at, at most: longer lines are hard to read."""


class _Heading(Heading):
    """A heading on the left, without a frame."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        self.text.stylize("bold underline" if self.tag == "h1" else "bold")
        yield self.text


class _Markdown(Markdown):
    elements = {**Markdown.elements, "heading_open": _Heading}


def rendered(text: str, width: int) -> str:
    """Return Markdown as lines of at most ``width`` columns, in colours unless NO_COLOR is set."""
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM", "") in ("dumb", "unknown", "")
    colours = None if plain else "standard"
    console = Console(width=min(width, MAX_WIDTH), force_terminal=True, color_system=colours, highlight=False)
    page = _Markdown(clean(text), code_theme="ansi_dark", hyperlinks=False)
    for part in (child for token in page.parsed for child in token.children or ()):
        if part.type == "softbreak":  # a line of plain text stays a line
            part.type = "hardbreak"
    with console.capture() as captured:
        console.print(page)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n")
