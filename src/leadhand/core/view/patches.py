"""Merge patches (RFC 7396) on a view, and a builder for the patch of one entry of the log.

https://www.rfc-editor.org/rfc/rfc7396
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, cast

from leadhand.core.events import Entry
from leadhand.core.moment import iso
from leadhand.core.state import RunState

from .shapes import ViewDocument

Patch = dict[str, Any]


def merge(document: dict[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Apply a merge patch to ``document`` in place: objects are merged by key, null removes, other values replace."""
    for key, value in patch.items():
        if type(value) is dict:
            inner: Any = document.get(key)
            target = cast("Patch", inner) if isinstance(inner, dict) else {}
            document[key] = merge(target, cast("Patch", value))
        elif value is None:
            document.pop(key, None)
        else:
            document[key] = value
    return document


class Draft:
    """A patch under construction: the view before, the state after, and the changes so far.

    ``touched``: steps whose status may have changed. An attempt is identified by its step and number.
    """

    __slots__ = ("at", "entry", "patch", "seq", "shown", "started", "state", "touched")

    def __init__(self, shown: ViewDocument, state: RunState, entry: Entry) -> None:
        self.shown = shown
        self.state = state
        self.entry = entry
        self.seq = entry.seq
        self.at = moment(entry.at)
        self.patch: Patch = {}
        self.touched: dict[str, None] = {}
        self.started = 0
        """Attempts that started minus attempts that ended."""

    # --- parts -------------------------------------------------------------------------------------------------------

    def part(self, name: str) -> Patch:
        """Return the changes to one part of the view."""
        return self.patch.setdefault(name, {})

    def set(self, name: str, values: Mapping[str, Any]) -> None:
        """Set the fields of a part that differ; None removes a field."""
        different = differing(cast("Any", self.shown)[name], values)
        if different:
            self.part(name).update(different)

    def lane(self, key: str) -> Patch:
        """Return the changes to a step."""
        return self.part("steps").setdefault(key, {})

    def knows(self, key: str) -> bool:
        """Whether the view has this step."""
        return key in self.shown["steps"] or key in self.patch.get("steps", ())

    def note(self, key: str, text: str) -> None:
        """Set the reason why a step waits or was dropped, "" for none; its status may have changed."""
        self.touched[key] = None
        shown = self.shown["steps"].get(key)
        if shown is None or shown["note"] != text:
            self.lane(key)["note"] = text

    # --- attempts ----------------------------------------------------------------------------------------------------

    def attempt(self, key: str, number: str) -> Patch:
        """Return the changes to an attempt."""
        return self.lane(key).setdefault("attempts", {}).setdefault(number, {})

    def attempt_now(self, key: str, number: str) -> Mapping[str, Any] | None:
        """An attempt after the changes so far (without its calls if it changed), None if the view does not have it."""
        shown: Any = self.shown["steps"].get(key)
        before = shown["attempts"].get(number) if shown is not None else None
        changed = self.patch.get("steps", {}).get(key, {}).get("attempts", {}).get(number)
        if changed is None or before is None:
            return before or changed
        return {**before, **changed}

    def last(self, key: str) -> str | None:
        """Return the number of the latest attempt at a step."""
        changed = self.patch.get("steps", {}).get(key, {}).get("attempts")
        if changed:
            return next(reversed(changed))
        shown = self.shown["steps"].get(key)
        return next(reversed(shown["attempts"]), None) if shown is not None else None

    def add_attempt(self, key: str, number: str) -> Patch:
        """Start a scheduled attempt."""
        attempt = self.attempt(key, number)
        attempt.update({"scheduled_at": self.at, "outcome": "scheduled", "calls": {}})
        return attempt

    def outcome(self, key: str, number: str, outcome: str) -> None:
        """Give an attempt an outcome; any but ``running`` ends it, if it has not ended."""
        now = self.attempt_now(key, number) or {}
        if now.get("outcome") == outcome:
            return
        attempt = self.attempt(key, number)
        self.started += (outcome == "running") - (now.get("outcome") == "running")
        attempt["outcome"] = outcome
        if outcome != "running" and "ended_at" not in now:
            attempt["ended_at"] = self.at

    def stop_last(self, key: str) -> None:
        """Stop the latest attempt at a step, if it has not ended."""
        number = self.last(key)
        if number is not None and "ended_at" not in (self.attempt_now(key, number) or {}):
            self.outcome(key, number, "stopped")


def differing(shown: Mapping[str, Any], values: Mapping[str, Any]) -> Patch:
    """Return the items of ``values`` that differ from what is shown; None means that the field is missing."""
    return {name: value for name, value in values.items() if shown.get(name) != value}


@lru_cache(maxsize=64)
def moment(at: datetime) -> str:
    """Format a time as in the view."""
    return iso(at)
