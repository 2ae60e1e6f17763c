"""Requests of model calls as the log holds them: each message once, and what many calls have in common as a blob.

The first part of a request is its head: the instructions, tools, and schema of the answer, which the calls of a worker
share. The others are its messages, large ones as blobs. A request that begins with the messages of an earlier one names
only those that follow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from leadhand.core.artifact import BLOB_ABOVE, Blob, digest_of
from leadhand.core.conversation import AssistantMessage, Message, SystemMessage
from leadhand.core.events import Entry, ModelCallBegan
from leadhand.core.tool import ToolSpec
from leadhand.core.value import Json, compact_json
from leadhand.engine.gate import Frozen
from leadhand.engine.redaction import Redactor
from leadhand.ports import ContextStore
from leadhand.ports.models import ModelRequest, OutputSpec

_MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)
_Stored = tuple[Blob, bytes]


class Packed(NamedTuple):
    """A request for the log: the call whose messages come first, the other parts, and the content of their blobs."""

    continues: str
    parts: tuple[Blob | Message, ...]
    blobs: Mapping[str, bytes]


class SentRequests:
    """The requests of one attempt. Remembers the last one, since most requests begin as the one before did."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._last: tuple[str, _Stored, Sequence[Message]] | None = None

    def pack(self, request: ModelRequest) -> Packed:
        """Return a request for the log, which redacts the messages that are not blobs."""
        (head, body), messages = self._parts(request)
        if self._last is not None:
            call_id, (head_before, _), before = self._last
            if head is head_before and before and _begins_with(messages, before):
                blobs = dict[str, bytes]()
                return Packed(call_id, tuple(self._packed(each, blobs) for each in messages[len(before) :]), blobs)
        blobs = {head.digest: body}
        return Packed("", (head, *(self._packed(each, blobs) for each in messages)), blobs)

    def written(self, call_id: str, request: ModelRequest) -> None:
        """Take note that a request is in the log."""
        self._last = call_id, *self._parts(request)

    def _parts(self, request: ModelRequest) -> tuple[_Stored, Sequence[Message]]:
        instructions, messages = "", request.messages
        if messages and isinstance(messages[0], SystemMessage):
            instructions, messages = messages[0].text, messages[1:]
        schema = None if request.output is None else Frozen(request.output.schema_)
        tools = tuple(map(Frozen, request.tools))
        settings = request.max_tokens, request.temperature, request.reasoning_effort
        return _head(self._redactor, instructions, tools, schema, settings), messages

    def _packed(self, message: Message, blobs: dict[str, bytes]) -> Blob | Message:
        if isinstance(message, AssistantMessage):  # its text is in the reply that it was, and opaque data only there
            return message if message.opaque is None else message.model_copy(update={"opaque": None})
        if message.size <= BLOB_ABOVE:
            return message
        blob, blobs[blob.digest] = _stored(self._redactor, message.model_dump())
        return blob


def _begins_with(messages: Sequence[Message], before: Sequence[Message]) -> bool:
    return len(before) <= len(messages) and all(a is b or a == b for a, b in zip(before, messages, strict=False))


@lru_cache(maxsize=64)
def _head(
    redactor: Redactor,
    instructions: str,
    tools: Sequence[Frozen[ToolSpec]],
    schema: Frozen[Any] | None,
    settings: tuple[int, float | None, str | None],
) -> _Stored:
    shown = [tool.value.model_dump(include={"name", "description", "parameters"}) for tool in tools]
    output = schema and schema.value
    max_tokens, temperature, effort = settings
    common = {"instructions": instructions, "tools": shown, "output": output, "max_tokens": max_tokens}
    common |= {} if temperature is None else {"temperature": temperature}
    common |= {} if effort is None else {"reasoning_effort": effort}
    return _stored(redactor, common)


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
    head, *messages = read
    if head["instructions"]:
        messages.insert(0, SystemMessage(text=head["instructions"]))
    return ModelRequest(
        model=call.model,
        messages=tuple(map(_MESSAGE.validate_python, messages)),
        tools=tuple(map(ToolSpec.model_validate, head["tools"])),
        output=None if head["output"] is None else OutputSpec.model_validate({"name": "", "schema": head["output"]}),
        max_tokens=head["max_tokens"],
        temperature=head.get("temperature"),
        reasoning_effort=head.get("reasoning_effort"),
    )


def _call_before(seq: int, call: ModelCallBegan, entries: Sequence[Entry]) -> tuple[int, ModelCallBegan]:
    """Return the call that a call, which began with event ``seq``, continues, and the number of its event."""
    for place in range(seq - 2, -1, -1):
        event = entries[place].event
        if isinstance(event, ModelCallBegan) and (event.attempt, event.call_id) == (call.attempt, call.continues):
            return place + 1, event
    raise KeyError(call.continues)
