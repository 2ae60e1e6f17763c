"""The tools of the research flow. A run has them only if a worker of its flow names them."""

from .files import filesystem_read, filesystem_tree, filesystem_write
from .subagents import parallel_tool_call, subagent_run
from .todos import todo_list_read, todo_list_write

__all__ = [
    "filesystem_read",
    "filesystem_tree",
    "filesystem_write",
    "parallel_tool_call",
    "subagent_run",
    "todo_list_read",
    "todo_list_write",
]
