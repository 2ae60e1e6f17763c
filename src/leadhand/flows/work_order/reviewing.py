"""Review an order: in shards that are small enough for a model, and as a whole.

Which results a shard has follows from their places in the order, so that after the retry of one of them, the reviews of
the others are still valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
from .work import NO_VERDICT, Shard, Work, needs_verdict, ran_out

SHARD, BLOCK = 25, 100
"""Maximum subtasks per review, so that a model can judge each: those that need a verdict, and all. An order is reviewed
block by block, each when its subtasks are done."""


async def review(run: FlowContext, work: Work, issued: Pending[list[Result]]) -> Review:
    """Wait for the results of an order, and return the reviews of all its shards, combined."""
    order, parts = run.ordered(issued)
    work.ordered(order)
    reviewing = _Reviewing(run, work, order)
    shares = [1 if each.tool and not each.expected_output else BLOCK // SHARD for each in order.subtasks]
    blocks = grouped([*zip(parts, shares, strict=True)], BLOCK)
    await run.gather(reviewing.block(n, each) for n, each in enumerate(blocks))
    found = reviewing.combined()
    work.reviewed(reviewing.results, found, reviewing.failures)
    return found


class _Reviewing:
    """The review of one order, as far as it has come."""

    def __init__(self, run: FlowContext, work: Work, order: WorkOrder) -> None:
        self.run, self.work, self.order = run, work, order
        self.results: dict[str, Result] = {}
        self.failures: dict[str, Failure] = {}
        self._verdicts: dict[str, Verdict] = {}
        self._whole = Review(verdicts=())

    async def block(self, number: int, parts: Sequence[Pending[Result]]) -> None:
        """Wait for some subtasks, and have them reviewed; with the last of the order, also the order as a whole."""
        results = await self.run.gather(parts, return_failures=True)
        self.results |= {each.key: each for each in results}
        if ran_out(self.results.values()):  # nothing is repaired any more: only what was done needs a verdict
            results = [each for each in results if each.ok]
        whole = len(self.results) == len(self.order.subtasks)
        await self.run.gather(self._judged(each) for each in self._shards(number, results, whole=whole))

    def _shards(self, number: int, results: Sequence[Result], *, whole: bool) -> list[Shard]:
        state = self.run.state
        names = [each.name for each in self.order.subtasks] if whole else []
        space = context_budget(state, RoleName.REVIEW)
        room = max(space - tokens([self.run.request, names]), space // 2)
        groups = grouped([(each, tokens(briefs.reviewed(state, each, {}))) for each in results], room)
        composes = len(groups) == 1 and len(results) == len(self.order.subtasks) and self._is_short(results)
        return [
            Shard(f"{number}-{n}" if n else str(number), each, whole=whole and n == 0, compose=composes)
            for n, each in enumerate(groups)
        ]

    def _is_short(self, results: Sequence[Result]) -> bool:
        """Whether all succeeded, and their results fit into one answer beside verdicts and those of earlier orders."""
        length = sum(tokens(each.text) for each in (*self.work.usable(), *results))
        verdicts = TOKENS_PER_SUBTASK * sum(map(needs_verdict, results))
        fits = len(results) <= SHARD or 2 * length + verdicts <= self.work.definition.limits.max_output_tokens
        return fits and all(each.ok for each in results)

    async def _judged(self, shard: Shard) -> None:
        """Have a shard reviewed: in halves if it was too large for its model; what the review left out once more."""
        said = await self._step(shard)
        results, middle = shard.results, len(shard.results) // 2
        if said.failure is not None:
            if is_too_large(said.failure) and middle:
                first = Shard(f"{shard.name}a", results[:middle], shard.whole)
                await self.run.gather(map(self._judged, (first, Shard(f"{shard.name}b", results[middle:]))))
            else:
                self.failures |= dict.fromkeys([each.key for each in results], _for_people(said.failure, results))
            return
        found = Review.model_validate(said.value)
        self._verdicts |= {each.subtask: each for each in found.verdicts}
        self._whole = found.evolve(answer=found.answer if shard.compose else None) if shard.whole else self._whole
        left_out = [each for each in results if needs_verdict(each) and each.key not in self._verdicts]
        for each in results:  # of exactly the ordered call, if the review has nothing against it
            if each not in left_out:
                self._verdicts.setdefault(each.key, Verdict(subtask=each.key, verdict=VerdictKind.ACCEPT))
        if left_out and not shard.name.endswith("-again"):
            await self._judged(Shard(f"{shard.name}-again", left_out))

    def _step(self, shard: Shard) -> Pending[Result]:
        work, state, name, results = self.work, self.run.state, self.order.work_order_id, shard.results
        is_last, done = work.is_last(self.results), {**self.results}
        others = [each.state.subtask.name for each in done.values() if each not in results] if shard.whole else []

        def shows(now: RunState, _: StepState) -> dict[str, Any]:
            return briefs.review(now, work, shard, others, is_last=is_last)

        def problems(_now: RunState, _step: StepState, said: Any) -> list[str]:
            return checks.review_problems(work, results, said.value, whole=shard.whole)

        composer = with_role(state, RoleName.COMPOSE, "") if shard.compose else None
        details = Details(
            title=f"Review {name}" + ("" if shard.name == "0" else f" · part {shard.name}"),
            doing="Reviewing and writing the answer" if shard.compose else "",
            instructions=None if composer is None else with_role(state, RoleName.REVIEW, composer.strip()),
            judges=name,
            shows=shows,
            schema=lambda now, _: schemas.review_schema(now, shard, is_last=is_last),
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

    def combined(self) -> Review:
        """Combine the reviews of all shards. The subtasks of a shard that could not be reviewed have no verdict."""
        self.results = {key: self.results[key] for key in self.order.subtask_keys}
        for key, each in self.results.items():
            if each.by:
                kind = VerdictKind.ACCEPT if each.ok else VerdictKind.DROP
                self._verdicts[key] = Verdict(subtask=key, verdict=kind)
        verdicts = tuple(self._verdicts[key] for key in self.results if key in self._verdicts)
        accepted = [each for each in verdicts if each.verdict is VerdictKind.ACCEPT]
        whole = self._whole
        sound = whole.complete and not whole.missing and len(accepted) == len(self.results)
        return whole.evolve(verdicts=verdicts, complete=sound, answer=whole.answer if sound else None)


def _for_people(failure: Failure, results: Sequence[Result]) -> Failure:
    """Return why results were not reviewed. A failure that names subtasks tells the model what to correct; it is not
    the reason for every subtask."""
    named = failure.class_ is FailureClass.INVALID and any(each.key in failure.message for each in results)
    return failure.evolve(message=NO_VERDICT) if named else failure
