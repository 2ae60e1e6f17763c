"""Live progress on a terminal: one line for each running subtask, redrawn up to eight times a second.

Drawing looks at a dozen subtasks, however many there are. Imported on terminals only: rich is slow to import.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TextIO, cast

from rich.console import Console, Group, RenderableType
from rich.file_proxy import FileProxy
from rich.live import Live
from rich.table import Table
from rich.text import Text

from leadhand.app.export.formatting import GLYPHS, clean, duration, money, one_line, spent
from leadhand.app.export.view_shapes import StepPart
from leadhand.cli.terminal.progress import Line, View, attempt_words, took
from leadhand.cli.terminal.streams import Terminal
from leadhand.core.events import AttemptScheduled, Entry
from leadhand.core.ids import step_of
from leadhand.core.limits import usd

FRAMES_PER_SECOND = 8
MAX_LANES = 12
MAX_SCANNED = 200
"""Active subtasks that a drawing looks at to find those that are retried."""
NARROW = 60
"""Columns of a terminal on which lanes leave out why and how often a subtask is tried again."""
DRAFT_LINES = 4
DRAFT_LENGTH = 4_000
"""Characters of a draft that are kept; only its last lines are shown."""

RETRYING = "↻"
STYLES = {
    "running": "cyan",
    "retrying": "yellow",
    "waiting": "magenta",
    "completed": "green",
    "failed": "red",
    "dropped": "red",
}
TONES = {
    "info": ("◐", "cyan"),
    "good": ("✓", "green"),
    "attention": (RETRYING, "yellow"),
    "problem": ("✗", "red"),
}


class _Console(Console):
    """Never hides the cursor: a process that is killed could not show it again."""

    def show_cursor(self, show: bool = True) -> bool:
        return False


class LiveView(View):
    """Draws a run in progress. The drawing disappears when the run rests; lines it wrote stay."""

    draws_drafts = True

    def __init__(self, console: Console | None = None) -> None:
        super().__init__()
        self._console = console or _Console(
            file=getattr(sys.stderr, "stream", sys.stderr), highlight=False, markup=False, emoji=False
        )
        self._draft, self._draft_of = "", ""
        self._live: Live | None = None

    @contextmanager
    def shown(self) -> Generator[None]:
        drawn: Any = {"auto_refresh": False, "transient": True, "vertical_overflow": "crop"}
        with (
            Live(console=self._console, redirect_stdout=False, redirect_stderr=False, **drawn) as live,
            self._stderr_between_the_lanes(),
        ):
            self._live = live
            drawing = asyncio.get_running_loop().create_task(self._draw(live))
            try:
                yield
            finally:
                drawing.cancel()
                live.update(Text(""), refresh=True)
                self._live = None

    @contextmanager
    def _stderr_between_the_lanes(self) -> Generator[None]:
        stderr: object = sys.stderr
        if not isinstance(stderr, Terminal):
            yield
            return
        through = FileProxy(self._console, stderr.stream)
        stderr.through = cast("TextIO", through)
        try:
            yield
        finally:
            stderr.through = None
            through.flush()

    def hide(self) -> None:
        if self._live is not None:
            self._live.stop()

    async def _draw(self, live: Live) -> None:
        while True:
            live.update(self.picture(datetime.now(UTC)), refresh=True)
            await asyncio.sleep(1 / FRAMES_PER_SECOND)

    def take(self, entry: Entry, *, new: bool) -> None:
        line = self._progress.take(entry)
        if isinstance(entry.event, AttemptScheduled):
            self._draft = ""  # the draft of an earlier attempt will not be the answer
        if new and line is not None and line.phase:
            self._console.print(_styled(line), no_wrap=True, overflow="ellipsis")

    def write_draft(self, run_id: str, attempt: str, piece: str) -> None:
        begun = self._draft if attempt == self._draft_of and piece else ""
        self._draft, self._draft_of = (begun + piece)[-DRAFT_LENGTH:], attempt

    def say(self, line: str) -> None:
        self._console.print(Text(clean(line)), soft_wrap=True)

    def picture(self, now: datetime) -> RenderableType:
        """Return the drawing of the run at this moment."""
        height = max(3, min(MAX_LANES, self._console.height - DRAFT_LINES - 4))
        parts_of, active = self._progress.view["steps"], self._progress.active
        keys = sorted(islice(active, MAX_SCANNED), key=lambda key: parts_of[key]["status"] != "retrying")[:height]
        rows = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
        rows.add_column(no_wrap=True, overflow="ellipsis", max_width=self._console.width - 22)
        rows.add_column(no_wrap=True, min_width=8)
        rows.add_column(no_wrap=True, min_width=6, justify="right")
        columns = 3 if self._console.width < NARROW else 4
        for key in keys:
            rows.add_row(*_row(parts_of[key], now)[:columns])
        parts: list[RenderableType] = [rows] if rows.row_count else []
        left = len(active) - len(keys)
        if left:
            parts.append(Text(f"  +{left:,} more", style="dim"))
        parts.append(self._summary(now))
        parts += self._waits(now)
        parts += self._draft_lines()
        return Group(*parts)

    def _summary(self, now: datetime) -> Text:
        """The work order, its progress, and what was spent so far."""
        view, steps = self._progress.view, self._progress.view["steps"]
        name = next(reversed(view["orders"]), "")
        counted: list[str] = []
        if total := self._progress.counted.total():
            numbers = Counter(steps[key]["status"] for key in self._progress.active if steps[key]["counts"])
            numbers["failed"] = self._progress.counted["failed"] + self._progress.counted["dropped"]
            done = self._progress.counted["completed"]
            numbers["pending"] = total - done - numbers.total()
            words = ("running", "retrying", "waiting", "failed", "pending")
            counted = [
                f"{done:,}/{total:,} done",
                *(f"{numbers[word]:,} {word}" for word in words if numbers[word] > 0),
            ]
        line = Text("◐ ", style="cyan", no_wrap=True, overflow="ellipsis")
        line.append(f"{name}  " if name else "", style="bold")
        line.append(" · ".join(counted) or "Starting", style="default")
        created = view["run"]["created_at"]
        since = (now - datetime.fromisoformat(created)).total_seconds() if created else 0.0
        spend = view["spend"]
        used = spent(spend["requests"], spend["tokens"], None if spend["unpriced"] else usd(spend["nanousd"]))
        budget = spend.get("budget_nanousd")
        of = "" if budget is None or spend["unpriced"] or not spend["requests"] else f" of {money(usd(budget))}"
        line.append(f"   {duration(since)} · {used}{of}", style="dim")
        return line

    def _waits(self, now: datetime) -> list[RenderableType]:
        """What is waited for, for how long as far as that is known, and how long already."""
        found: list[RenderableType] = []
        for wait in self._progress.view["run"]["waits"].values():
            since, until = datetime.fromisoformat(wait["since"]), datetime.fromisoformat(wait["until"])
            if now < until:
                passed = duration((now - since).total_seconds())
                found.append(Text(clean(f"  {wait['text']}, {passed} so far"), style="yellow"))
        return found

    def _draft_lines(self) -> list[RenderableType]:
        part = self._progress.view["steps"].get(step_of(self._draft_of))
        if not self._draft or part is None or part["worker"] not in ("compose", "writer"):
            return []
        last = Text(clean(self._draft), style="dim italic").wrap(self._console, max(20, self._console.width - 2))[
            -DRAFT_LINES:
        ]
        return [Text("  draft", style="dim"), *(Text("  ").append_text(line) for line in last)]


def _row(part: StepPart, now: datetime) -> tuple[Text, Text, str, Text]:
    status = part["status"]
    name = Text(f"  {GLYPHS.get(status, RETRYING)} ", style=STYLES[status]).append(
        clean(part["label"]), style="default"
    )
    note = part["note"] if status == "waiting" else attempt_words(part) if status in ("running", "retrying") else ""
    return name, Text(status, style=STYLES[status]), duration(took(part, now)), Text(clean(note), style="dim")


def _styled(line: Line) -> Text:
    glyph, style = TONES[line.tone]
    styled = Text(f"{glyph} ", style=style)
    styled.append(f"{line.title:<19}  ", style="bold")
    styled.append(one_line(line.text), style="default")
    return styled
