"""What the lead and the subagents of the research flow exchange."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from pydantic import Field, JsonValue

from leadhand.core.artifact import MEMORY, confined
from leadhand.core.value import Json, Value, compact_json, is_object
from leadhand.flows.passages import Passage


class Task(Value):
    """A task for one subagent, which knows nothing else of the run."""

    task_name: str = Field(min_length=1, max_length=200, description="a short name, such as heat_pump_costs")
    prompt: str = Field(
        min_length=1, max_length=20_000, description="what to find out; whole, since the subagent knows nothing else"
    )
    description: str = Field(max_length=2_000, description="what it is for, in one sentence")
    tool_budget: int = Field(ge=1, le=200, description="tool calls that the subagent may make; usually 3 to 10")
    expected_output: str | dict[str, JsonValue] | None = Field(
        default=None,
        description="what `detail` has to be: a sentence, or the JSON schema of an object; leave it out to explore",
    )

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """The JSON schema of ``detail``; None if it is text."""
        return self.expected_output if is_object(self.expected_output) else None


class SubagentResult(Value):
    """What a subagent found; it cites passages by their ids, as its tools returned them."""

    summary: str = Field(min_length=1, description="the answer in one to five sentences, with citations: [3f9a1c20.1]")
    detail: str | None = Field(default=None, description="what the summary has no room for, with citations")
    artifact_path: str | None = Field(default=None, description="the path of the file that you wrote, if you wrote one")


class Found(Value):
    """The recorded result of a subagent: ``passages`` are those that it cites, which code takes from its calls.

    ``detail`` is JSON where its task has a schema for it.
    """

    summary: str
    detail: JsonValue = None
    artifact_path: str | None = None
    passages: tuple[Passage, ...] = ()


def written_out(value: Json) -> str:
    """Return a text as it is, and other data as JSON."""
    return value if isinstance(value, str) else compact_json(value)


def result_schema(detail: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of the result of a task that expects ``detail`` to match a schema of its own."""
    schema = SubagentResult.model_json_schema()
    kept = {name: value for name, value in detail.items() if name != "$defs"}
    properties = {**schema["properties"], "detail": kept}
    whole = {**schema, "properties": properties, "required": ["summary", "detail"]}
    return {**whole, "$defs": detail["$defs"]} if "$defs" in detail else whole


def memory_path(path: str) -> str:
    """Return the path of an artifact below ``memory/``. Raises UsageError, as :func:`confined` does."""
    whole = confined(path)
    return whole if whole.startswith(MEMORY) else confined(f"{MEMORY}{whole}")


def same_task(prompt: str) -> str:
    """Return what equal prompts have in common: their words, without case, punctuation and line breaks."""
    words = " ".join(re.findall(r"\w+", prompt.casefold())) or prompt
    return hashlib.sha256(words.encode()).hexdigest()[:32]
