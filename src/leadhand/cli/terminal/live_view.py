"""Live progress on a terminal: one line for each running subtask, redrawn up to eight times a second.

Drawing looks at a dozen subtasks, however many there are. Imported on terminals only: rich is slow to import.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain, islice

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from leadhand.app.formatting import clean, count, duration, money, one_line
from leadhand.cli.terminal.progress import Progress
from leadhand.cli.terminal.steps import Lane, Step
from leadhand.cli.terminal.streams import stderr_through, terminal
from leadhand.domain.events import AttemptScheduled, Entry
from leadhand.domain.limits import usd

FRAMES_PER_SECOND = 8
MAX_LANES = 12
DRAFT_LINES = 4
DRAFT_LENGTH = 4_000
"""Maximum pieces of a draft that are kept; only its last lines are shown."""

GLYPHS = {"running": "◐", "retrying": "↻", "waiting": "‖", "done": "✓", "failed": "✗"}
STYLES = {"running": "cyan", "retrying": "yellow", "waiting": "magenta", "done": "green", "failed": "red"}
STEP_STATUS = {
    "plan": "done",
    "review": "done",
    "repair": "retrying",
    "retry": "retrying",
    "failed": "failed",
    "blocked": "failed",
    "cannot": "failed",
    "refused": "failed",
    "expired": "failed",
    "left": "failed",
    "done": "done",
    "reopen": "retrying",
    "again": "retrying",
    "waits": "waiting",
    "paused": "waiting",
}


class _Terminal(Console):
    """Never hides the cursor: a process that is killed could not show it again."""

    def show_cursor(self, show: bool = True) -> bool:
        return False


class LiveView:
    """Draws a run in progress. The drawing disappears when the run rests; lines it wrote stay."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or _Terminal(file=terminal(), highlight=False, markup=False, emoji=False)
        self._progress = Progress()
        self._draft: deque[str] = deque()
        self._draft_of = ""
        self._live: Live | None = None

    @contextmanager
    def shown(self) -> Generator[None]:
        with (
            Live(
                console=self._console,
                auto_refresh=False,
                transient=True,
                vertical_overflow="crop",
                redirect_stdout=False,
                redirect_stderr=False,
            ) as live,
            stderr_through(self.say),
        ):
            self._live = live
            drawing = asyncio.get_running_loop().create_task(self._draw(live))
            try:
                yield
            finally:
                drawing.cancel()
                live.update(Text(""), refresh=True)
                self._live = None

    def hide(self) -> None:
        if self._live is not None:
            self._live.stop()

    async def _draw(self, live: Live) -> None:
        while True:
            live.update(self.picture(datetime.now(UTC)), refresh=True)
            await asyncio.sleep(1 / FRAMES_PER_SECOND)

    def take(self, entry: Entry, *, new: bool) -> None:
        step = self._progress.take(entry)
        if isinstance(entry.event, AttemptScheduled):
            self._draft.clear()  # the draft of an earlier attempt will not be the answer
        if new and step is not None and step.phase:
            self._console.print(_line(step), no_wrap=True, overflow="ellipsis")

    def write_draft(self, run_id: str, attempt: str, piece: str) -> None:
        if attempt != self._draft_of or not piece:
            self._draft_of = attempt
            self._draft.clear()
        self._draft.append(piece)
        if len(self._draft) > DRAFT_LENGTH:
            self._draft.popleft()

    def say(self, line: str) -> None:
        self._console.print(Text(clean(line)), soft_wrap=True)

    def picture(self, now: datetime) -> RenderableType:
        """Return the drawing of the run at this moment."""
        height = max(3, min(MAX_LANES, self._console.height - DRAFT_LINES - 4))
        under_way = self._progress.lanes
        lanes = list(islice(chain(_of(under_way, "retrying"), _not(under_way, "retrying")), height))
        recent = list(self._progress.recent)[-(height - len(lanes)) :] if len(lanes) < height else []
        rows = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
        rows.add_column(no_wrap=True, overflow="ellipsis")
        rows.add_column(no_wrap=True, min_width=8)
        rows.add_column(no_wrap=True, min_width=6, justify="right")
        rows.add_column(no_wrap=True, overflow="ellipsis")
        for lane in chain(recent, lanes):
            rows.add_row(*_row(lane, now))
        parts: list[RenderableType] = [rows] if rows.row_count else []
        left = len(under_way) - len(lanes)
        if left:
            parts.append(Text(f"  +{left:,} more", style="dim"))
        parts.append(self._summary(now))
        parts += self._draft_lines()
        return Group(*parts)

    def _summary(self, now: datetime) -> Text:
        """The work order, its progress, and what was spent so far."""
        progress = self._progress
        counted: list[str] = []
        if progress.total:
            counted.append(f"{progress.done:,}/{progress.total:,} done")
        for number, word in (
            (progress.running, "running"),
            (progress.retrying, "retrying"),
            (progress.waiting, "waiting"),
            (progress.failed, "failed"),
            (progress.total - progress.done - progress.failed - len(progress.lanes), "pending"),
        ):
            if number > 0:
                counted.append(f"{number:,} {word}")
        if progress.phase:
            counted.append(progress.phase)
        line = Text("◐ ", style="cyan", no_wrap=True, overflow="ellipsis")
        line.append(f"{progress.order or 'work order'}  ", style="bold")
        line.append(" · ".join(counted) or "starting", style="default")
        since = (now - progress.created_at).total_seconds() if progress.created_at is not None else 0.0
        line.append(f"   {' · '.join([duration(since), *self._spent()])}", style="dim")
        return line

    def _spent(self) -> list[str]:
        progress = self._progress
        budget = progress.definition.limits.budget_nanousd if progress.definition is not None else None
        spent = [count(progress.tokens, "token")] if progress.tokens else []
        if progress.nanousd or progress.tokens:
            of = f" of {money(usd(budget))}" if budget is not None else ""
            spent.append(f"{money(usd(progress.nanousd))}{of}")
        return spent

    def _draft_lines(self) -> list[RenderableType]:
        """The end of the answer that is being written."""
        if not self._draft or self._progress.phase != "composing":
            return []
        written = clean("".join(self._draft)[-DRAFT_LENGTH:])
        last = Text(written, style="dim italic").wrap(self._console, max(20, self._console.width - 2))[-DRAFT_LINES:]
        return [Text("  draft", style="dim"), *(Text("  ").append_text(line) for line in last)]


def _of(lanes: dict[str, Lane], status: str) -> Iterator[Lane]:
    return (lane for lane in islice(lanes.values(), 200) if lane.status == status)


def _not(lanes: dict[str, Lane], status: str) -> Iterator[Lane]:
    return (lane for lane in islice(lanes.values(), 200) if lane.status != status)


def _row(lane: Lane, now: datetime) -> tuple[Text, Text, str, Text]:
    style = STYLES[lane.status]
    name = Text(f"  {GLYPHS[lane.status]} ", style=style).append(clean(lane.label), style="default")
    took = lane.took_s if lane.status in ("done", "failed") else (now - lane.since).total_seconds()
    return name, Text(lane.status, style=style), duration(took), Text(clean(lane.note), style="dim")


def _line(step: Step) -> Text:
    status = STEP_STATUS.get(step.word, "running")
    line = Text(f"{GLYPHS[status]} ", style=STYLES[status])
    line.append(f"{step.word:<8}", style="bold")
    line.append(one_line(step.text), style="default")
    return line
