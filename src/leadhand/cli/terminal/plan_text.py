"""Plans as readable lists: those of work orders and of reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from leadhand.core.value import compact_json, list_of, object_of, objects_of, text_of
from leadhand.core.words.failures import written_call


def plan_lines(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a plan: every subtask or section, what each needs, and what no tool can do."""
    yield f"Plan: {text_of(plan.get('goal')) or text_of(plan.get('title')) or 'without a title'}"
    for number, subtask in enumerate(objects_of(list_of(plan.get("subtasks"))), start=1):
        yield f"  {number}. {_subtask(subtask)}"
    for number, section in enumerate(objects_of(list_of(plan.get("sections"))), start=1):
        heading, question = text_of(section.get("heading")), text_of(section.get("question"))
        yield f"  {number}. {heading}: {question}" if heading else f"  {number}. {question}"
    for part in objects_of(list_of(plan.get("cannot"))):
        yield f"  Not possible: {text_of(part.get('what'))} ({text_of(part.get('reason'))})"


def _subtask(subtask: Mapping[str, Any]) -> str:
    tool, worker, args = text_of(subtask.get("tool")), text_of(subtask.get("worker")), object_of(subtask.get("args"))
    parts = [text_of(subtask.get("name"))]
    if tool:
        parts.append(written_call(tool, args))
    elif args:
        parts.append(compact_json(args))
    if worker:
        parts.append(f"by {worker}")
    if needs := [_number(str(key)) for key in list_of(subtask.get("needs"))]:
        parts.append(f"after {', '.join(needs)}")
    return " · ".join(parts)


def _number(key: str) -> str:
    """Return a need as people count: the place of a subtask in the list."""
    _, dot, index = key.rpartition(".")
    return str(int(index) + 1) if dot and index.isdecimal() else key
