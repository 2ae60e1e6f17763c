"""One turn of a conversation: a reply of the model and the results of its calls, as messages."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import InitVar, dataclass, field
from typing import Any

from leadhand.core.conversation import AssistantMessage, Message, ToolCall, ToolMessage
from leadhand.core.errors import CHILD_FAILED
from leadhand.core.ids import tool_call_id
from leadhand.core.tool import TOOL_ERROR, CallState, Delegate, message_of
from leadhand.core.value import Json, compact_json, is_object, list_of, object_of, text_of
from leadhand.engine.hooks import ToolDecision

BUDGET = "tool_budget"
"""The type of failure of a call that was not made because no calls are left."""


@dataclass(slots=True)
class Turn:
    """One reply of the model (or, as turn 0, the call that the subtask itself names), and the results of its calls.

    ``done`` are the results of its calls by position, ``refused`` the positions of those that were not made, ``hooked``
    what hooks decided. ``calls`` are its calls in one flat list, whose positions number them: a call of one of the
    ``parallel`` tools is replaced by the calls that it lists. ``outer`` is, for each of them, the parallel call that
    lists it, if any; ``spans`` are the positions of each call of the message. ``objection`` is the message to the model
    if the reply was not accepted; "" until it is needed. ``first`` is the number of its first call.
    """

    step_id: str
    conversation: int
    number: int
    message: AssistantMessage
    value: Json = None
    first: int = 0
    parallel: InitVar[frozenset[str]] = frozenset()
    objection: str = ""
    done: dict[int, CallState] = field(init=False, default_factory=dict[int, CallState])
    refused: set[int] = field(init=False, default_factory=set[int])
    hooked: dict[int, ToolDecision] = field(init=False, default_factory=dict[int, ToolDecision])
    calls: tuple[ToolCall, ...] = field(init=False)
    outer: tuple[ToolCall | None, ...] = field(init=False)
    spans: tuple[range, ...] = field(init=False)
    _shown: dict[int | None, tuple[Message, ...]] = field(init=False, default_factory=dict[int | None, Any])
    _news: frozenset[str] | None = field(init=False, default=None)

    def __post_init__(self, parallel: frozenset[str]) -> None:
        made: list[tuple[ToolCall, ToolCall | None]] = []
        spans: list[range] = []
        for call in self.message.tool_calls:
            first, listed = len(made), _listed_calls(call) if call.name in parallel else []
            made += [(inner, call) for inner in listed] or [(call, None)]
            spans.append(range(first, len(made)))
        self.calls, self.outer, self.spans = tuple(each for each, _ in made), tuple(by for _, by in made), tuple(spans)

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
        if self.value is None or self.message.text or self.message.tool_calls:
            return self.message
        return self.message.model_copy(update={"text": json.dumps(self.value, ensure_ascii=False)})

    def messages(self, keep: int | None) -> tuple[Message, ...]:
        """Return the reply, with its calls as they were made, and their results, cut to ``keep`` characters.

        They are written once.
        """
        if keep not in self._shown:
            self._shown[keep] = (self._as_made(), *self._answers(keep))
        return self._shown[keep]

    def _as_made(self) -> AssistantMessage:
        if not any(map(self._changed_by, self.done)):
            return self.said
        calls = zip(self.message.tool_calls, self.spans, strict=True)
        return self.said.model_copy(update={"tool_calls": tuple(self._made(call, span) for call, span in calls)})

    def _made(self, call: ToolCall, span: range) -> ToolCall:
        made = [self.done[at].args if self._changed_by(at) else self.calls[at].arguments for at in span]
        if self.outer[span.start] is None:
            return call.model_copy(update={"arguments": made[0]})
        outer = call.arguments or {}
        listed = zip(list_of(outer.get("calls")), made, strict=True)
        calls = [each if args is None else {**object_of(each), "args": args} for each, args in listed]
        return call.model_copy(update={"arguments": {**outer, "calls": calls}})

    def _changed_by(self, position: int) -> str:
        """Return who changed the arguments of a call; "" for nobody."""
        done = self.done[position]
        if position in self.refused or done.args == self.calls[position].arguments:
            return ""
        return f"the hook {done.changed_by}" if done.changed_by else "a person"

    def _answers(self, keep: int | None) -> Iterator[ToolMessage]:
        for call, span in zip(self.message.tool_calls, self.spans, strict=True):
            contents = [_cut(self.content(position), keep) for position in span]
            ok = any(self.done[position].ok for position in span)
            content = contents[0] if self.outer[span.start] is None else f"[{','.join(contents)}]"
            yield ToolMessage(call_id=call.id, name=call.name, content=content, ok=ok)

    def content(self, position: int) -> str:
        """Return the result of a call as the model sees it, whole."""
        by = self._changed_by(position)
        note = f"{by} changed the arguments of this call; it is shown as it was made" if by else ""
        return content_of(self.done[position], note)

    @property
    def news(self) -> frozenset[str]:
        """What its calls brought, in short: nothing, where no calls were left. An error of a child is the same one
        whatever the child was asked."""
        if self._news is None:
            found: set[str] = set()
            for position, done in self.done.items():
                call, type_ = self.calls[position], done.failure.type if done.failure is not None else ""
                args = None if type_ == CHILD_FAILED else call.arguments
                written = f"{call.name} {json.dumps(args, sort_keys=True)} {self.content(position)}"
                if type_ != BUDGET:
                    found.add(hashlib.sha256(written.encode()).hexdigest())
            self._news = frozenset(found)
        return self._news


def _listed_calls(call: ToolCall) -> list[ToolCall]:
    """Return the calls that a call of a parallel tool lists; [] if its arguments are not such a list."""
    found: list[ToolCall] = []
    for number, each in enumerate(list_of((call.arguments or {}).get("calls"))):
        listed = object_of(each)
        name, args = text_of(listed.get("tool")), listed.get("args", {})
        found.append(ToolCall(id=f"{call.id}.{number}", name=name, arguments=args if is_object(args) else None))
    return found


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
