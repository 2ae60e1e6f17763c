"""The documents of a run, as scripts, the console and people read them."""

from typing import Any

from pydantic import ConfigDict

from leadhand.core.value import Value


class Document(Value):
    """The base of documents that are sent, printed or returned as JSON."""

    model_config = ConfigDict(serialize_by_alias=True)

    def as_json(self) -> dict[str, Any]:
        """Return the document as JSON data."""
        return self.model_dump(mode="json")
