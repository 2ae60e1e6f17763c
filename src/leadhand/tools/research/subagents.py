"""``subagent_run`` and ``parallel_tool_call``: let other workers carry out tasks, and make several calls at once."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from pydantic import BaseModel, Field, JsonValue

from leadhand.core.tool import Delegate, ToolReturn
from leadhand.core.value import Value, is_object
from leadhand.flows.research.workers import SUBAGENT, SubagentResult
from leadhand.tools.decorator import tool


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


class InnerCall(BaseModel):
    """A call of another tool."""

    tool: str
    args: dict[str, Any] = {}


@tool(toolset="research")
def subagent_run(task: Task) -> ToolReturn:
    """Have a subagent research a task with tools of its own, and receive its result: summary, detail, artifact_path.

    Args:
        task: What to research. The subagent knows nothing else.
    """
    schema = task.expected_output
    ask = Delegate(
        worker=SUBAGENT,
        title=task.task_name,
        input=task.model_dump(mode="json", exclude_none=True),
        max_calls=task.tool_budget,
        output=_result_schema(schema) if is_object(schema) else None,
        key=_same_task(task.prompt),
    )
    return ToolReturn(asks=(ask,))


@tool(toolset="research", parallel=True)
def parallel_tool_call(calls: list[InnerCall]) -> None:
    """Make several tool calls at once, and receive the result of each.

    Args:
        calls: The calls, each with the name of a tool and its arguments.
    """
    raise NotImplementedError(f"the engine makes these {len(calls)} calls")


def _result_schema(detail: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of the result of a task that expects ``detail`` to match a schema of its own."""
    schema = SubagentResult.model_json_schema()
    kept = {name: value for name, value in detail.items() if name != "$defs"}
    properties = {**schema["properties"], "detail": kept}
    whole = {**schema, "properties": properties, "required": ["summary", "detail"]}
    return {**whole, "$defs": detail["$defs"]} if "$defs" in detail else whole


def _same_task(prompt: str) -> str:
    """Return what equal prompts have in common: their words, without case, punctuation and line breaks."""
    words = " ".join(re.findall(r"\w+", prompt.casefold())) or prompt
    return hashlib.sha256(words.encode()).hexdigest()[:32]
