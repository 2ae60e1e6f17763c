"""Requests of model calls as the log holds them: each message once, large ones and what calls have in common as blobs.

The first part of a request is what the calls of a role have in common: tools, and the schema of the answer. The others
are its messages. A request that begins with the messages of an earlier one names only those that follow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from leadhand.core.artifact import digest_of
from leadhand.core.blob import BLOB_ABOVE, Blob
from leadhand.core.conversation import (
    AssistantMessage,
    Message,
    ModelRequest,
    OutputSpec,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from leadhand.core.events import Entry, ModelCallBegan
from leadhand.core.tool import ToolSpec
from leadhand.core.value import Frozen, Json, compact_json
from leadhand.engine.redaction import Redactor
from leadhand.ports import ContextStore

_MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)
_Stored = tuple[Blob, bytes]


class Packed(NamedTuple):
    """A request for the log: the call whose messages come first, the other parts, and the content of their blobs."""

    continues: str
    parts: tuple[Message | Blob, ...]
    blobs: Mapping[str, bytes]


class SentRequests:
    """The requests of one attempt. Remembers the last one, since most requests begin as the one before did."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._last: tuple[str, _Stored, tuple[Message, ...]] | None = None

    def pack(self, request: ModelRequest) -> Packed:
        """Return a request for the log, which redacts the messages that are not blobs."""
        form, messages = self._form_of(request), request.messages
        continues, blobs = "", {form[0].digest: form[1]}
        parts: list[Message | Blob] = [form[0]]
        if self._last is not None:
            call_id, form_before, before = self._last
            if form is form_before and before and _begins_with(messages, before):
                continues, blobs, parts = call_id, dict[str, bytes](), []
                messages = messages[len(before) :]
        for message in messages:
            if isinstance(message, SystemMessage):
                blob, body = _instructions(self._redactor, message.text)
            elif isinstance(message, UserMessage | ToolMessage) and message.size > BLOB_ABOVE:
                blob, body = _stored(self._redactor, message.model_dump())
            else:
                parts.append(_without_opaque(message))
                continue
            blobs[blob.digest] = body
            parts.append(blob)
        return Packed(continues, tuple(parts), blobs)

    def written(self, call_id: str, request: ModelRequest) -> None:
        """Take note that a request is in the log."""
        self._last = call_id, self._form_of(request), request.messages

    def _form_of(self, request: ModelRequest) -> _Stored:
        schema = None if request.output is None else Frozen(request.output.schema_)
        return _form(self._redactor, tuple(map(Frozen, request.tools)), schema, request.max_tokens)


def _without_opaque(message: Message) -> Message:
    """Return a message for the log, which has its opaque data in the reply that it was."""
    if isinstance(message, AssistantMessage) and message.opaque is not None:
        return message.model_copy(update={"opaque": None})
    return message


def _begins_with(messages: Sequence[Message], before: Sequence[Message]) -> bool:
    return len(before) <= len(messages) and all(a is b or a == b for a, b in zip(before, messages, strict=False))


@lru_cache(maxsize=64)
def _form(
    redactor: Redactor, tools: Sequence[Frozen[ToolSpec]], schema: Frozen[Any] | None, max_tokens: int
) -> _Stored:
    shown = [tool.value.model_dump(include={"name", "description", "parameters"}) for tool in tools]
    return _stored(redactor, {"tools": shown, "output": schema and schema.value, "max_tokens": max_tokens})


@lru_cache(maxsize=64)
def _instructions(redactor: Redactor, text: str) -> _Stored:
    return _stored(redactor, SystemMessage(text=text).model_dump())


def _stored(redactor: Redactor, value: Json) -> _Stored:
    body = compact_json(redactor.json(value)).encode()
    return Blob(digest=digest_of(body), size=len(body)), body


async def sent_request(began: Entry, entries: Sequence[Entry], store: ContextStore) -> ModelRequest:
    """Return what the model call that ``began`` sent. ``entries`` are the log of its run, from the first event.

    Raises KeyError if a part is missing.
    """
    call = began.event
    assert isinstance(call, ModelCallBegan)
    parts = list(call.request)
    at, first = began.seq, call
    while first.continues:
        at, first = _call_before(at, first, entries)
        parts[:0] = first.request
    read: list[Any] = [json.loads(await store.blob(each.digest)) if isinstance(each, Blob) else each for each in parts]
    form, *messages = read
    return ModelRequest(
        model=call.model,
        messages=tuple(map(_MESSAGE.validate_python, messages)),
        tools=tuple(map(ToolSpec.model_validate, form["tools"])),
        output=None if form["output"] is None else OutputSpec.model_validate({"name": "", "schema": form["output"]}),
        max_tokens=form["max_tokens"],
    )


def _call_before(seq: int, call: ModelCallBegan, entries: Sequence[Entry]) -> tuple[int, ModelCallBegan]:
    """Return the call that a call, which began with event ``seq``, continues, and the number of its event."""
    for place in range(seq - 2, -1, -1):
        event = entries[place].event
        if isinstance(event, ModelCallBegan) and (event.attempt, event.call_id) == (call.attempt, call.continues):
            return place + 1, event
    raise KeyError(call.continues)
