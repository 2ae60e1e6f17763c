"""Blobs: large content that is stored once, under its digest, beside the events that refer to it.

There is one form of reference: ``{"$blob": digest, "bytes": size}`` in a payload (``raw``, ``asked``) or in the request
of a model call is loaded when it is needed, so that the state of a run holds no large results. Stores of events write
``{"$blob": digest}``, without the size, in place of other large values, and put those back when they read an event.
"""

from typing import cast

from pydantic import ConfigDict, Field

from .artifact import digest_of
from .value import Json, Value, compact_json

BLOB_ABOVE = 4_096
"""Values whose JSON is longer than this, in bytes, are stored as blobs."""
BLOB_KEY = '"$blob"'
"""What every reference to a blob has in its JSON."""


class Blob(Value):
    """A reference to content that is loaded when it is needed: its digest, and its size in bytes."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)

    digest: str = Field(validation_alias="$blob", serialization_alias="$blob")
    size: int = Field(validation_alias="bytes", serialization_alias="bytes")


def blob_of(payload: object) -> Blob | None:
    """Return the blob that a payload refers to, or None if it is not a reference."""
    match payload:
        case {"$blob": str() as digest, "bytes": int() as size} if len(cast("dict[str, object]", payload)) == 2:
            return Blob(digest=digest, size=size)
        case _:
            return None


def pack(payload: Json, written: str = "") -> tuple[Json, dict[str, bytes]]:
    """Return the payload for an event, and its blobs by digest (none for a small payload). As JSON, it is ``written``.

    A payload that contains what looks like a reference becomes a blob, too: only this function makes references.
    """
    if payload is None or isinstance(payload, bool | int | float):
        return payload, {}
    body = (written or compact_json(payload)).encode()
    if len(body) <= BLOB_ABOVE and BLOB_KEY.encode() not in body:
        return payload, {}
    blob = Blob(digest=digest_of(body), size=len(body))
    return blob.model_dump(), {blob.digest: body}
