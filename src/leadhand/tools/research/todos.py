"""``todo_list_read`` and ``todo_list_write``: the plan of a lead, which people see while it works."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from pydantic import BaseModel, Field

from leadhand.core.errors import ToolError
from leadhand.core.text import is_blank
from leadhand.core.tool import LONGEST_ID, LONGEST_TITLE, SetTodos, Todo, ToolReturn
from leadhand.core.value import compact_json
from leadhand.flows.passages import said
from leadhand.ports import ToolContext
from leadhand.tools.decorator import tool

MOST_TODOS = 1_000


class TodoEntry(BaseModel):
    """An entry of the todo list. Models number entries as often as they name them."""

    id: str | int
    content: str = Field(max_length=LONGEST_TITLE)
    status: Literal["pending", "in_progress", "completed"] = "pending"
    priority: str | None = None


@tool(toolset="research")
def todo_list_read(*, context: ToolContext) -> ToolReturn:
    """Read the todo list: a JSON list of entries with id, content, status and priority."""
    listed = [todo.model_dump(exclude_none=True) for todo in context.todos]
    return ToolReturn(raw=said(compact_json(listed)))


@tool(toolset="research")
def todo_list_write(todos: list[TodoEntry]) -> ToolReturn:
    """Replace the whole todo list.

    Args:
        todos: Every entry of the list, also those that have not changed.
    """
    if len(todos) > MOST_TODOS:
        raise ToolError(f"{len(todos):,} todos are too many: write at most {MOST_TODOS:,}", type="bad_arguments")
    entries = tuple(Todo.model_validate({**each.model_dump(), "id": str(each.id)}) for each in todos)
    ids = Counter(each.id for each in entries)
    twice = next((id_ for id_, number in ids.items() if number > 1), None)
    if twice is not None:
        raise ToolError(f"two todos have the id {twice!r}: give each its own", type="bad_arguments")
    for each in entries:
        if is_blank(each.id) or len(each.id) > LONGEST_ID or is_blank(each.content):
            raise ToolError(
                f"the todo {each.id[:50]!r} needs an id of at most {LONGEST_ID} characters, and content",
                type="bad_arguments",
            )
    return ToolReturn(raw=said(_counted(entries)), asks=(SetTodos(todos=entries),))


def _counted(todos: tuple[Todo, ...]) -> str:
    numbers = Counter(todo.status for todo in todos)
    parts = [f"{number} {status.replace('_', ' ')}" for status, number in numbers.items()]
    return f"The todo list has {', '.join(parts)}." if todos else "The todo list is empty."
