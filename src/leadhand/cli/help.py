"""How ``--help`` looks: two aligned columns, no boxes; the same in a pipe as on a terminal."""

from __future__ import annotations

import textwrap
from typing import Any

from cyclopts.help import HelpEntry, HelpPanel
from rich.console import Console, ConsoleOptions
from rich.text import Text

WIDEST = 100
PLACEHOLDERS = {
    "--approval-timeout": "SECONDS",
    "--approve": "POLICY",
    "--allow-host": "NAME",
    "--args": "JSON",
    "--at": "SEQ",
    "--batch-size": "N",
    "--budget": "USD",
    "--cors": "ORIGIN",
    "--database": "URL",
    "--home": "DIR",
    "--host": "ADDRESS",
    "--limit": "N",
    "--max-requests": "N",
    "--max-steps": "N",
    "--max-tokens": "N",
    "--max-workers": "N",
    "--output": "FILE",
    "--port": "N",
    "--project": "FILE",
    "--reason": "TEXT",
    "--result": "JSON",
    "--scope": "SCOPE",
    "--seq": "N",
    "--status": "STATUS",
    "--subtask": "KEY",
    "--summary": "TEXT",
    "--text": "TEXT",
    "--timeout": "SECONDS",
    "--max-output-tokens": "N",
    "--tools": "FILE",
}
UNTOLD = frozenset({"", "False", "None", "()"})
"""Defaults that go without saying."""


class Columns:
    """Writes help: names on the left, what they are on the right."""

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """Write one group of commands or flags."""
        rows = [(_names(entry), _words(entry)) for entry in panel.entries]
        if not rows:
            return
        console.print(Text(f"{_plain(panel.title)}:", style="bold"))
        left = max(len(names) for names, _ in rows)
        width = max(20, min(WIDEST, console.width) - left - 4)
        for names, words in rows:
            lines = textwrap.wrap(words, width) or [""]
            console.print(Text(f"  {names:<{left}}  {lines[0]}".rstrip()), soft_wrap=True)
            for line in lines[1:]:
                console.print(Text(f"  {'':<{left}}  {line}"), soft_wrap=True)
        console.print()

    def render_usage(self, console: Console, _options: ConsoleOptions, usage: Any) -> None:
        """Write the line that shows how the command is called."""
        console.print(Text(f"Usage: {_plain(usage).strip()}"), soft_wrap=True)
        console.print()

    def render_description(self, console: Console, _options: ConsoleOptions, description: Any) -> None:
        """Write what the command does."""
        for paragraph in _plain(description).split("\n\n"):
            if paragraph.strip():
                console.print(Text(textwrap.fill(paragraph, min(WIDEST, console.width))), soft_wrap=True)
                console.print()


def _names(entry: HelpEntry) -> str:
    label = entry.positional_label
    names = [label] if label else [*entry.positive_names, *entry.positive_shorts]
    value = entry.metavar if not label and entry.metavar else ""
    if value:
        value = PLACEHOLDERS.get(names[0], "NAME" if names[0].endswith("model") else value.rstrip("."))
    return " ".join(part for part in (", ".join(names), value) if part)


def _words(entry: HelpEntry) -> str:
    words = " ".join(_plain(entry.description).split())
    default = "" if entry.default is None else str(entry.default).removesuffix(".0")
    return words if default in UNTOLD else f"{words.rstrip('.')} ({default})."


def _plain(text: Any) -> str:
    """The letters of whatever cyclopts hands over."""
    if text is None:
        return ""
    if isinstance(text, (str, Text)):
        return str(text)
    console = Console(width=10_000, force_terminal=False, no_color=True, markup=False, highlight=False)
    with console.capture() as captured:
        console.print(text, end="")
    return captured.get().strip()
