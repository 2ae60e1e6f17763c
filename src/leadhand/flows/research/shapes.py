"""The names of the workers of a research run, what its subagents return, and the paths of their files."""

from __future__ import annotations

from pydantic import ConfigDict, Field, JsonValue

from leadhand.core.artifact import MEMORY, confined
from leadhand.core.value import Json, Value, compact_json
from leadhand.flows.passages import Passage

LEAD, SUBAGENT, WRITER = "lead", "subagent", "writer"


class SubagentResult(Value):
    """What a subagent found; it cites passages by their ids, as its tools returned them. More fields are left out."""

    model_config = ConfigDict(extra="ignore")

    summary: str = Field(min_length=1, description="the answer in one to five sentences, with citations: [3f9a1c20.1]")
    detail: str | list[JsonValue] | dict[str, JsonValue] | None = Field(
        default=None, description="what the summary has no room for, with citations"
    )
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


def memory_path(path: str) -> str:
    """Return the path of an artifact below ``memory/``. Raises UsageError, as :func:`confined` does."""
    whole = confined(path)
    return whole if whole.startswith(MEMORY) else confined(f"{MEMORY}{whole}")
