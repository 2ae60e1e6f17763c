"""Times as JSON has them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, overload

from pydantic import PlainSerializer, WithJsonSchema


@overload
def iso(moment: datetime) -> str: ...
@overload
def iso(moment: datetime | None) -> str | None: ...
def iso(moment: datetime | None) -> str | None:
    """Return a moment as ISO 8601 in UTC with a Z, to the millisecond; None stays None."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Moment = Annotated[
    datetime,
    PlainSerializer(iso, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A time that JSON shows in the format of :func:`iso`."""
