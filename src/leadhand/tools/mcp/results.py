"""What an MCP tool returns, as the result of a call."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from mcp import types

from leadhand.core.errors import ToolError
from leadhand.core.tool import TOOL_ERROR, Source, ToolReturn
from leadhand.core.value import Json, object_of

LONGEST_REPEATED = 500
"""Characters of a text that is shown in words although the data repeat it."""


def returned(result: types.CallToolResult) -> ToolReturn:
    """Return structured content as data, else the text of all parts. Raises ToolError if the tool reports an error."""
    text = "\n".join(filter(None, map(_text, result.content)))
    if result.is_error:
        raise ToolError(text or "the tool reports an error", type=TOOL_ERROR)
    sources = tuple(_sources(result.content))
    if "structured_content" not in result.model_fields_set or result.structured_content is None:
        return ToolReturn(raw=_data(text), sources=sources)
    raw: Any = result.structured_content
    repeats = _data(text) == raw or (len(text) > LONGEST_REPEATED and text in object_of(raw).values())
    return ToolReturn(raw=raw, summary=None if not text or repeats else text, sources=sources)


def read(text: str) -> Json:
    """Return what a text is the JSON of, else the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _data(text: str) -> Json:
    return read(text) if text[:1] in ("{", "[") else text


def _text(part: types.ContentBlock) -> str:
    """Return a part of a result as a worker reads it. Of an image and the like, it reads what it is."""
    match part:
        case types.TextContent():
            return part.text
        case types.ImageContent() | types.AudioContent():
            return f"[{part.type}: {part.mime_type}, {_size(part.data)}]"
        case types.ResourceLink():
            return f"[{part.title or part.name}: {part.uri}{f', {part.description}' if part.description else ''}]"
        case types.EmbeddedResource():
            held = part.resource
            if isinstance(held, types.TextResourceContents):
                return held.text
            return f"[{held.uri}: {held.mime_type or 'data'}, {_size(held.blob)}]"


def _size(encoded: str) -> str:
    return f"{len(encoded) * 3 // 4:,} bytes"


def _sources(parts: Iterable[types.ContentBlock]) -> Iterable[Source]:
    links = (part for part in parts if isinstance(part, types.ResourceLink))
    return (Source(title=each.title or each.name, url=str(each.uri)) for each in links)
