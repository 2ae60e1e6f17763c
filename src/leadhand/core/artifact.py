"""Content that is stored by digest: artifacts, the files that a run produces under their paths, and blobs.

A reference ``{"$blob": digest, "bytes": size}`` in a payload or in the request of a model call is loaded when it is
needed.
"""

import hashlib
import unicodedata
from collections.abc import Iterable
from datetime import datetime
from typing import cast

from pydantic import Field

from .errors import UsageError
from .value import Json, Value, compact_json

ALGORITHM = "sha256:"
LONGEST_PATH = 500
"""The longest path, in bytes of UTF-8."""
LONGEST_NAME = 200
"""The longest name of a file or folder, in bytes of UTF-8."""
MEMORY = "memory/"
"""The folder whose files later runs of the same flow can read."""
MAX_DEPTH = 16
"""The maximum number of names in one path."""


class FileVersion(Value):
    """One version of a file, by the digest of its content; ``by`` is the step that wrote it, and ``run_id`` the earlier
    run that it comes from ("": this run)."""

    path: str
    digest: str
    size: int
    at: datetime
    by: str = ""
    run_id: str = ""


def newest_files(written: Iterable[FileVersion], limit: int) -> list[FileVersion]:
    """Return the files that later runs may read, one for each path: the first that is given."""
    newest: dict[str, FileVersion] = {}
    for file in written:
        if file.path.startswith(MEMORY) and len(newest) < limit:
            newest.setdefault(file.path, file)
    return list(newest.values())


def digest_of(content: bytes) -> str:
    """Return the digest under which content is stored: ``sha256:`` and 64 hexadecimal digits."""
    return ALGORITHM + hashlib.sha256(content).hexdigest()


def confined(path: str) -> str:
    """Return ``path`` in its normal form: relative, and below the run's folder.

    Empty names and ``.`` are dropped, and the text is composed (Unicode NFC), so that two spellings of a path are one
    artifact. Raises UsageError for a path that leaves the folder, or that people could take for another one.
    """
    names = [name for name in unicodedata.normalize("NFC", path).split("/") if name not in ("", ".")]
    is_file = names and not path.startswith("/") and not path.endswith(("/", "/."))
    if not is_file or len(names) > MAX_DEPTH or not all(map(_is_plain, names)) or _size("/".join(names)) > LONGEST_PATH:
        shown = ascii(path[:80]) + "…" * (len(path) > 80)
        how = f"use a relative path such as notes/summary.md: at most {MAX_DEPTH} names of usual characters"
        raise UsageError(f"{shown} is not a path for an artifact", how)
    return "/".join(names)


def _is_plain(name: str) -> bool:
    """Whether a name shows all of itself, and nothing reads it as a home folder, another folder or a hidden end."""
    if not name.isprintable() or unicodedata.normalize("NFKC", name) != name or {*name} & {"\\", ":"}:
        return False
    return name[0] not in "~ " and name[-1] not in " ." and _size(name) <= LONGEST_NAME


def _size(text: str) -> int:
    return len(text.encode())


# --- blobs -----------------------------------------------------------------------------------------------------------

BLOB_ABOVE = 4_096
"""Values whose JSON is longer than this, in bytes, are stored as blobs."""
BLOB_KEY = '"$blob"'
"""What every reference to a blob has in its JSON."""


class Blob(Value):
    """A reference to content that is loaded when it is needed: its digest, and its size in bytes."""

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
