"""Reviewing an order: in shards that a model can judge one by one, and as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from leadhand.domain import commands as do
from leadhand.domain.assignment import Assignment, Role
from leadhand.domain.lifecycle import SubtaskStatus
from leadhand.domain.review import Review
from leadhand.domain.state import AssignmentState, OrderState, RunState

from . import briefs
from .room import grouped, room, tokens, too_much

SHARD = 25
"""Subtasks to a review: what a model can still judge one by one. Shards of an order are reviewed in parallel."""


def review(state: RunState, order: OrderState) -> list[do.Command]:
    """What reviewing an order that is over still wants: its shards handed out, or their judgements put together.

    One shard is asked about the whole request, since the others cannot know what they do not see; where that would
    be too much for it, the whole is a review of its own. A shard that was too large for its model is halved.
    """
    name = order.order.work_order_id
    thoughts = list(_handed_out(state, name))
    if not thoughts:
        return [do.Assign(assignment=assignment) for assignment in _shards(state, order)]
    halves = [half for thought in thoughts if _too_large(thought) for half in _halves(thought.assignment)]
    wanted = [half for half in halves if half.assignment_id not in state.assignments]
    if wanted:
        return [do.Assign(assignment=half) for half in wanted]
    if not all(thought.closed for thought in thoughts):
        return []
    judged = [thought for thought in thoughts if not _too_large(thought)]
    return [do.JudgeOrder(work_order_id=name, review=_merged(judged))]


def all_completed(state: RunState, order: OrderState) -> bool:
    """Whether every subtask of an order passed the code checks."""
    return all(state.subtasks[key].status is SubtaskStatus.COMPLETED for key in order.order.subtask_keys())


def _shards(state: RunState, order: OrderState) -> list[Assignment]:
    space = room(state, Role.REVIEW)
    sizes = [(key, tokens(briefs.judged(state, state.subtasks[key]))) for key in order.order.subtask_keys()]
    whole = tokens(briefs.common(state))
    around = whole + sum(tokens(state.subtasks[key].subtask.name) for key, _ in sizes)
    groups = grouped(sizes, max(space - whole, space // 2), SHARD)
    first = sum(size for key, size in sizes if key in set(groups[0]))
    apart = len(groups) > 1 and around + first > space
    composing = len(groups) == 1 and all_completed(state, order)
    shards = [
        _shard(order, str(number), tuple(keys), compose=composing, whole=number == 0 and not apart)
        for number, keys in enumerate(groups)
    ]
    return [*shards, _shard(order, "whole", (), whole=True)] if apart else shards


def _shard(
    order: OrderState, name: str, covers: tuple[str, ...], *, compose: bool = False, whole: bool = False
) -> Assignment:
    work_order = order.order.work_order_id
    return Assignment(
        assignment_id=f"review-{work_order}-{name}",
        role=Role.REVIEW,
        covers=covers,
        options={"work_order_id": work_order, "compose": compose, "whole": whole},
    )


def _handed_out(state: RunState, order: str) -> Iterator[AssignmentState]:
    """The reviews of an order that were handed out, halves after the shard they are of."""
    number = 0
    while (thought := state.assignments.get(f"review-{order}-{number}")) is not None:
        yield from _with_halves(state, thought)
        number += 1
    whole = state.assignments.get(f"review-{order}-whole")
    if whole is not None:
        yield whole


def _with_halves(state: RunState, thought: AssignmentState) -> Iterator[AssignmentState]:
    yield thought
    for half in _halves(thought.assignment):
        found = state.assignments.get(half.assignment_id)
        if found is not None:
            yield from _with_halves(state, found)


def _too_large(thought: AssignmentState) -> bool:
    return thought.closed and not thought.ok and too_much(thought.failure) and len(thought.assignment.covers) > 1


def _halves(shard: Assignment) -> list[Assignment]:
    middle = len(shard.covers) // 2
    parts = (("a", shard.covers[:middle]), ("b", shard.covers[middle:]))
    return [
        shard.evolve(
            assignment_id=f"{shard.assignment_id}{letter}",
            covers=covers,
            options={**shard.options, "compose": False, "whole": shard.options.get("whole", False) and letter == "a"},
        )
        for letter, covers in parts
        if covers
    ]


def _merged(thoughts: list[AssignmentState]) -> Review:
    """One review of all shards. A shard that could not be reviewed gives no verdicts: its subtasks stay unverified."""
    reviews = [(thought, Review.model_validate(thought.value)) for thought in thoughts if thought.ok]
    whole = next((review for thought, review in reviews if thought.assignment.options.get("whole")), None)
    return Review(
        verdicts=tuple(verdict for _, review in reviews for verdict in review.verdicts),
        complete=len(reviews) == len(thoughts) and whole is not None and whole.complete,
        missing=whole.missing if whole is not None else (),
        cannot=whole.cannot if whole is not None else (),
        answer=whole.answer if whole is not None and len(thoughts) == 1 else None,
    )
