"""Review an order: in shards that are small enough for a model, and as a whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

from leadhand.core.errors import Failure, FailureClass
from leadhand.core.state import RunState, StepState
from leadhand.core.value import Json, object_of
from leadhand.core.words.failures import ASK_AGAIN
from leadhand.core.work_result import Review, SubtaskVerdict, VerdictKind
from leadhand.flows.facts import (
    TOKENS_PER_SUBTASK,
    context_budget,
    grouped,
    is_too_large,
    page_size,
    tokens,
)
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.orders import order_problems
from leadhand.flows.seam.pending import Details, Pending
from leadhand.flows.seam.results import Result, sha

from . import briefs
from .briefs import Shard
from .roles import COMPOSER, REVIEWER, RoleName, parse, proposed, with_role
from .work import Work, needs_verdict, ran_out

SHARD, MOST = 25, 100
"""Maximum subtasks per review, so that a model can judge each, and of those that need no verdict. Of short results of
workers that chose their tools, it has as many as verdicts fit into one answer."""
SHORT = 150
"""Tokens of a short result, with its calls."""
AGAIN = "-again"
"""In the name of a shard that has what the review of another one left out."""
NO_VERDICT = Failure.of("the review gave no usable verdict", "no_verdict", FailureClass.INVALID, ASK_AGAIN)
"""Why a result was not evaluated, for people: what is wrong with a review names subtasks by their keys."""


async def review(run: FlowContext, work: Work) -> Review:
    """Have the latest order reviewed, and return the reviews of all its shards as one."""
    judged = await run.gather(_judged(run, work, each) for each in _shards(run, work))
    whole, verdicts = Review(), dict[str, SubtaskVerdict]()
    for shard, said in chain(*judged):
        if said.failure is not None:
            work.failures |= dict.fromkeys([each.key for each in shard.results], _for_people(said.failure))
            continue
        found = Review.model_validate(said.value)
        whole = found.evolve(answer=found.answer if shard.compose else None) if shard.whole else whole
        left_out = _left_out(shard.results, found)
        work.failures |= dict.fromkeys(left_out, NO_VERDICT)
        fine = [each.key for each in shard.results if each.key not in left_out]
        verdicts |= {key: SubtaskVerdict(subtask=key, verdict=VerdictKind.ACCEPT) for key in fine}
        verdicts |= {each.subtask: each for each in found.verdicts}
    for each in work.latest:
        if each.by:
            kind = VerdictKind.ACCEPT if each.ok else VerdictKind.DROP
            verdicts[each.key] = SubtaskVerdict(subtask=each.key, verdict=kind)
    accepted = [each for each in verdicts.values() if each.verdict is VerdictKind.ACCEPT]
    complete = whole.complete or bool(work.cannot or whole.cannot)  # nothing can be done about these
    sound = complete and not whole.missing and len(accepted) == len(work.latest)
    in_order = tuple(verdicts[each.key] for each in work.latest if each.key in verdicts)
    return whole.evolve(verdicts=in_order, complete=sound, answer=whole.answer if sound else None)


def _shards(run: FlowContext, work: Work) -> Iterator[Shard]:
    """Yield what the reviews judge; the first one also judges the order as a whole, and writes the answer if it can."""
    state, results = run.state, work.latest
    if ran_out(results):  # nothing is repaired any more: only what was done needs a verdict
        results = [each for each in results if each.ok]
    space = context_budget(state, RoleName.REVIEW)
    room = max(space - tokens([run.request, [each.state.subtask.name for each in results]]), space // 2)
    sizes = [tokens(briefs.reviewed(state, each, {})) for each in results]
    shares = [max(size, room // _most_like(state, each, size)) for each, size in zip(results, sizes, strict=True)]
    groups = grouped([*zip(results, shares, strict=True)], room)
    length = sum(tokens(each.text) for each in work.usable()) * 2
    length += TOKENS_PER_SUBTASK * sum(map(needs_verdict, results))
    is_short = len(results) <= SHARD or length <= work.definition.limits.max_output_tokens
    composes = is_short and len(groups) == 1 and all(each.ok for each in work.latest)
    if state.definition.models_of(REVIEWER) != state.definition.models_of(COMPOSER):
        composes = False  # who judges the answer does not write it
    for n, each in enumerate(groups):
        yield Shard(str(n), each, whole=n == 0, compose=composes)


def _most_like(state: RunState, result: Result, size: int) -> int:
    """Return how many results like this one, of this size in tokens, a review judges at most."""
    if not needs_verdict(result):
        return MOST
    given, is_short = result.state.subtask, result.ok and not result.state.acted and size <= SHORT
    if given.tool is not None or given.expected_output or not is_short:
        return SHARD
    return max(SHARD, min(MOST, page_size(state)))


async def _judged(run: FlowContext, work: Work, shard: Shard) -> list[tuple[Shard, Result]]:
    """Have a shard reviewed: in halves if it was too large for its model, and what the review left out once more."""
    said, middle = await _review(run, work, shard), len(shard.results) // 2
    if said.failure is None:
        left_out = _left_out(shard.results, Review.model_validate(said.value))
        again = [each for each in shard.results if each.key in left_out and AGAIN not in shard.name]
        return [(shard, said), *(await _judged(run, work, Shard(shard.name + AGAIN, again)) if again else [])]
    if not middle or not is_too_large(said.failure):
        return [(shard, said)]
    first = Shard(f"{shard.name}a", shard.results[:middle], shard.whole)
    halves = first, Shard(f"{shard.name}b", shard.results[middle:])
    return [*chain(*await run.gather(_judged(run, work, each) for each in halves))]


def _left_out(results: Sequence[Result], review: Review) -> list[str]:
    """Return the keys of the results that need a verdict, but have none in a review of them."""
    judged = {each.subtask for each in review.verdicts}
    return [each.key for each in results if needs_verdict(each) and each.key not in judged]


def _for_people(failure: Failure) -> Failure:
    """Return why results were not reviewed. A failure that names subtasks tells the model what to correct."""
    return NO_VERDICT if re.search(r"\bwo-\d+\.\d", failure.message) else failure


def _review(run: FlowContext, work: Work, shard: Shard) -> Pending[Result]:
    name, results = work.orders[-1], shard.results

    def shows(now: RunState, _: StepState) -> dict[str, Any]:
        return briefs.review(now, work, shard)

    def problems(_now: RunState, _step: StepState, said: Any) -> list[str]:
        return review_problems(work, results, said.value, whole=shard.whole)

    details = Details(
        title=f"Review {name}" + ("" if shard.name == "0" else f" · part {shard.name}"),
        instructions=with_role(run.state, RoleName.REVIEW, RoleName.COMPOSE) if shard.compose else None,
        judges=name,
        shows=shows,
        schema=briefs.review_schema(run.state, shard),
        checks=problems,
        proposes=proposed,
        draft=draft_of_review(work, results) if shard.compose else None,
    )
    given: dict[str, Any] = {"covers": [each.key for each in results], "results": results, "work_order_id": name}
    if shard.whole:
        given["of"] = sha([each.digest for each in (*work.usable(), *work.latest)])
    given |= {"compose": shard.compose, "whole": shard.whole}
    return run.step(REVIEWER, key=f"review-{name}-{shard.name}", input=given, details=details, optional=True)


def review_problems(work: Work, results: Sequence[Result], value: Json, *, whole: bool) -> list[str]:
    """Return why a review of some results cannot be used; ``whole``: it judges the order as a whole.

    It may leave out verdicts: another review is asked for them. If none that is needed is there, or something else has
    to be corrected, the missing ones are problems too.
    """
    review, found = parse(Review, value)
    if review is None:
        return found
    covered, times = {each.key: each for each in results}, Counter(each.subtask for each in review.verdicts)
    left_out = _left_out(results, review)
    found = [f"{key} is not among the subtasks to review" for key in times if key not in covered]
    found += [f"two verdicts for {key}" for key, number in times.items() if number > 1]
    number = len(work.orders) + 1
    for each in review.verdicts:
        key, instead = each.subtask, each.replacement if each.verdict is VerdictKind.REPLAN else None
        if each.verdict is VerdictKind.ACCEPT and key in covered and not covered[key].ok:
            found.append(f"{key} has failed and cannot be accepted")
        elif each.verdict is VerdictKind.REPLAN and instead is None:
            found.append(f"{key}: a replan needs a replacement")
        elif instead is not None:
            repair = instead.evolve(repairs_subtask=key)
            problems = order_problems(work.definition, (repair,), work.results, number)
            found += [f"the replacement of {key}: {problem}" for problem in problems]
    for each in review.missing:
        found += order_problems(work.definition, (each,), work.results, number)
    out_of_reach = work.cannot or review.cannot
    if whole and not review.complete and _accepts_all(review) and not out_of_reach:
        found.append("all verdicts are accept, but complete is false and nothing is listed as missing")
    if not found and len(left_out) < sum(map(needs_verdict, results)):
        return []
    return [*(f"no verdict for {key}" for key in left_out), *found]


def _accepts_all(review: Review) -> bool:
    """Whether a review leaves nothing open that could be done."""
    return not review.missing and all(each.verdict is VerdictKind.ACCEPT for each in review.verdicts)


def draft_of_review(work: Work, results: Sequence[Result]) -> Callable[[Json], bool]:
    """Return what decides whether the ``answer`` of a review is shown while it is written, from what stands before it:
    all is accepted, and nothing is missing."""

    def accepted(before: Json) -> bool:
        value = {"complete": True, **object_of(before)}
        review, _ = parse(Review, value) if "verdicts" in value else (None, [])
        sound = review is not None and review.complete and _accepts_all(review) and not _left_out(results, review)
        return sound and not review_problems(work, results, value, whole=True)

    return accepted
