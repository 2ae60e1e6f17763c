"""Review an order: in shards that are small enough for a model, and as a whole.

Which results a shard has follows from their places in the order, so that after the retry of one of them, the reviews of
the others are still valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from leadhand.core.errors import Failure, FailureClass
from leadhand.core.state import RunState, StepState
from leadhand.core.work_order import WorkOrder
from leadhand.core.work_result import Review, Verdict, VerdictKind
from leadhand.flows.context_budget import TOKENS_PER_SUBTASK, context_budget, grouped, is_too_large, tokens
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.details import Details
from leadhand.flows.seam.pending import Pending
from leadhand.flows.seam.results import Result, sha

from . import briefs, checks, schemas
from .roles import RoleName, role, with_role
from .work import NO_VERDICT, Reviewed, Shard, Work, is_exact, needs_verdict, ran_out

SHARD, BLOCK = 25, 100
"""Maximum subtasks per review, so that a model can judge each: those that need a verdict, and all. An order is reviewed
block by block, each when its subtasks are done."""


class _Found(NamedTuple):
    shard: Shard
    review: Review | None
    failure: Failure | None = None


async def review(run: FlowContext, work: Work, issued: Pending[list[Result]]) -> Review:
    """Wait for the results of an order, and return the reviews of all its shards, combined."""
    order, parts = run.ordered(issued)
    work.ordered(order)
    reviewing = _Reviewing(run, work, order, parts)
    shares = [1 if each.tool and not each.expected_output else BLOCK // SHARD for each in order.subtasks]
    blocks = grouped([*zip(parts, shares, strict=True)], BLOCK)
    found = await run.gather(reviewing.block(n, each) for n, each in enumerate(blocks))
    reviewed = reviewing.combined([each for of_block in found for each in of_block])
    work.reviewed(reviewed)
    return reviewed.review


class _Reviewing:
    def __init__(self, run: FlowContext, work: Work, order: WorkOrder, parts: Sequence[Pending[Result]]) -> None:
        self.run, self.work, self.order = run, work, order
        self.left = len(parts)
        self.results: dict[str, Result] = {}

    async def block(self, number: int, parts: Sequence[Pending[Result]]) -> list[_Found]:
        """Wait for some subtasks, and have them reviewed; with the last of the order, also the order as a whole."""
        results = await self.run.gather(parts, return_failures=True)
        self.results |= {each.key: each for each in results}
        self.left -= len(parts)
        found = await self.run.gather(self.judged(each) for each in self.shards(number, results))
        return [each for of_shard in found for each in of_shard]

    def shards(self, number: int, results: Sequence[Result]) -> list[Shard]:
        state, whole = self.run.state, not self.left
        alone = len(results) == len(self.order.subtasks)
        if ran_out(self.results.values()):  # nothing is repaired any more: only what was done needs a verdict
            results = [each for each in results if each.ok]
        sizes = {each.key: tokens(briefs.shown(each)) for each in results}
        request, space = tokens(self.run.request), context_budget(state, RoleName.REVIEW)
        most = max(space - request, space // 2)
        # Each takes at least its share of a review, so that a model has few to judge.
        shares = [(each, max(sizes[each.key], most // (BLOCK if is_exact(each) else SHARD))) for each in results]
        groups = grouped(shares, most, BLOCK)
        names = request + sum(tokens(subtask.name) for subtask in self.order.subtasks)
        fits = bool(groups) and names + sum(sizes[each.key] for each in groups[0]) <= space
        composes = alone and fits and len(groups) == 1 and self._is_short(results)
        shards = [
            Shard(f"{number}-{n}" if n else str(number), each, whole=whole and fits and n == 0, compose=composes)
            for n, each in enumerate(groups)
        ]
        apart = whole and not fits and any(each.ok for each in self.results.values())
        return [*shards, Shard("whole", (), whole=True)] if apart else shards

    def _is_short(self, results: Sequence[Result]) -> bool:
        """Whether all succeeded, and their results fit into one answer beside verdicts and those of earlier orders."""
        if not all(each.ok for each in results):
            return False
        length = sum(tokens(each.text) for each in (*self.work.usable(), *results))
        verdicts = TOKENS_PER_SUBTASK * sum(map(needs_verdict, results))
        limits = self.work.definition.limits
        return len(results) <= SHARD or 2 * length + verdicts <= limits.max_output_tokens

    async def judged(self, shard: Shard) -> list[_Found]:
        """Have a shard reviewed: in halves if it was too large for its model; what the review left out once more."""
        said = await self._step(shard)
        results, middle = shard.results, len(shard.results) // 2
        if not said.ok and is_too_large(said.failure) and len(results) > 1:
            halves = [("a", results[:middle]), ("b", results[middle:])]
            each = (Shard(shard.name + to, half, shard.whole and to == "a") for to, half in halves)
            return [found for half in await self.run.gather(map(self.judged, each)) for found in half]
        if not said.ok:
            return [_Found(shard, None, said.failure)]
        review = Review.model_validate(said.value)
        left_out = checks.without_verdict(results, [each.subtask for each in review.verdicts])
        found = [_Found(shard, review)]
        if left_out and not shard.name.endswith("-again"):
            again = [each for each in results if each.key in left_out]
            found += await self.judged(Shard(f"{shard.name}-again", again))
        return found

    def _step(self, shard: Shard) -> Pending[Result]:
        work, order, state = self.work, self.order, self.run.state
        results, name = shard.results, order.work_order_id
        is_last = work.is_last(self.results)
        tools = briefs.review_tools(state, shard.results, whole=shard.whole, is_last=is_last)
        done = {**self.results}

        def shows(now: RunState, _: StepState) -> dict[str, Any]:
            return briefs.review(now, work, order, shard, done, tools, is_last=is_last)

        def problems(_now: RunState, _step: StepState, said: Any) -> list[str]:
            return checks.review_problems(work, results, said.value, whole=shard.whole)

        composer = with_role(state, RoleName.COMPOSE, "") if shard.compose else None
        details = Details(
            title=f"Review {name}" + ("" if shard.name in ("0", "whole") else f" · part {shard.name}"),
            doing="Reviewing and writing the answer" if shard.compose else "",
            instructions=None if composer is None else with_role(state, RoleName.REVIEW, composer.strip()),
            judges=name,
            shows=shows,
            schema=lambda now, _: schemas.review_schema(now, shard, tools, is_last=is_last),
            checks=problems,
            proposes=lambda now, _, value: checks.calls_of_review(now.definition, value),
            draft=lambda _now, _step: checks.draft_of_review(work, results) if shard.compose else None,
        )
        given: dict[str, Any] = {"covers": [each.key for each in results], "results": results, "work_order_id": name}
        if shard.whole:
            given["of"] = sha([each.digest for each in (*work.usable(), *done.values())])
        given |= {"compose": shard.compose, "whole": shard.whole}
        return self.run.step(
            role(RoleName.REVIEW), key=f"review-{name}-{shard.name}", input=given, details=details, optional=True
        )

    # --- the review of the order -------------------------------------------------------------------------------------

    def combined(self, found: Sequence[_Found]) -> Reviewed:
        """Combine the reviews of all shards. The subtasks of a shard that could not be reviewed have no verdict."""
        failures = _failures(found)
        reviews = [(each.shard, each.review) for each in found if each.review is not None]
        whole = next((review for shard, review in reviews if shard.whole), None)
        said = {verdict.subtask: verdict for _, review in reviews for verdict in review.verdicts}
        covered = {each.key: each for shard, _ in reviews for each in shard.results}
        left_out = checks.without_verdict([*covered.values()], said)
        verdicts: dict[str, Verdict] = {}
        for key in self.order.subtask_keys():
            result = self.results[key]
            if result.by:
                verdicts[key] = _verdict(key, ok=result.ok)
            elif key in covered and key not in left_out:
                # A result without a verdict is of exactly the ordered call, and the review had nothing against it.
                verdicts[key] = said.get(key) or _verdict(key, ok=True)
        complete = len(reviews) == len(found) and not left_out and whole is not None and whole.complete
        missing, cannot = (whole.missing, whole.cannot) if whole is not None else ((), ())
        sound = complete and not missing and len(verdicts) == len(self.results)
        sound = sound and all(each.verdict is VerdictKind.ACCEPT for each in verdicts.values())
        answer = whole.answer if sound and whole is not None and any(shard.compose for shard, _ in reviews) else None
        review = Review(
            verdicts=tuple(verdicts.values()), complete=sound, missing=missing, cannot=cannot, answer=answer
        )
        return Reviewed(self.results, review, failures)


def _verdict(key: str, *, ok: bool) -> Verdict:
    return Verdict(subtask=key, verdict=VerdictKind.ACCEPT if ok else VerdictKind.DROP)


def _failures(found: Iterable[_Found]) -> Mapping[str, Failure]:
    """Return the failures of reviews by the keys of the subtasks that they should have judged.

    A failure that names subtasks tells the model what to correct; it is not the reason for every subtask.
    """
    failures: dict[str, Failure] = {}
    for each in found:
        keys = [result.key for result in each.shard.results]
        if (failure := each.failure) is not None:
            if failure.class_ is FailureClass.INVALID and any(key in failure.message for key in keys):
                failure = failure.evolve(message=NO_VERDICT)
            failures |= dict.fromkeys(keys, failure)
    return failures
