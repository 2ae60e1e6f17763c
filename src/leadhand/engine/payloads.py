"""Large payloads: kept once, by digest, beside the log; small ones stay where they are."""

from __future__ import annotations

import hashlib
import json
from typing import Any, cast

from leadhand.domain.value import Json
from leadhand.domain.work_result import BLOB_ABOVE, blob_reference
from leadhand.ports import ContextStore


def pack(payload: Json) -> tuple[Json, dict[str, bytes]]:
    """The payload as an event carries it, and the blobs to keep with that event (by digest; none for a small one)."""
    if payload is None or isinstance(payload, bool | int | float):
        return payload, {}
    body = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
    if len(body) <= BLOB_ABOVE:
        return payload, {}
    digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
    return {"$blob": digest, "bytes": len(body)}, {digest: body}


async def unpack(payload: Json, store: ContextStore) -> Json:
    """The payload itself, whichever way it is kept. Raises KeyError when the blob is gone."""
    digest = blob_reference(payload)
    if digest is not None:
        return json.loads(await store.blob(digest))
    if isinstance(payload, dict):  # the data of several calls, each by itself
        return {key: await unpack(inner, store) for key, inner in cast("dict[str, Any]", payload).items()}
    return payload
