"""A run's log as the engine writes it: every event is redacted, and carries its blobs, on its way into the store."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, cast

from leadhand.domain.artifact import digest_of
from leadhand.domain.events import AnyEvent, Entry
from leadhand.domain.value import Json
from leadhand.domain.work_result import BLOB_ABOVE, blob_reference
from leadhand.engine.redaction import Redactor
from leadhand.ports import ContextStore


class RunLog:
    """Appends to one run. Nothing in the engine writes to the store by any other way."""

    def __init__(self, store: ContextStore, run_id: str, redactor: Redactor) -> None:
        self._store = store
        self._redactor = redactor
        self.run_id = run_id

    def append(
        self,
        *events: AnyEvent,
        epoch: int | None = None,
        current: str | None = None,
        blobs: Mapping[str, bytes] | None = None,
    ) -> Awaitable[list[Entry]]:
        """Take a place in the log at once; await to know that it is committed. Raises as the store's append does."""
        clean: Sequence[AnyEvent] = [self._redactor.value(event) for event in events]
        return self._store.append(self.run_id, clean, epoch=epoch, current=current, blobs=blobs)

    def pack(self, payload: Json) -> tuple[Json, dict[str, bytes]]:
        """A payload as an event carries it, and the blobs to append with that event; without secrets."""
        return pack(self._redactor.payload(payload))

    async def unpack(self, payload: Json) -> Json:
        """A payload itself, whichever way it is kept. Raises KeyError when the blob is gone."""
        digest = blob_reference(payload)
        if digest is not None:
            return json.loads(await self._store.blob(digest))
        if isinstance(payload, dict):  # the data of several calls, each by itself
            return {key: await self.unpack(inner) for key, inner in cast("dict[str, Any]", payload).items()}
        return payload


def pack(payload: Json) -> tuple[Json, dict[str, bytes]]:
    """The payload as an event carries it, and the blobs to keep with that event (by digest; none for a small one)."""
    if payload is None or isinstance(payload, bool | int | float):
        return payload, {}
    body = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
    if len(body) <= BLOB_ABOVE:
        return payload, {}
    digest = digest_of(body)
    return {"$blob": digest, "bytes": len(body)}, {digest: body}
