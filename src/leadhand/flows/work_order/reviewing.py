"""Review an order: in shards that are small enough for a model, and as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import count

from leadhand.core import commands as do
from leadhand.core.state import OrderState, RunState, StepState
from leadhand.core.value import Json, is_object, list_of, object_of, text_of
from leadhand.core.work_result import Review, Verdict, VerdictKind
from leadhand.flows.context_budget import (
    TOKENS_PER_SUBTASK,
    context_budget,
    grouped,
    is_too_large,
    page_size,
    tokens,
)

from . import briefs
from .results import answerable_results, is_exact, ran_out, without_verdict
from .roles import RoleName, with_role

SHARD, LINES = 25, 100
"""Maximum subtasks per review, so that a model can judge each: shown in full, and of those that are short. These are of
exactly the ordered call and need no verdict, or there are no more than verdicts fit into one answer. Shards of an order
are reviewed in parallel."""


def review(state: RunState, order: OrderState) -> list[do.Command]:
    """Return the next commands for the review of an order: assign its shards, then combine their verdicts.

    While its last subtasks run, the shards that are full are assigned. One shard also judges the request as a whole,
    once all subtasks are done; if that is too much for one shard, a separate review does so. A shard that was too large
    for its model is halved. What changed after its review began is reviewed again, and so is, once, what it left out.
    """
    name = order.order.work_order_id
    if order.open > min(SHARD, 1 + len(order.order.subtasks) // 10):
        return []  # many workers still run: reviews would only compete with them
    reviews_ = [review_ for review_ in _assigned(state, name) if not _is_outdated(state, review_)]
    halves = [half for review_ in reviews_ if _too_large(review_) for half in _halves(review_)]
    wanted: list[do.Command] = [half for half in halves if half.id not in state.steps]
    wanted = wanted or list(_shards(state, order, reviews_))
    if wanted or order.open or not all(review_.closed for review_ in reviews_):
        return wanted
    judged = [review_ for review_ in reviews_ if not _too_large(review_)]
    return [do.Judge(work_order_id=name, review=_merged(state, judged))]


def _is_outdated(state: RunState, review_: StepState) -> bool:
    """Whether a subtask that a review judges changed after the review was scheduled: a person settled it."""
    changes = (state.steps[key].settlements for key in _covers(review_))
    return any(each[-1].seq > review_.scheduled for each in changes if each)


def _shards(state: RunState, order: OrderState, reviews_: list[StepState]) -> list[do.IssueStep]:
    """Return the reviews of what is done and not under review; those that are full, while others still run."""
    space = context_budget(state, RoleName.REVIEW)
    asked = Counter(key for review_ in reviews_ if not _too_large(review_) for key in _covers(review_))
    left_out = {key for review_ in reviews_ if review_.ok for key in _left_out(state, review_)}
    reviewed = {key for key, times in asked.items() if times > 1 or key not in left_out}
    found = [state.steps[key] for key in order.order.subtask_keys() if key not in reviewed]
    if ran_out(state, order):  # nothing is repaired any more: only what was done needs a verdict
        found = [each for each in found if each.ok]
    subtasks = {each.key: each for each in found if each.closed}
    if not subtasks:
        return []
    request = tokens(briefs.asked(state))
    most = max(space - request, space // 2)
    shown = {key: briefs.shown(state, each) for key, each in subtasks.items()}
    sizes = {key: tokens(each) for key, each in shown.items()}
    # Each takes at least its share of a review, so that a model has few to judge.
    shares = [(key, max(size, most // _most_like(state, subtasks[key], shown[key]))) for key, size in sizes.items()]
    groups = grouped(shares, most, LINES)
    around = request + sum(tokens(subtask.name) for subtask in order.order.subtasks)
    alone = len(groups) == 1 and not reviews_
    whole = not order.open and not any(review_.step.input.get("whole") for review_ in reviews_)
    apart = whole and not alone and around + sum(sizes[key] for key in groups[0]) > space
    composing = whole and alone and _is_short(state, order)
    first = next(n for n in count() if f"review-{order.order.work_order_id}-{n}" not in state.steps)
    shards = [
        _shard(state, order, str(number), tuple(keys), compose=composing, whole=whole and number == first and not apart)
        for number, keys in enumerate(groups[:-1] if order.open else groups, start=first)
    ]
    return [*shards, _shard(state, order, "whole", (), whole=True)] if apart else shards


def _most_like(state: RunState, subtask: StepState, shown: Json) -> int:
    """Return how many subtasks that are shown like this one a review judges at most: those in full are objects."""
    if is_object(shown):
        return SHARD
    return LINES if is_exact(subtask) else max(SHARD, min(LINES, page_size(state)))


def _is_short(state: RunState, order: OrderState) -> bool:
    """Whether all succeeded, and their results fit into one answer beside the verdicts and those of earlier orders."""
    done = [state.steps[key] for key in order.order.subtask_keys()]
    length = sum(tokens(each.data.summary) for each in answerable_results(state) if each.data is not None)
    verdicts = TOKENS_PER_SUBTASK * sum(not is_exact(each) for each in done)
    return all(each.ok for each in done) and (
        len(done) <= SHARD or 2 * length + verdicts <= state.definition.limits.max_output_tokens
    )


def _shard(
    state: RunState,
    order: OrderState,
    name: str,
    covers: tuple[str, ...],
    *,
    compose: bool = False,
    whole: bool = False,
) -> do.IssueStep:
    work_order = order.order.work_order_id
    composer = state.worker(RoleName.COMPOSE) if compose else None
    return do.IssueStep(
        id=f"review-{work_order}-{name}",
        worker=RoleName.REVIEW,
        title=f"Review {work_order}" + ("" if name in ("0", "whole") else f" · part {name}"),
        doing="Reviewing and writing the answer" if compose else "",
        judges=work_order,
        instructions=None if composer is None else with_role(state, RoleName.REVIEW, composer.instructions),
        input={"covers": list(covers), "work_order_id": work_order, "compose": compose, "whole": whole},
    )


def _assigned(state: RunState, order: str) -> Iterator[StepState]:
    """Return the assigned reviews of an order; halves follow their shard."""
    number = 0
    while (review_ := state.steps.get(f"review-{order}-{number}")) is not None:
        yield from _with_halves(state, review_)
        number += 1
    whole = state.steps.get(f"review-{order}-whole")
    if whole is not None:
        yield whole


def _with_halves(state: RunState, review_: StepState) -> Iterator[StepState]:
    yield review_
    for half in _halves(review_):
        found = state.steps.get(half.id)
        if found is not None:
            yield from _with_halves(state, found)


def _too_large(review_: StepState) -> bool:
    return review_.closed and not review_.ok and is_too_large(review_.failure) and len(_covers(review_)) > 1


def _covers(review: StepState) -> list[str]:
    return list(review.step.input.get("covers", ()))


def _left_out(state: RunState, review_: StepState) -> list[str]:
    """Return the subtasks on which a finished review should have given a verdict, and did not."""
    verdicts = list_of(object_of(review_.value).get("verdicts"))
    return without_verdict(state, _covers(review_), {text_of(object_of(each).get("subtask")) for each in verdicts})


def _halves(shard: StepState) -> list[do.IssueStep]:
    covers, given = _covers(shard), shard.step.input
    middle = len(covers) // 2
    return [
        do.IssueStep(
            id=f"{shard.key}{letter}",
            worker=RoleName.REVIEW,
            title=f"{shard.step.title} · half {letter}",
            judges=shard.step.judges,
            input={**given, "covers": half, "compose": False, "whole": given.get("whole", False) and letter == "a"},
        )
        for letter, half in (("a", covers[:middle]), ("b", covers[middle:]))
        if half
    ]


def _merged(state: RunState, reviews_: list[StepState]) -> Review:
    """Combine the reviews of all shards. The subtasks of a shard that could not be reviewed have no verdict."""
    reviews = [(review_, Review.model_validate(review_.value)) for review_ in reviews_ if review_.ok]
    whole = next((review for review_, review in reviews if review_.step.input.get("whole")), None)
    verdicts = {verdict.subtask: verdict for _, review in reviews for verdict in review.verdicts}
    covered = dict.fromkeys(key for review_, _ in reviews for key in _covers(review_))
    left_out = without_verdict(state, covered, verdicts)
    # Another result without a verdict is of exactly the ordered call, and the review had nothing against it.
    presumed = {key: Verdict(subtask=key, verdict=VerdictKind.ACCEPT) for key in covered if key not in left_out}
    return Review(
        verdicts=tuple(verdicts.get(key, verdict) for key, verdict in presumed.items()),
        complete=len(reviews) == len(reviews_) and not left_out and whole is not None and whole.complete,
        missing=whole.missing if whole is not None else (),
        cannot=whole.cannot if whole is not None else (),
        answer=_answer(reviews_[0], whole) if whole is not None else None,
    )


def _answer(review_: StepState, review: Review) -> str | None:
    """Return the answer that was written with a review; it is used if nothing is missing."""
    return review.answer if review_.step.input.get("compose") and review.complete else None
