"""Compose the answer: in one call if the results fit, else as a tree of sections under one opening.

::

    results ─▶ compose-0-0 … compose-0-n   sections, in parallel; the answer contains them unchanged
                    └─▶ compose-1-0 …       digests, level by level, until they fit one call
                              └─▶ compose-whole   the opening: what was asked, in short, and what is missing
"""

from __future__ import annotations

from collections.abc import Iterator

from leadhand.core import commands as do
from leadhand.core.outcome import failure_gap, source_numbers, sources_of
from leadhand.core.run import Gap
from leadhand.core.state import RunState, StepState
from leadhand.flows.context_budget import context_budget, grouped, is_too_large, tokens

from . import briefs
from .results import answer_sources, answerable_results, composed_text, own_text
from .roles import RoleName, instructions, with_role

TITLE = "Write the answer"
SECTION = 25
"""Results per section."""


def compose(state: RunState) -> list[do.Command]:
    """Return the next commands for composing the answer, and finally the end of the run, which comes at once if there
    is nothing to compose."""
    if not any(answerable_results(state)):
        return [do.Finish()]
    name = _name(state)
    whole = state.steps.get(name)
    if whole is None and _section(state, 0, 0) not in state.steps:
        if _fits(state):
            return [do.IssueStep(id=name, worker=RoleName.COMPOSE, title=TITLE, final=True)]
        return _sections(state)
    if whole is not None and not whole.closed:
        return []
    if whole is not None and (whole.ok or not is_too_large(whole.failure)):
        return [do.Finish(failure=whole.failure)]
    return _tree(state) if _section(state, 0, 0) in state.steps else _sections(state)


def composed(state: RunState) -> str:
    """Return the composed answer; "" if none was composed."""
    name = _name(state)
    whole, opening = state.steps.get(name), state.steps.get(f"{name}-whole")
    if whole is not None and whole.ok:
        return own_text(whole) or ""
    said = own_text(opening) if opening is not None else None
    return "" if said is None else "\n\n".join([said, *(composed_text(state, section) for section in _level(state, 0))])


def composition_gaps(state: RunState) -> list[Gap]:
    """The gap of an answer that no model wrote, so that the results are listed instead."""
    whole = state.steps.get(f"{_name(state)}-whole") or state.steps.get(_name(state))
    if whole is None or whole.failure is None or composed(state) or not any(answerable_results(state)):
        return []
    reason = f"it could not be written, so the results are listed: {whole.failure.message}"
    return [failure_gap("the answer", whole.failure, reason)]


def _fits(state: RunState) -> bool:
    """Whether the results fit into one call, and their text into one answer."""
    length = sum(tokens(subtask.data.summary) for subtask in answerable_results(state) if subtask.data is not None)
    if length > 2 * state.definition.limits.max_output_tokens:
        return False
    return tokens(briefs.compose(state)) <= context_budget(state, RoleName.COMPOSE)


def _sections(state: RunState) -> list[do.Command]:
    numbers = source_numbers(answer_sources(state))
    sizes = [
        (subtask.key, tokens(briefs.result(subtask, numbers)) + sum(tokens(s.url) for s in subtask.data.sources))
        for subtask in answerable_results(state)
        if subtask.data is not None
    ]
    groups = grouped(sizes, max(context_budget(state, RoleName.COMPOSE) - tokens(briefs.asked(state)), 1), SECTION)
    if not groups:
        return [do.Finish()]
    return [
        do.IssueStep(
            id=_section(state, 0, number),
            worker=RoleName.COMPOSE,
            title=f"{TITLE} · part {number + 1}",
            instructions=with_role(state, RoleName.COMPOSE, instructions("section")),
            input={
                "covers": keys,
                "part": number + 1,
                "of": len(groups),
                "numbers": [numbers[source] for source in source_numbers(sources_of(state.steps[key] for key in keys))],
            },
        )
        for number, keys in enumerate(groups)
    ]


def _tree(state: RunState) -> list[do.Command]:
    level, number = list(_level(state, 0)), 0
    while following := list(_level(state, number + 1)):
        level, number = following, number + 1
    if not all(node.closed for node in level):
        return []
    whole = f"{_name(state)}-whole"
    opening = state.steps.get(whole)
    if opening is None:
        both = with_role(state, RoleName.COMPOSE, instructions("section"))
        texts = [(node.key, tokens(composed_text(state, node))) for node in level]
        groups = grouped(texts, context_budget(state, RoleName.COMPOSE) - tokens(briefs.asked(state)))
        if len(groups) == 1 or len(groups) == len(level):  # they fit, or cannot be divided further and are cut
            over = [node.key for node in level]
            return [
                do.IssueStep(
                    id=whole,
                    worker=RoleName.COMPOSE,
                    title=TITLE,
                    instructions=both,
                    input={"over": over},
                    final=True,
                )
            ]
        return [
            do.IssueStep(
                id=_section(state, number + 1, position),
                worker=RoleName.COMPOSE,
                title=f"{TITLE} · part {position + 1}",
                instructions=both,
                input={"over": ids, "part": True},
            )
            for position, ids in enumerate(groups)
        ]
    if not opening.closed:
        return []
    return [do.Finish(failure=opening.failure if own_text(opening) is None else None)]


def _name(state: RunState) -> str:
    """Return the id of the composition: each order, and each reopening, leads to another answer."""
    number = max(len(state.orders), len(state.answers) + 1)
    return f"compose{number}" if number > 1 else "compose"


def _section(state: RunState, level: int, number: int) -> str:
    return f"{_name(state)}-{level}-{number}"


def _level(state: RunState, level: int) -> Iterator[StepState]:
    number = 0
    while (node := state.steps.get(_section(state, level, number))) is not None:
        yield node
        number += 1
