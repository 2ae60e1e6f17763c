"""Events as JSON: an entry of the log is ``seq``, ``at``, ``epoch``, ``type`` and the event's own fields."""

from __future__ import annotations

from typing import Any

from leadhand.core.events import Entry
from leadhand.core.moment import iso


def event_line(entry: Entry) -> dict[str, Any]:
    """Return an entry of the log as one object."""
    body: dict[str, Any] = entry.event.model_dump(mode="json", by_alias=True)
    return {"seq": entry.seq, "at": iso(entry.at), "epoch": entry.epoch, "type": body.pop("type"), **body}
