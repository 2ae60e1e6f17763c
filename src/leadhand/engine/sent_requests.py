"""Requests of model calls as the log holds them: each message once, and what many calls have in common as a blob.

The first part of a request is its head: the instructions, tools, and schema of the answer, which the calls of a worker
share. The others are its messages, large ones as blobs. A request that begins with the messages of an earlier one names
only those that follow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from leadhand.core.artifact import BLOB_ABOVE, Blob, digest_of
from leadhand.core.conversation import AssistantMessage, Message, SystemMessage
from leadhand.core.events import Entry, ModelCallBegan
from leadhand.core.value import compact_json
from leadhand.engine.redaction import Redactor
from leadhand.engine.secrets import RunSecrets
from leadhand.ports import ContextStore
from leadhand.ports.models import ModelRequest


class Packed(NamedTuple):
    """A request for the log: the call whose messages come first, the other parts, and the content of their blobs."""

    continues: str
    parts: tuple[Blob | Message, ...]
    blobs: Mapping[str, bytes]


class SentRequests:
    """The requests of one attempt. Remembers the last one, since most requests begin as the one before did."""

    def __init__(self, redactor: Redactor, secrets: RunSecrets) -> None:
        self._redactor, self._secrets = redactor, secrets
        self._packed: tuple[Any, tuple[Message, ...]] = None, ()
        self._last = "", self._packed

    def pack(self, request: ModelRequest) -> Packed:
        """Return a request for the log, which redacts the messages that are not blobs."""
        first = next((n for n, each in enumerate(request.messages) if not isinstance(each, SystemMessage)), 0)
        messages, output = request.messages[first:], request.output and request.output.schema_
        settings = request.max_tokens, request.temperature, request.reasoning_effort
        common = request.messages[:first], request.tools, output, settings
        continues, (common_before, before) = self._last
        self._packed = common, messages
        parts, blobs = list[Blob | Message](), dict[str, bytes]()
        if before and common == common_before and messages[: len(before)] == before:
            messages = messages[len(before) :]
        else:
            continues, (blob, body) = "", self._stored(_head(request, request.messages[:first]))
            parts.append(blob)
            blobs[blob.digest] = body
        for each in messages:
            if isinstance(each, AssistantMessage):  # its text is in the reply that it was, and opaque data only there
                parts.append(each if each.opaque is None else each.model_copy(update={"opaque": None}))
            elif each.size <= BLOB_ABOVE:
                parts.append(each)
            else:
                blob, body = self._stored(each.model_dump_json())
                parts.append(blob)
                blobs[blob.digest] = body
        return Packed(continues, tuple(parts), blobs)

    def _stored(self, written: str) -> tuple[Blob, bytes]:
        if not self._secrets.known and (clean := _without_secrets(self._redactor, written)) is not None:
            return clean
        clean = self._secrets.sealing().json(value := json.loads(written), written)
        body = (written if clean is value else compact_json(clean)).encode()
        return Blob(digest=digest_of(body), size=len(body)), body

    def written(self, call_id: str) -> None:
        """Take note that the request that was packed last is in the log."""
        self._last = call_id, self._packed


def _head(request: ModelRequest, instructions: Sequence[Message]) -> str:
    """Return as JSON the fields of a request that the calls of a worker have in common."""
    tools = [
        {"name": each.name, "description": each.description, "parameters": each.parameters} for each in request.tools
    ]
    common = {name: getattr(request, name) for name in ("max_tokens", "temperature", "reasoning_effort")}
    output = request.output and {"name": request.output.name, "schema": request.output.schema_}
    common |= {"messages": [each.model_dump() for each in instructions], "tools": tools, "output": output}
    return compact_json({name: value for name, value in common.items() if value is not None})


@lru_cache(maxsize=64)
def _without_secrets(redactor: Redactor, written: str) -> tuple[Blob, bytes] | None:
    """Return a part that certainly has no secret as a blob, which the attempts of many runs have in common."""
    if redactor.may_hold_secret(written):
        return None
    body = written.encode()
    return Blob(digest=digest_of(body), size=len(body)), body


@cache
def _requests() -> TypeAdapter[ModelRequest]:
    return TypeAdapter(ModelRequest)


async def sent_request(began: Entry, entries: Sequence[Entry], store: ContextStore) -> ModelRequest:
    """Return what the model call that ``began`` sent. ``entries`` are the log of its run, from the first event.

    Raises KeyError if a part is missing.
    """
    call = began.event
    assert isinstance(call, ModelCallBegan)
    parts, first = list(call.request), call
    for entry in reversed(entries[: began.seq - 1]):
        each = entry.event
        if isinstance(each, ModelCallBegan) and (each.attempt, each.call_id) == (call.attempt, first.continues):
            parts, first = [*each.request, *parts], each
    if first.continues:
        raise KeyError(first.continues)
    read: list[Any] = [json.loads(await store.blob(each.digest)) if isinstance(each, Blob) else each for each in parts]
    head, *messages = read
    return _requests().validate_python({**head, "model": call.model, "messages": [*head["messages"], *messages]})
