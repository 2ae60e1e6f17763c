"""``subagent_run`` and ``parallel_tool_call``: let other workers carry out tasks, and make several calls at once."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from leadhand.core.asks import Delegate
from leadhand.core.tool import ToolReturn
from leadhand.flows.research.options import SUBAGENT
from leadhand.flows.research.shapes import Task, result_schema, same_task
from leadhand.tools.decorator import tool


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
    schema = task.output_schema
    ask = Delegate(
        worker=SUBAGENT,
        title=task.task_name,
        input=task.model_dump(mode="json", exclude_none=True),
        max_calls=task.tool_budget,
        output=None if schema is None else result_schema(schema),
        key=same_task(task.prompt),
    )
    return ToolReturn(asks=(ask,))


@tool(toolset="research", parallel=True)
def parallel_tool_call(calls: list[InnerCall]) -> None:
    """Make several tool calls at once, and receive the list of their results in the same order.

    Args:
        calls: The calls, each with the name of a tool and its arguments.
    """
    raise NotImplementedError(f"the engine makes these {len(calls)} calls")
