"""The documents of a run, as scripts, the console and people read them."""

from typing import Any

from pydantic import ConfigDict

from leadhand.core.events import Entry
from leadhand.core.value import Value, iso


class Document(Value):
    """The base of documents that are sent, printed or returned as JSON."""

    model_config = ConfigDict(serialize_by_alias=True)

    def as_json(self) -> dict[str, Any]:
        """Return the document as JSON data."""
        return self.model_dump(mode="json")


def event_line(entry: Entry) -> dict[str, Any]:
    """Return an entry of the log as one object: ``seq``, ``at``, ``epoch``, ``type`` and the event's own fields."""
    body: dict[str, Any] = entry.event.model_dump(mode="json", by_alias=True)
    return {"seq": entry.seq, "at": iso(entry.at), "epoch": entry.epoch, "type": body.pop("type"), **body}
