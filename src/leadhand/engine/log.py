"""The log of a run, as the engine writes it: secrets become references, and large payloads become blobs."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

from leadhand.core.artifact import blob_of, pack
from leadhand.core.events import AnyEvent, Entry, NoteEmitted, QuestionAnswered, Request, RunStarted, SignalSent
from leadhand.core.run import RunDefinition
from leadhand.core.secret import LOOKS_LIKE_ONE, OF_REQUEST, Secret, has_secret
from leadhand.core.tool import ToolReturn
from leadhand.core.value import FrozenDict, Json, Value, compact_json, frozen
from leadhand.engine.redaction import Redactor
from leadhand.engine.secrets import RunSecrets
from leadhand.engine.sent_requests import Packed, SentRequests
from leadhand.ports import ContextStore
from leadhand.ports.heads import RunHead
from leadhand.ports.models import ModelRequest

_V = TypeVar("_V", bound=Value)
_FROM_OUTSIDE = (QuestionAnswered, SignalSent)
"""Events with text that people or programs wrote: nothing in it refers to a secret."""


class RunLog:
    """Appends to one run. The engine writes to the store only through this class."""

    def __init__(self, store: ContextStore, run_id: str, redactor: Redactor) -> None:
        self._store = store
        self._redactor = redactor
        self.run_id = run_id
        self.secrets = RunSecrets.of(store, run_id, redactor)
        self.requests = SentRequests(redactor, self.secrets)

    async def create(self, definition: RunDefinition, **jobs: Any) -> Entry:
        """Create the run. What it follows up may refer to secrets of the earlier run, which this run then has, too."""
        follows, seal = definition.follows, self.secrets.sealing(OF_REQUEST, foreign=True)
        if follows is not None and has_secret(compact_json(follows.model_dump(mode="json"))):
            self.secrets.add(await self._store.secrets(follows.run_id))
        given = definition.model_copy(update={"follows": None})
        given = seal.value(given, given.model_dump_json())
        started = RunStarted(definition=given.model_copy(update={"follows": follows}) if follows is not None else given)
        return await self._store.create(self.run_id, started, **self._new((started.body,)), **jobs)

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
        clean = [event if self._is_clean(event.body, type(event)) else self._sealed(event) for event in events]
        shared: dict[str, Any] = {name: value for name, value in (("begins", begins), ("head", head)) if value}
        if self.secrets.known:
            shared |= self._new([*(event.body for event in clean), *(blobs or {}).values()])
        return self._store.append(self.run_id, clean, epoch=epoch, current=current, blobs=blobs, **shared)

    def note(self, attempt: str, message: object) -> None:
        """Record what code of users reports."""
        self.append(NoteEmitted(attempt=attempt, message=str(message).encode(errors="replace").decode()))

    def packed(self, request: ModelRequest) -> Packed:
        """Return a request that no other continues, for the log."""
        return SentRequests(self._redactor, self.secrets).pack(request)

    async def entries(self, after: int = 0, limit: int | None = None) -> Sequence[Entry]:
        """Return the entries of the run so far, those with a sequence above ``after``, and at most ``limit``."""
        return await self._store.read(self.run_id, after, limit)

    def _is_clean(self, written: str, kind: type[Any] | None = None, *, foreign: bool = False) -> bool:
        """Whether something that is ``written`` so certainly has no secrets and, of elsewhere, no references to any."""
        if self.secrets.known or self._redactor.may_hold_secret(written):
            return False
        return not ((foreign or kind in _FROM_OUTSIDE) and LOOKS_LIKE_ONE in written)

    def _sealed(self, event: AnyEvent) -> AnyEvent:
        origin = OF_REQUEST if isinstance(event, Request) else ""
        return self.secrets.sealing(origin, foreign=isinstance(event, _FROM_OUTSIDE)).value(event, event.body)

    def _new(self, written: Iterable[str | bytes]) -> dict[str, tuple[Secret, ...]]:
        """Return the secrets to write with what is written, for the store."""
        return {"secrets": named} if (named := self.secrets.named_in(written)) else {}

    def sealed(self, value: _V, *, foreign: bool = True, **of: Any) -> _V:
        """Return what comes from somewhere as the engine works with it and the log holds it: with references in place
        of its secrets. ``of`` is what :meth:`RunSecrets.sealing` takes."""
        written = value.model_dump_json()
        if self._is_clean(written, foreign=foreign):
            return value
        return self.secrets.sealing(foreign=foreign, **of).value(value, written)

    def sealed_return(self, returned: ToolReturn, **of: Any) -> tuple[ToolReturn, str]:
        """Return what a tool returned as :meth:`sealed` does, and its data as JSON ("": they are not known as JSON)."""
        written = compact_json(returned.raw)
        whole = written + returned.model_dump_json(exclude={"raw"})
        if self._is_clean(whole, foreign=True):
            return returned, written
        sealed = self.secrets.sealing(**of).value(returned, whole)
        return sealed, written if sealed is returned else ""

    def pack(self, payload: Json) -> tuple[Json, dict[str, bytes]]:
        """Return a payload for an event, and the blobs to append with the event, both without secrets."""
        written = compact_json(payload)
        clean = self.secrets.sealing().json(payload, written)
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
