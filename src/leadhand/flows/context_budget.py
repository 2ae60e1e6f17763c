"""Estimate how much fits into the context window of a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from leadhand.core.errors import Failure, FailureClass
from leadhand.core.state import RunState
from leadhand.core.value import Json, compact_json

ASSUMED_WINDOW = 16_000
"""The assumed context window, in tokens, of a model with an unknown one."""
FRAME = 2_500
"""Tokens of a prompt, the schema of its answer and the protocol."""
LEAST = 500
"""Minimum tokens of facts that are sent even if the window is too small; the server then reports that."""
TOKENS_PER_SUBTASK = 40
"""Tokens that a lead writes to plan or judge one subtask."""

_T = TypeVar("_T")


def tokens(facts: Json) -> int:
    """Estimate the tokens of a value as JSON at three bytes each, which is slightly too many for most text."""
    return len(compact_json(facts).encode(errors="replace")) // 3 + 1


def context_budget(state: RunState, role: str) -> int:
    """Return the tokens available for the facts of a role's brief; a quarter of the window is left for repairs."""
    definition = state.definition
    window = definition.models.windows.get(definition.model_of(state.worker(role))) or ASSUMED_WINDOW
    return max(window * 3 // 4 - definition.limits.max_output_tokens - FRAME, LEAST)


def page_size(state: RunState) -> int:
    """Return how many subtasks fit into one answer of the lead."""
    return max(state.definition.limits.max_output_tokens // TOKENS_PER_SUBTASK, 5)


def grouped(items: Sequence[tuple[_T, int]], most_tokens: int, most_items: int | None = None) -> list[list[_T]]:
    """Group items with their tokens, in order, so that each group fits; an item that is too large is a separate
    group.
    """
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
    """Return the first ``items`` that fit together."""
    kept: list[_T] = []
    for item in items:
        most_tokens -= tokens(item)
        if most_tokens < 0:
            break
        kept.append(item)
    return kept


def is_too_large(failure: Failure | None) -> bool:
    """Whether a step failed because its input or output was too large for its model."""
    return failure is not None and (failure.class_ is FailureClass.TOO_LARGE or failure.type == "cut_answer")
