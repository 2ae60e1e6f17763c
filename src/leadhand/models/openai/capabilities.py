"""What an OpenAI-compatible server supports for a model, learned from its refusals.

Servers differ in the details of the protocol. Each ability is tried in its best form first. A refusal that names the
ability switches to the next form, which the client remembers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from leadhand.domain.conversation import ModelRequest

from .errors import speaks_of_length


class OutputMode(StrEnum):
    """Ways to request a structured answer, best first."""

    JSON_SCHEMA = "json_schema"
    FUNCTION = "function"
    PROMPT = "prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """``tools``: calls are part of the protocol; else they are asked for in words. ``token_limit`` is the field that
    bounds an answer. ``stream``: answers can be streamed; ``stream_usage``: a stream tells what it used if asked.
    ``system``: instructions have a role of their own; else they begin the first user message."""

    output: OutputMode = OutputMode.JSON_SCHEMA
    tools: bool = True
    token_limit: str = "max_tokens"
    stream: bool = True
    stream_usage: bool = True
    system: bool = True


_REFUSALS = frozenset({400, 404, 405, 415, 422, 500, 501})
"""Statuses that may refuse a feature: 404 is OpenRouter's ("no endpoints found that support tool use"), 500 that of
older llama.cpp servers."""

_SCHEMA_WORDS = (
    "response_format",
    "response format",
    "json_schema",
    "json schema",
    "structured output",
    "json mode",
    "grammar",
    "guided",
)
_TOOL_CHOICE_WORDS = ("tool_choice", "tool choice")
# Phrases, not words: a complaint about one tool call of the history must not cost the model its tools.
_TOOL_PHRASES = (
    "support tool",
    "supports tool",
    "support function",
    "supports function",
    "tool calling",
    "tool use",
    "function calling",
    "enable-auto-tool-choice",
    "tools is not",
    "tools are not",
    "tools: extra",
    "parameter: tools",
    "parameters: tools",
    "argument: tools",
    "supplied: tools",
    "field: tools",
    "unknown field tools",
)
_SYSTEM_PHRASES = (
    "system role",  # the chat templates of Gemma, in vLLM and llama.cpp
    "role system",
    "support system with",  # OpenAI's o1: "does not support 'system' with this model"
    "system messages are not",
    "developer instruction is not",
)
_UNSUPPORTED_WORDS = (
    "support",
    "unknown",
    "unrecognized",
    "unrecognised",
    "unexpected",
    "not allowed",
    "not permitted",
    "extra inputs",
    "invalid",
    "unavailable",
    "not available",
    "not enabled",
    "requires",
    "must be",
    "cannot",
    "can't",
    "failed",
)


_NEXT = {OutputMode.JSON_SCHEMA: OutputMode.FUNCTION, OutputMode.FUNCTION: OutputMode.PROMPT}


def ignored(abilities: Abilities) -> Abilities | None:
    """The abilities to try next after a server accepted the request for a structured answer but returned prose; None if
    there is no other form. Some servers drop the fields they do not know, and the model never sees the schema."""
    following = _NEXT.get(abilities.output)
    return None if following is None else replace(abilities, output=following)


def learn(
    abilities: Abilities, request: ModelRequest, status: int, message: str, *, streamed: bool
) -> Abilities | None:
    """The abilities to try next after ``message`` refused a request made with ``abilities``; None if it refused nothing
    that has another form."""
    if status not in _REFUSALS:
        return None
    said = message.casefold().replace("`", "").replace("'", "").replace('"', "")
    # "max_completion_tokens is too large: this model's maximum context length is …" refuses a number, not a field.
    if speaks_of_length(said) or not any(word in said for word in _UNSUPPORTED_WORDS):
        return None
    if "max_completion_tokens" in said and abilities.token_limit == "max_tokens":
        return replace(abilities, token_limit="max_completion_tokens")
    if streamed and abilities.stream_usage and ("stream_options" in said or "include_usage" in said):
        return replace(abilities, stream_usage=False)
    if streamed and abilities.stream and re.search(r"\bstream(ing)?\b", said):
        return replace(abilities, stream=False)
    if abilities.system and any(phrase in said for phrase in _SYSTEM_PHRASES):
        return replace(abilities, system=False)
    if request.output is not None:
        if abilities.output is OutputMode.JSON_SCHEMA and any(word in said for word in _SCHEMA_WORDS):
            return replace(abilities, output=OutputMode.FUNCTION)
        if abilities.output is OutputMode.FUNCTION and any(
            word in said for word in (*_TOOL_CHOICE_WORDS, *_TOOL_PHRASES)
        ):
            return replace(abilities, output=OutputMode.PROMPT)
    if request.tools and abilities.tools and any(phrase in said for phrase in _TOOL_PHRASES):
        return replace(abilities, tools=False)
    return None
