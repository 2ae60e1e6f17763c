"""One turn of a conversation: a reply of the model and the results of its calls, as messages."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from leadhand.core.conversation import AssistantMessage, Message, ToolCall, ToolMessage
from leadhand.core.errors import CHILD_FAILED
from leadhand.core.ids import tool_call_id
from leadhand.core.tool import TOOL_ERROR, CallState, Delegate, ToolSpec, message_of
from leadhand.core.value import Json, compact_json, is_object, list_of, object_of, text_of
from leadhand.engine.hooks import ToolDecision

BUDGET = "tool_budget"
"""The type of failure of a call that was not made because no calls are left."""


@dataclass
class Turn:
    """One reply of the model (or, as turn 0, the call that the subtask itself names), and the results of its calls.

    ``done`` are the results of its calls by position, ``refused`` the positions of those that were not made, ``hooked``
    what hooks decided. ``objection`` is the message to the model if the reply was not accepted; "" until it is needed.
    ``first`` is the number of its first call.
    """

    step_id: str
    conversation: int
    number: int
    message: AssistantMessage
    value: Json = None
    first: int = 0
    objection: str = ""
    done: dict[int, CallState] = field(init=False, default_factory=dict[int, CallState])
    refused: set[int] = field(init=False, default_factory=set[int])
    hooked: dict[int, ToolDecision] = field(init=False, default_factory=dict[int, ToolDecision])
    _shown: dict[int | None, tuple[Message, ...]] = field(init=False, default_factory=dict[int | None, Any])

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return self.message.tool_calls

    def call_id(self, position: int) -> str:
        return tool_call_id(self.step_id, self.conversation, self.number, self.first + position)

    @property
    def open(self) -> list[int]:
        """The positions of the calls that have no result."""
        return [position for position in range(len(self.calls)) if position not in self.done]

    @property
    def results(self) -> list[CallState]:
        """The results of its calls, in their order."""
        return [self.done[position] for position in sorted(self.done)]

    @property
    def said(self) -> AssistantMessage:
        """The message of the model; a structured answer is written as JSON."""
        if self.value is None or self.message.text or self.calls:
            return self.message
        return self.message.model_copy(update={"text": json.dumps(self.value, ensure_ascii=False)})

    def messages(self, keep: int | None) -> tuple[Message, ...]:
        """Return the reply and the results of its calls, cut to ``keep`` characters. They are written once."""
        if keep not in self._shown:
            results = (
                ToolMessage(call_id=call.id, name=call.name, content=_cut(self.content(at), keep), ok=self.done[at].ok)
                for at, call in enumerate(self.calls)
            )
            self._shown[keep] = (self.said, *results)
        return self._shown[keep]

    def content(self, position: int) -> str:
        """Return the result of a call as the model sees it, whole; first, who changed its arguments, if anyone did."""
        done, written = self.done[position], self.calls[position].arguments
        if position in self.refused or done.args == written:
            return content_of(done)
        by = f"the hook {done.changed_by}" if done.changed_by else "a person"
        return content_of(done, f"{by} changed the arguments of this call to {compact_json(done.args)}")

    @cached_property
    def news(self) -> frozenset[int]:
        """What its calls brought, in short: nothing, where no calls were left. An error of a child is the same one
        whatever the child was asked."""
        found: set[int] = set()
        for position, done in self.done.items():
            call, type_ = self.calls[position], done.failure.type if done.failure is not None else ""
            args = None if type_ == CHILD_FAILED else call.arguments
            if type_ != BUDGET:
                found.add(hash((call.name, json.dumps(args, sort_keys=True), self.content(position))))
        return frozenset(found)


def with_listed_calls(message: AssistantMessage, tools: Mapping[str, ToolSpec]) -> AssistantMessage:
    """Return a message in which each call of a ``parallel`` tool is replaced by the calls that it lists.

    The first one keeps its id, to which opaque data may refer. The others get ids as Mistral requires them.
    """
    if not any(call.name in tools and tools[call.name].parallel for call in message.tool_calls):
        return message
    made: list[ToolCall] = []
    for call in message.tool_calls:
        parallel = call.name in tools and tools[call.name].parallel
        listed = list_of((call.arguments or {}).get("calls")) if parallel else []
        for number, each in enumerate(map(object_of, listed)):
            args, name = each.get("args", {}), text_of(each.get("tool"))
            id_ = hashlib.sha256(f"{call.id}.{number}".encode()).hexdigest()[:9] if number else call.id
            made.append(ToolCall(id=id_, name=name, arguments=args if is_object(args) else None))
        if not listed:
            made.append(call)
    return message.model_copy(update={"tool_calls": tuple(made)})


# --- what a model is shown of a result -------------------------------------------------------------------------------


def _cut(content: str, keep: int | None) -> str:
    """Return the content of a tool message, cut after ``keep`` characters."""
    if keep is None or len(content) <= keep:
        return content
    note = f"shortened: {len(content)} characters in all, too many for this conversation"
    return json.dumps({"note": note, "beginning": content[:keep]}, ensure_ascii=False)


def content_of(result: CallState, note: str = "") -> str:
    """Return the result of a call as the model sees it: a JSON object, which begins with the ``note``, if any."""
    content = _content(result)
    return compact_json({"note": note, **content} if note else content)


def _content(result: CallState) -> Mapping[str, Any]:
    failure, raw = result.failure, result.raw
    if failure is not None:
        error = {"isError": True, "message": failure.message}
        own = failure.type in (TOOL_ERROR, CHILD_FAILED)  # the words of the tool, or of another worker
        return error if own else {**error, "class": failure.class_.value}
    if is_object(raw) and isinstance(raw.get("isError"), bool):
        return {**raw, "message": said} if (said := message_of(raw)) is not raw else raw
    tasks = sum(isinstance(ask, Delegate) for ask in result.asks)
    if tasks and result.summary is None and is_object(raw):  # the structured answers of other workers
        return _answer(raw) if tasks == 1 else {key: _answer(each) for key, each in raw.items()}
    fields: dict[str, Any] = {"summary": None if _repeats(result.summary, raw) else result.summary, "raw": raw}
    if result.sources:
        fields["sources"] = [source.model_dump() for source in result.sources]
    if result.artifacts:
        fields["artifacts"] = result.artifacts
    if result.sample:
        fields["sample"] = True
    return {key: value for key, value in fields.items() if value is not None}


def _repeats(summary: str | None, raw: Json) -> bool:
    """Whether a summary only repeats the data."""
    is_json = summary is not None and summary[:1] in ("{", "[")
    return summary is not None and summary == (compact_json(raw) if is_json else raw)


def _answer(value: Json) -> Json:
    """Return the answer of another worker without the passages that code recorded with it."""
    if not is_object(value):
        return value
    return {key: each for key, each in value.items() if key != "passages" and each is not None}
