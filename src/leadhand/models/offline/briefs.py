"""Reads what a request to a model wants: its brief, what came back since, what was said against an earlier answer."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from leadhand.domain.conversation import ModelRequest, ToolMessage, UserMessage
from leadhand.models.json_values import object_of


class Turn(NamedTuple):
    """A request, read.

    ``brief`` is the JSON document of the first user message, None if there is none. ``results`` are the latest tool
    messages, whatever was said since. ``refused`` is what plain-text feedback said
    against an earlier answer. ``calls`` counts the tool calls made so far.
    """

    brief: dict[str, Any] | None
    results: tuple[ToolMessage, ...] = ()
    refused: str = ""
    calls: int = 0


def read_turn(request: ModelRequest) -> Turn:
    """The state of a conversation; never fails."""
    brief: dict[str, Any] | None = None
    feedback: list[str] = []
    calls = 0
    for message in request.messages:
        match message:
            case UserMessage():
                document = _object(message.text) if brief is None else None
                if document is not None:
                    brief = document
                elif brief is not None:
                    feedback.append(message.text)
            case ToolMessage():
                calls += 1
            case _:
                pass
    results: list[ToolMessage] = []
    for message in reversed(request.messages):
        if isinstance(message, ToolMessage):
            results.append(message)
        elif results:
            break
    return Turn(brief=brief, results=tuple(reversed(results)), refused="\n".join(feedback), calls=calls)


def _object(text: str) -> dict[str, Any] | None:
    try:
        return object_of(json.loads(text)) or None
    except (ValueError, RecursionError):
        return None
