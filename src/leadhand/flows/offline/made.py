"""The calls that a conversation shows, for offline rules of workers that take several turns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from leadhand.domain.conversation import AssistantMessage, Message, ToolMessage
from leadhand.domain.value import Json, list_of, object_of, objects_of, text_of

from .rule import Call, OfflineRequest

PARALLEL = "parallel_tool_call"


class Made(NamedTuple):
    """A call of the conversation, also one inside ``parallel_tool_call``, and what it returned."""

    tool: str
    args: dict[str, Any]
    said: Json

    @property
    def failed(self) -> str:
        """Why it failed; "" if it did not."""
        said = object_of(self.said)
        return (text_of(said.get("message")) or "it failed") if said.get("isError") is True else ""

    @property
    def message(self) -> Json:
        """What a tool of the research flow returned: text or JSON."""
        return _decoded(object_of(self.said).get("message"))


def calls_made(messages: Sequence[Message]) -> Iterator[Made]:
    """Every call of a conversation that has a result, in order."""
    results = {each.call_id: each for each in messages if isinstance(each, ToolMessage)}
    for message in messages:
        for call in message.tool_calls if isinstance(message, AssistantMessage) else ():
            result = results.get(call.id)
            if result is None:
                continue
            said, args = _decoded(result.content), object_of(call.arguments)
            if call.name == PARALLEL:
                for inner, own in zip(objects_of(args.get("calls")), list_of(said), strict=False):
                    yield Made(text_of(inner.get("tool")), object_of(inner.get("args")), _decoded(own))
            else:
                yield Made(call.name, args, said)


def together(calls: Sequence[Call], request: OfflineRequest) -> Call:
    """Return one call that makes all of them, if that tool is offered; else the first, and the others follow."""
    if len(calls) == 1 or all(tool.name != PARALLEL for tool in request.tools):
        return calls[0]
    return Call(PARALLEL, {"calls": [{"tool": call.tool, "args": call.args} for call in calls]})


def _decoded(content: Json) -> Json:
    """Return the JSON of a text; the text itself if it is not JSON."""
    try:
        return json.loads(content) if isinstance(content, str) else content
    except ValueError:
        return content
