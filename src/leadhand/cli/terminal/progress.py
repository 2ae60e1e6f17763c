"""The progress of a run: its view, what is active in it, and a line for each event that matters to people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple, cast

from leadhand.app.export.formatting import count, duration
from leadhand.app.export.view_shapes import AttemptPart, StepPart, ViewDocument
from leadhand.cli.terminal.streams import say
from leadhand.core.events import Entry, NoteEmitted
from leadhand.core.ids import split_attempt
from leadhand.core.view import Change, Projection
from leadhand.core.words import Tone

ACTIVE = frozenset({"running", "retrying", "waiting"})
SILENT = frozenset({"run_started", "run_claimed", "run_finished"})
"""Events that the first and last lines of the command already report."""


class Line(NamedTuple):
    """An event in one line. ``phase``: it is about the run as a whole and stays on a live screen."""

    title: str
    text: str
    tone: Tone
    phase: bool

    def __str__(self) -> str:
        return f"{self.title:<19}  {self.text}".rstrip()


class Progress:
    """Keeps the view of a run, and the keys of the steps that are active.

    An entry costs a bounded number of steps, however many there are.
    """

    def __init__(self) -> None:
        self._projection = Projection("")  # the views of a terminal do not show the run's id
        self.active: dict[str, None] = {}

    @property
    def counted(self) -> Counter[str]:
        """The numbers of the steps that count towards the answer and were not replaced, by status."""
        state = self._projection.state
        return Counter[str](state.counted if state is not None else {})

    @property
    def view(self) -> ViewDocument:
        """The view of the run."""
        return cast("ViewDocument", self._projection.document)

    def take(self, entry: Entry) -> Line | None:
        """Apply an entry and return its line, or None if there is nothing to report."""
        awaited = set(self.view["run"]["waits"])
        change = self._projection.take(entry)
        if change is None:
            return None
        for key in change.patch.get("steps", {}):
            self._sort_in(key)
        noted = entry.event if isinstance(entry.event, NoteEmitted) else None
        if noted is not None and noted.waits_s is not None and noted.waits_for in awaited:
            return None
        return self._line(change, entry.at)

    def _sort_in(self, key: str) -> None:
        if self.view["steps"][key]["status"] in ACTIVE:
            self.active[key] = None
        else:
            self.active.pop(key, None)

    def _line(self, change: Change, at: datetime) -> Line | None:
        words = change.words
        if change.type == "todos_set":
            return Line(words.title, words.text, words.tone, phase=False)
        if words.level == "detail" or change.type in SILENT:
            return None
        part = self.view["steps"].get(words.subject)
        state = self._projection.state
        approvals = 0 if state is None else len(state.asking)
        if change.type == "run_status_set" and approvals and self.view["run"]["status"] == "waiting":
            text = count(approvals, "open request")
        elif part is None:
            text = ": ".join(filter(None, (words.subject, words.text)))
        elif _is_quiet(change, part):
            return None
        else:
            said = {"attempt_started": "", "attempt_scheduled": attempt_words(part)}.get(change.type, words.text)
            text = ": ".join(filter(None, (self._name(words.subject, part), said)))
            if change.type == "step_settled" and not said:
                text += f"  {duration(took(part, at))}"
        return Line(words.title, text, words.tone, words.level == "phase")

    def _name(self, key: str, part: StepPart) -> str:
        """A step in words: delegated work by its name and who asked for it, unless that is the lead."""
        if "parent" not in part:
            name, shown = part["name"], part["label"]
            if key == name or key.startswith(f"{name}-"):  # its id is made of its name
                return f"{key}{shown.removeprefix(name)}"
            return f"{key} {shown}" if _is_work(part) else shown
        asked_by = self.view["steps"].get(part["parent"])
        above = "" if asked_by is None or asked_by["worker"] == "lead" else f" (for {asked_by['name']})"
        return f"{part['name']}{above}"


def _is_quiet(change: Change, part: StepPart) -> bool:
    """Whether an event is not worth a line: a step of the lead that is completed, and an attempt that goes on."""
    if change.type == "step_settled" and change.words.tone == "good" and not _is_work(part):
        return True
    last = _last_attempt(part)
    return change.type == "attempt_started" and last is not None and _continued(part, last[1]) is not None


def _continued(part: StepPart, attempt: AttemptPart) -> AttemptPart | None:
    """Return the attempt that this one continues, if that waited for answers."""
    before = part["attempts"].get(split_attempt(attempt.get("continues", ""))[1])
    return before if before is not None and before["outcome"] == "parked" else None


def _is_work(part: StepPart) -> bool:
    """Whether a step counts or was delegated: it is not what a lead does for its orders."""
    return part["counts"] or "parent" in part


def _last_attempt(part: StepPart) -> tuple[int, AttemptPart] | None:
    if not part["attempts"]:
        return None
    number = next(reversed(part["attempts"]))
    return int(number), part["attempts"][number]


def took(part: StepPart, now: datetime) -> float:
    """Return the seconds since the last attempt started, or that it took, with its waits for answers."""
    last = _last_attempt(part)
    if last is None:
        return 0.0
    first = attempt = last[1]
    while (before := _continued(part, first)) is not None:
        first = before
    since = datetime.fromisoformat(first.get("started_at", first["scheduled_at"]))
    until = datetime.fromisoformat(attempt["ended_at"]) if "ended_at" in attempt else now
    return max(0.0, (until - since).total_seconds())


def attempt_words(part: StepPart) -> str:
    """Return ``attempt 2 in 1.5 s (timeout)`` for a step that is tried again, else ""."""
    last = _last_attempt(part)
    if last is None or last[0] == 1:
        return ""
    number, attempt = last
    before = part["attempts"].get(str(number - 1))
    failure = before.get("failure") if before is not None else None
    words = f"attempt {number}"
    if "not_before" in attempt and "started_at" not in attempt:
        wait = datetime.fromisoformat(attempt["not_before"]) - datetime.fromisoformat(attempt["scheduled_at"])
        words += f" in {duration(wait.total_seconds())}" if wait.total_seconds() >= 0.05 else ""
    why = attempt.get("feedback") or (failure["type"].replace("_", " ") if failure is not None else "")
    return f"{words} ({why})" if why else words


class View:
    """Shows a run in progress: one plain line per change, for pipes and terminals that cannot be redrawn."""

    draws_drafts = False
    """Whether :meth:`write_draft` shows anything."""

    def __init__(self) -> None:
        self._progress = Progress()

    @contextmanager
    def shown(self) -> Generator[None]:
        """Show the run inside the block."""
        yield

    def take(self, entry: Entry, *, new: bool) -> None:
        """Show an entry; ``new`` is false for entries from before this process followed the run."""
        line = self._progress.take(entry)
        if new and line is not None:
            say(str(line))

    def write_draft(self, run_id: str, attempt: str, piece: str) -> None:
        """Show a piece of the answer that is being written."""

    def say(self, line: str) -> None:
        """Write a line that stays."""
        say(line)

    def hide(self) -> None:
        """Restore the terminal at once: the process is about to exit."""
