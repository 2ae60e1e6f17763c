"""What the words of an event are made of: their shape, and the phrases that many of them share."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from leadhand.domain.errors import Failure
from leadhand.domain.work_order import OpenCall

from .texts import label, line


class Tone(StrEnum):
    """How an event is to be taken. ``attention``: something waits, is retried, or was decided by a person."""

    INFO = "info"
    GOOD = "good"
    ATTENTION = "attention"
    PROBLEM = "problem"


class Level(StrEnum):
    """Where an event is worth showing: ``phase`` is about the run as a whole, ``step`` about one assignment and worth a
    line of plain output, ``detail`` belongs in the log only."""

    PHASE = "phase"
    STEP = "step"
    DETAIL = "detail"


class Words(NamedTuple):
    """An event in words. ``text`` is one line, "" where the title says everything; ``subject`` is the id of what it is
    about: an assignment, an order, or "" for the run. ``topics`` are among work, tools, models and people."""

    title: str
    text: str = ""
    subject: str = ""
    tone: Tone = Tone.INFO
    level: Level = Level.DETAIL
    topics: tuple[str, ...] = ()


def why(failure: Failure | None) -> str:
    """A failure with its class; "" for none."""
    return line(f"{failure.message} ({failure.class_.value})") if failure is not None else ""


def by_whom(name: str, more: str = "") -> str:
    """Who did something, and what they said."""
    who = f"by {name or 'somebody'}"
    return line(f"{who}: {more}" if more else who)


def split(attempt: str) -> tuple[str, str]:
    """The assignment of an attempt, and the attempt's number."""
    key, _, number = attempt.rpartition("/a")
    return key, number


def caller(call_id: str) -> str:
    """The assignment that a call belongs to: ``wo-001.0/t1/c0`` is a call of ``wo-001.0``."""
    return call_id.rpartition("/t")[0] or call_id


def named_calls(calls: Iterable[OpenCall]) -> str:
    """The tools that calls are of, with their arguments."""
    return ", ".join(label(call.tool, call.args) for call in calls if call.tool)


_SHOWN = 5


def listed(keys: tuple[str, ...]) -> str:
    """The first few ids, and how many more there are."""
    more = f" and {len(keys) - _SHOWN:,} more" if len(keys) > _SHOWN else ""
    return f"{', '.join(keys[:_SHOWN])}{more}"
