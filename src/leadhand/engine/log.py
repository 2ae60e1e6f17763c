"""A run's log as the engine writes it: every event is redacted, and carries its blobs, on its way into the store."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence

from leadhand.domain.events import AnyEvent, Entry
from leadhand.domain.value import Json
from leadhand.engine.payloads import pack, unpack
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
        """A payload itself, whichever way it is kept."""
        return await unpack(payload, self._store)
