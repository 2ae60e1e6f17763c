"""Composing the answer: in one call when the results fit it, else as a tree of sections under one opening.

::

    results ─▶ compose-0-0 … compose-0-n   sections, in parallel; they stand in the answer as they are
                    └─▶ compose-1-0 …       digests, level by level, until they fit one call
                              └─▶ compose-whole   the opening: what was asked, in short, and what is missing
"""

from __future__ import annotations

from collections.abc import Iterator

from leadhand.domain import commands as do
from leadhand.domain.assignment import Assignment, Role
from leadhand.domain.citations import as_data
from leadhand.domain.outcome import answer_sources, own_sources, presentable, section_numbers, source_numbers
from leadhand.domain.state import AssignmentState, RunState

from . import briefs
from .room import grouped, room, tokens, too_much

SECTION = 25
"""Results to a section."""


def compose(state: RunState) -> list[do.Command]:
    """What composing the answer still wants; at last, the end of the run. The summary comes in any case: without a
    model, code writes it."""
    name = _name(state)
    thought = state.assignments.get(name)
    if thought is None and _section(state, 0, 0) not in state.assignments:
        if _fits(state):
            return [do.Assign(assignment=Assignment(assignment_id=name, role=Role.COMPOSE))]
        return _sections(state)
    if thought is not None and not thought.closed:
        return []
    if thought is not None and (thought.ok or not too_much(thought.failure)):
        return [do.Finish(answer=_text(thought), failure=thought.failure)]
    return _tree(state) if _section(state, 0, 0) in state.assignments else _sections(state)


def _fits(state: RunState) -> bool:
    """Whether one call can hold the results, and one answer tell them."""
    told = sum(tokens(subtask.data.summary) for subtask in presentable(state) if subtask.data is not None)
    if told > 2 * state.definition.limits.max_output_tokens:
        return False
    return tokens(briefs.compose(state).facts) <= room(state, Role.COMPOSE)


def _sections(state: RunState) -> list[do.Command]:
    sources = answer_sources(state)
    numbers = source_numbers(sources)
    sizes = [
        (subtask.key, tokens(briefs.told(subtask, numbers)) + sum(tokens(s.url) for s in subtask.data.sources))
        for subtask in presentable(state)
        if subtask.data is not None
    ]
    groups = grouped(sizes, max(room(state, Role.COMPOSE) - tokens(briefs.common(state)), 1), SECTION)
    if not groups:
        return [do.Finish(answer=None)]
    return [
        do.Assign(
            assignment=Assignment(
                assignment_id=_section(state, 0, number),
                role=Role.COMPOSE,
                covers=tuple(keys),
                options={
                    "part": number + 1,
                    "of": len(groups),
                    "numbers": [numbers[source] for source in own_sources(state.subtasks[key] for key in keys)],
                },
            )
        )
        for number, keys in enumerate(groups)
    ]


def _tree(state: RunState) -> list[do.Command]:
    sections = level = list(_level(state, 0))
    number = 0
    while following := list(_level(state, number + 1)):
        level, number = following, number + 1
    if not all(node.closed for node in level):
        return []
    whole = f"{_name(state)}-whole"
    opening = state.assignments.get(whole)
    if opening is None:
        texts = [(node.assignment.assignment_id, tokens(text_of(state, node))) for node in level]
        groups = grouped(texts, room(state, Role.COMPOSE) - tokens(briefs.common(state)))
        if len(groups) == 1 or len(groups) == len(level):  # they fit; or they cannot be made to, and are cut
            ids = [node.assignment.assignment_id for node in level]
            return [do.Assign(assignment=Assignment(assignment_id=whole, role=Role.COMPOSE, options={"over": ids}))]
        return [
            do.Assign(
                assignment=Assignment(
                    assignment_id=_section(state, number + 1, position),
                    role=Role.COMPOSE,
                    options={"over": ids, "part": True},
                )
            )
            for position, ids in enumerate(groups)
        ]
    if not opening.closed:
        return []
    said = _text(opening)
    if said is None:
        return [do.Finish(answer=None, failure=opening.failure)]
    return [do.Finish(answer="\n\n".join([said, *(text_of(state, section) for section in sections)]))]


def text_of(state: RunState, node: AssignmentState) -> str:
    """What a node of the tree says; where its model failed, the results as they are, one a line."""
    written = _text(node)
    if written is not None:
        return written
    if not node.assignment.covers:
        return "\n\n".join(text_of(state, state.assignments[below]) for below in node.assignment.options["over"])
    numbers = section_numbers(state, node.assignment)
    lines: list[str] = []
    for key in node.assignment.covers:
        subtask = state.subtasks[key]
        if subtask.data is not None:
            cited = "".join(f" [{numbers[source.title, source.url]}]" for source in subtask.data.sources)
            sample = " (sample data)" if subtask.data.sample else ""
            lines.append(
                f"- {as_data(subtask.data.summary)}{sample}{'' if subtask.accepted else ' (unverified)'}{cited}"
            )
    return "\n".join(lines)


def _name(state: RunState) -> str:
    """What the composition is called; after an order that a person asked for it is another one."""
    asked = any(order.by for order in state.orders.values())
    return f"compose{len(state.orders)}" if asked else "compose"


def _section(state: RunState, level: int, number: int) -> str:
    return f"{_name(state)}-{level}-{number}"


def _level(state: RunState, level: int) -> Iterator[AssignmentState]:
    number = 0
    while (node := state.assignments.get(_section(state, level, number))) is not None:
        yield node
        number += 1


def _text(thought: AssignmentState) -> str | None:
    if thought.ok and thought.result is not None and thought.result.data is not None:
        return thought.result.data.summary
    return None
