"""The shape of an event in the HTTP API. Only the server loads it: a model of all events takes time to build."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, GetJsonSchemaHandler, RootModel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from leadhand.app.export.document import Document
from leadhand.core.events import AnyEvent
from leadhand.core.words import Level, Tone

_PLACE = {
    "seq": {"type": "integer", "description": "The event's number in its run, from 1."},
    "at": {"type": "string", "format": "date-time"},
    "epoch": {"type": "integer", "description": "The number of owners that the run had had."},
    "words": {"$ref": "#/components/schemas/EventWords"},
}


class EventWords(Document):
    """The event in words: see the reference of the view."""

    title: str
    text: str
    subject: str
    tone: Tone
    level: Level
    topics: tuple[str, ...]


class EventDocument(RootModel[Annotated[AnyEvent, Field(discriminator="type")]]):
    """Any event together with its place in the log and its words: the type of an event of a page."""

    model_config = ConfigDict(defer_build=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The union of all events, with the place in the log and the words added to each."""
        reference = handler(core_schema)
        for choice in handler.resolve_ref_schema(reference)["oneOf"]:
            event = handler.resolve_ref_schema(choice)
            event["properties"] = {**_PLACE, **event["properties"]}
            event["required"] = list(dict.fromkeys((*_PLACE, *event["required"])))
        return reference
