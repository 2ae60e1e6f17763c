"""How much fits the context window of a model, estimated."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TypeVar

from leadhand.domain.errors import Failure, FailureClass
from leadhand.domain.state import RunState
from leadhand.domain.value import Json

ASSUMED_WINDOW = 16_000
"""Tokens of a model that does not say how large its window is."""
FRAME = 2_500
"""Tokens of a prompt, the schema of its answer and what the protocol adds."""
LEAST = 500
"""Tokens of facts that are sent in any case, however small the window: then the server says that it is too small."""
TOKENS_PER_SUBTASK = 40
"""Tokens that a lead writes to plan a subtask, or to judge one."""

_T = TypeVar("_T")
_written = json.JSONEncoder(ensure_ascii=False).encode


def tokens(facts: Json) -> int:
    """The tokens of a value written as JSON, estimated at three bytes each: a little too many for most text."""
    return len(_written(facts).encode(errors="replace")) // 3 + 1


def context_budget(state: RunState, role: str) -> int:
    """Tokens that the facts of a role's brief may take: a quarter of the window is left for repairs."""
    definition = state.definition
    window = definition.models.windows.get(definition.models.of(role)) or ASSUMED_WINDOW
    return max(window * 3 // 4 - definition.limits.max_output_tokens - FRAME, LEAST)


def page_size(state: RunState) -> int:
    """How many subtasks a lead is asked to plan in one answer: those that fit into its longest."""
    return max(state.definition.limits.max_output_tokens // TOKENS_PER_SUBTASK, 5)


def grouped(items: Sequence[tuple[_T, int]], most_tokens: int, most_items: int | None = None) -> list[list[_T]]:
    """Items with their tokens, in order, in groups that fit; an item that does not fit at all is a group by itself."""
    groups: list[list[_T]] = []
    taken = 0
    for item, size in items:
        full = groups and (taken + size > most_tokens or (most_items is not None and len(groups[-1]) >= most_items))
        if not groups or full:
            groups.append([])
            taken = 0
        groups[-1].append(item)
        taken += size
    return groups


def fitting(items: Iterable[_T], most_tokens: int) -> list[_T]:
    """The first of ``items`` that fit together."""
    kept: list[_T] = []
    for item in items:
        most_tokens -= tokens(item)
        if most_tokens < 0:
            break
        kept.append(item)
    return kept


def is_too_large(failure: Failure | None) -> bool:
    """Whether an assignment failed because it was given, or had to write, more than its model can hold."""
    return failure is not None and (failure.class_ is FailureClass.TOO_LARGE or failure.type == "cut_answer")
