"""The log of a run, as the engine writes it: events are redacted, and large payloads become blobs."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, cast

from leadhand.core.artifact import blob_of, pack
from leadhand.core.events import AnyEvent, Entry, NoteEmitted
from leadhand.core.value import FrozenDict, Json, compact_json, frozen
from leadhand.engine.redaction import Redactor
from leadhand.engine.sent_requests import SentRequests
from leadhand.ports import ContextStore
from leadhand.ports.heads import RunHead


class RunLog:
    """Appends to one run. The engine writes to the store only through this class."""

    def __init__(self, store: ContextStore, run_id: str, redactor: Redactor) -> None:
        self._store = store
        self._redactor = redactor
        self.run_id = run_id
        self.requests = SentRequests(redactor)

    def append(
        self,
        *events: AnyEvent,
        epoch: int | None = None,
        current: str | None = None,
        begins: str | None = None,
        blobs: Mapping[str, bytes] | None = None,
        head: RunHead | None = None,
    ) -> Awaitable[list[Entry]]:
        """Reserve a place in the log at once; await the result to wait for the commit. Raises as the store's append
        does; ``begins`` is only for stores that are shared.
        """
        clean: Sequence[AnyEvent] = [self._redactor.value(event, event.body) for event in events]
        shared: dict[str, Any] = {name: value for name, value in (("begins", begins), ("head", head)) if value}
        return self._store.append(self.run_id, clean, epoch=epoch, current=current, blobs=blobs, **shared)

    def note(self, attempt: str, message: object) -> None:
        """Record what code of users reports."""
        self.append(NoteEmitted(attempt=attempt, message=str(message).encode(errors="replace").decode()))

    async def entries(self, after: int = 0, limit: int | None = None) -> Sequence[Entry]:
        """Return the entries of the run so far, those with a sequence above ``after``, and at most ``limit``."""
        return await self._store.read(self.run_id, after, limit)

    def redacted(self, text: str) -> str:
        """Return a text as the log holds it."""
        return self._redactor.text(text)

    def redacted_value(self, value: Json) -> Json:
        """Return JSON as the log holds it; the same object if it contains no secrets."""
        return self._redactor.json(value)

    def pack(self, payload: Json) -> tuple[Json, dict[str, bytes]]:
        """Return a payload for an event, and the blobs to append with the event, both redacted."""
        written = compact_json(payload)
        clean = self._redactor.json(payload, written)
        return pack(clean, written if clean is payload else "")

    async def unpack(self, payload: Json) -> Json:
        """Return a payload, loading its blob if necessary. Raises KeyError if the blob is missing."""
        blob = blob_of(payload)
        if blob is not None:
            return frozen(json.loads(await self._store.blob(blob.digest)))
        if isinstance(payload, dict):  # the data of several calls, one by one
            fields = cast("dict[str, Any]", payload)
            return FrozenDict({key: await self.unpack(inner) for key, inner in fields.items()})
        return payload
