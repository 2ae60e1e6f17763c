"""What an OpenAI-compatible server supports for a model, learned from its refusals.

Each ability is tried in its best form first. A refusal that names it switches to the next, which the client remembers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from leadhand.core.value import object_of
from leadhand.ports.models import ModelRequest

from .errors import speaks_of_length


class OutputMode(StrEnum):
    """Ways to request a structured answer, best first."""

    JSON_SCHEMA = "json_schema"
    FUNCTION = "function"
    PROMPT = "prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """``tools``: calls are part of the protocol; else they are requested in words. ``token_limit`` is the field that
    limits an answer. ``stream``: answers can be streamed; ``stream_usage``: a stream reports its usage on request.
    ``system``: instructions are a system message; else they begin the first user message."""

    output: OutputMode = OutputMode.JSON_SCHEMA
    tools: bool = True
    token_limit: str = "max_tokens"
    stream: bool = True
    stream_usage: bool = True
    system: bool = True

    @classmethod
    def remembered(cls, document: object) -> Abilities | None:
        """The abilities that were stored as JSON; None if another release stored something else."""
        try:
            fields = {**object_of(document)}
            fields["output"] = OutputMode(fields["output"])
            return cls(**fields)
        except (KeyError, TypeError, ValueError):
            return None


_REFUSALS = frozenset({400, 404, 405, 415, 422, 500, 501})
"""Statuses that may refuse a feature: 404 is OpenRouter's ("no endpoints found"), 500 older llama.cpp's."""

_SCHEMA = re.compile(r"response[ _]format|json[ _]schema|structured output|json mode|grammar|guided")
# Phrases, not words: an error about one tool call of the history must not disable tools.
_TOOLS = re.compile(
    r"supports? (tool|function)|(tool|function) calling|tool use|enable-auto-tool-choice"
    r"|tools (is|are) not|tools: extra|(parameters?|argument|supplied|field): tools|unknown field tools"
)
_TOOL_CHOICE = re.compile(rf"tool[ _]choice|{_TOOLS.pattern}")
_SYSTEM = re.compile(
    r"system role|role system"  # the chat templates of Gemma, in vLLM and llama.cpp
    r"|support system with"  # OpenAI's o1: "does not support 'system' with this model"
    r"|system messages are not|developer instruction is not"
)
_UNSUPPORTED = re.compile(
    r"support|unknown|unrecogni[sz]ed|unexpected|not (allowed|permitted|available|enabled)|extra inputs|invalid"
    r"|unavailable|requires|must be|cannot|failed"
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
    """The abilities to try next after ``message`` refused a request made with ``abilities``; None after the last."""
    if status not in _REFUSALS:
        return None
    said = message.casefold().replace("`", "").replace("'", "").replace('"', "")
    # "max_completion_tokens is too large: this model's maximum context length is …" refuses a number, not a field.
    if speaks_of_length(said) or not _UNSUPPORTED.search(said):
        return None
    if "max_completion_tokens" in said and abilities.token_limit == "max_tokens":
        return replace(abilities, token_limit="max_completion_tokens")
    if streamed and abilities.stream_usage and ("stream_options" in said or "include_usage" in said):
        return replace(abilities, stream_usage=False)
    if streamed and abilities.stream and re.search(r"\bstream(ing)?\b", said):
        return replace(abilities, stream=False)
    if abilities.system and _SYSTEM.search(said):
        return replace(abilities, system=False)
    if request.output is not None:
        refused = {OutputMode.JSON_SCHEMA: _SCHEMA, OutputMode.FUNCTION: _TOOL_CHOICE}.get(abilities.output)
        if refused is not None and refused.search(said):
            return ignored(abilities)
    if request.tools and abilities.tools and _TOOLS.search(said):
        return replace(abilities, tools=False)
    return None
