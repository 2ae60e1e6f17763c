"""What is shown of a run, piece by piece: a step in a line, a subtask on its way, and the words for waiting."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from leadhand.app.formatting import label
from leadhand.domain.assignment import OpenCall
from leadhand.domain.errors import Failure
from leadhand.flows.work_order.roles import RoleName

PHASES = {RoleName.PLAN.value: "planning", RoleName.REVIEW.value: "reviewing", RoleName.COMPOSE.value: "composing"}
WAITS = {
    "approval": "for a person's yes to ",
    "effect": "for a person's word on ",
    "child": "for another worker",
    "allowance": "for leave to go on",
}
NAMED = {"approval", "effect"}
WAITING_NOTES = {
    "approval": "for a yes",
    "effect": "for a person's word",
    "child": "for another worker",
    "allowance": "for leave to go on",
}
REQUESTS = {
    "retry_requested": "the retry that was asked for",
    "retry_granted": "the retry that was asked for",
    "skip_requested": "the wish to leave a subtask out",
    "result_supplied": "the result that was given",
}


@dataclass(frozen=True, slots=True)
class Step:
    """A change in a line. ``phase``: of the run as a whole, worth keeping on a screen that shows the subtasks."""

    word: str
    text: str
    phase: bool = False

    def __str__(self) -> str:
        return f"{self.word:<7} {self.text}"


@dataclass(slots=True, kw_only=True)
class Lane:
    """One subtask on its way: ``status`` is running, retrying, waiting, done or failed."""

    key: str
    label: str
    status: str
    since: datetime
    attempt: int = 1
    note: str = ""
    took_s: float = 0.0


def waited_for(calls: tuple[OpenCall, ...]) -> str:
    """What open calls wait for, each kind once: ``for a person's yes to pay_tool · 30, Bob and for another worker``."""
    kinds: dict[str, list[str]] = {}
    for call in calls:
        kinds.setdefault(call.kind, []).append(label(call.tool, call.args))
    return " and ".join(f"{WAITS[kind]}{', '.join(named) if kind in NAMED else ''}" for kind, named in kinds.items())


def and_more(number: int) -> str:
    return f" and {number:,} more" if number > 0 else ""


def why_of(failure: Failure) -> str:
    return f"{failure.message} ({failure.class_.value})"
