"""Times and events as JSON: an entry of the log is ``seq``, ``at``, ``epoch``, ``type`` and the event's own fields."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, overload

from pydantic import PlainSerializer, WithJsonSchema

from leadhand.core.events import Entry


@overload
def iso(moment: datetime) -> str: ...
@overload
def iso(moment: datetime | None) -> str | None: ...
def iso(moment: datetime | None) -> str | None:
    """A moment as ISO 8601 in UTC with a Z, to the millisecond; None stays None."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Moment = Annotated[
    datetime,
    PlainSerializer(iso, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A time that JSON shows in the format of :func:`iso`."""


def event_line(entry: Entry) -> dict[str, Any]:
    """An entry of the log as one object."""
    body: dict[str, Any] = entry.event.model_dump(mode="json", by_alias=True)
    return {"seq": entry.seq, "at": iso(entry.at), "epoch": entry.epoch, "type": body.pop("type"), **body}
