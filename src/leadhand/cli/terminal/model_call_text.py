"""One model call as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from leadhand.app.formatting import count, duration, money
from leadhand.app.steering.model_calls import ModelCallDocument
from leadhand.core.conversation import ToolCall


def model_call_lines(call: ModelCallDocument) -> Iterator[str]:
    """What the model was sent, what it answered, and what that used."""
    yield f"{call.call_id}  {call.worker}, {call.model}"
    yield ", ".join(_used(call))
    for message in call.prompt.messages:
        named = f" {message.name}" if message.name else ""
        yield from _part(f"{message.role}{named}", message.text, message.tool_calls)
    if call.prompt.tools:
        yield from _part("tools", ", ".join(tool.name for tool in call.prompt.tools))
    if call.prompt.output is not None:
        yield from _part("schema of the answer", _json(call.prompt.output))
    if call.reply is not None:
        value = "" if call.reply.value is None else _json(call.reply.value)
        yield from _part("reply", call.reply.text or value, call.reply.tool_calls)
    if call.failure is not None:
        yield from _part("failed", call.failure.message)


def _used(call: ModelCallDocument) -> Iterator[str]:
    if (used := call.usage) is not None:
        cached = f" ({used.cached_tokens:,} cached)" if used.cached_tokens else ""
        yield f"{count(used.input_tokens, 'token')} in{cached}, {used.output_tokens:,} out"
        yield money(used.cost_usd)
    yield duration(call.duration_ms / 1_000) if call.duration_ms is not None else "not answered yet"


def _part(title: str, text: str, calls: tuple[ToolCall, ...] = ()) -> Iterator[str]:
    yield from ["", f"── {title}"]
    if text:
        yield text
    yield from (f"calls {each.name} {each.raw if each.arguments is None else _json(each.arguments)}" for each in calls)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
