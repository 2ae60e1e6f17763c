"""Repair orders: repeat what a review leaves open, and pass in accepted results by reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from leadhand.core.errors import FailureClass
from leadhand.core.ids import subtask_key
from leadhand.core.tool import Effect
from leadhand.core.work_order import ProposedSubtask, Subtask, circle, reference_to, references, result_reference
from leadhand.core.work_result import Review, VerdictKind
from leadhand.flows.seam.orders import issue
from leadhand.flows.seam.results import Result

from .work import Work

NEW_REASON = frozenset({FailureClass.TRANSIENT, FailureClass.LOST, FailureClass.RATE_LIMITED})
"""Failures after which the same call is worth a retry; after any other, it would fail again."""
TRIAL = "wo-000"
"""The id of an order that is not issued."""


class Wanted(NamedTuple):
    """The subtasks of an order that is to be issued, and for each the one that it is done instead of, if any."""

    subtasks: Sequence[ProposedSubtask]
    instead_of: Sequence[str | None] = ()

    def asked(self) -> list[dict[str, Any]]:
        """Return the subtasks as an order is asked for them."""
        both = zip_longest(self.subtasks, self.instead_of)
        return [{**dict(each), "repairs_subtask": of} for each, of in both]


_Again = tuple[Result, ProposedSubtask]
"""A result, and what is done instead."""


def repair(work: Work, review: Review) -> Wanted | None:
    """Return what repeats what the latest order left open, and adds what its review found missing; None if nothing.

    ``retry`` repeats the subtask, ``replan`` replaces it. A subtask is not repeated unchanged after a failure that
    would only occur again. The needs of repaired subtasks refer to the new ones.
    """
    again: list[_Again] = []
    for verdict in review.verdicts:
        before = work.results[verdict.subtask]
        if verdict.verdict is VerdictKind.REPLAN and verdict.replacement is not None:
            again.append((before, verdict.replacement))
        elif verdict.verdict is VerdictKind.RETRY:
            again.append((before, _proposed(before.state.subtask)))
    again = _possible(work, [each for each in again if _is_worth_it(work, *each)])
    moved = _moved(again)
    missing = [each for each in review.missing if _is_new(work, each)]
    subtasks = [*(_with_needs(subtask, moved) for _, subtask in again), *missing]
    return Wanted(subtasks, [*moved, *(None for _ in missing)]) if subtasks else None


def _proposed(subtask: Subtask) -> ProposedSubtask:
    return ProposedSubtask.model_validate(subtask.model_dump(exclude={"repairs_subtask"}))


def _is_worth_it(work: Work, before: Result, subtask: ProposedSubtask) -> bool:
    """Whether a repetition can end differently: it makes another call, or the failure was temporary."""
    given, failure, tool = before.state.subtask, before.failure, work.run.state.tools.get(subtask.tool or "")
    if before.state.acted and (tool is None or tool.effect is Effect.ONCE):
        return False  # never silently repeat an irreversible call
    if (subtask.tool, subtask.worker, subtask.args) != (given.tool, given.worker, given.args):
        return True
    if failure is None:  # the worker does not know yet why its result was rejected, so one more try makes sense
        return given.repairs_subtask is None
    return failure.class_ in NEW_REASON or failure.class_ is FailureClass.BLOCKED


def _possible(work: Work, again: list[_Again]) -> list[_Again]:
    """Leave out what needs a failed subtask that is not repeated, and what replacements have put into a cycle."""
    while True:
        moved = _moved(again)
        tried = issue([_with_needs(subtask, moved) for _, subtask in again], TRIAL, "-") if again else None
        tied = set(circle(tried)) if tried is not None else set[str]()
        kept = [
            (before, subtask)
            for n, (before, subtask) in enumerate(again)
            if subtask_key(TRIAL, n) not in tied
            and all(str(key) in moved or work.may_be_used(str(key)) for key in _needed(subtask))
        ]
        if len(kept) == len(again):
            return kept
        again = kept


def _needed(subtask: ProposedSubtask) -> Sequence[int | str]:
    """Return what a subtask needs: also that to which its arguments refer."""
    return *subtask.needs, *references(subtask.args)


def _moved(again: Sequence[_Again]) -> Mapping[str, str]:
    """Return the new indexes of repeated subtasks, by their keys."""
    return {before.key: str(n) for n, (before, _) in enumerate(again)}


def _with_needs(subtask: ProposedSubtask, moved: Mapping[str, str]) -> ProposedSubtask:
    """Return a subtask with the indexes of those that are done instead of what it needs."""

    def follow(value: Any) -> Any:
        reference = result_reference(value)
        if reference is None or reference[0] not in moved:
            return value
        return reference_to(moved[reference[0]], reference[1])

    needs = tuple(moved.get(str(needed), needed) for needed in subtask.needs)
    return subtask.evolve(needs=needs, args={name: follow(value) for name, value in subtask.args.items()})


def _is_new(work: Work, subtask: ProposedSubtask) -> bool:
    """Whether a call was not made before in this run, so that it can give something new; False also where a rejected
    subtask did something irreversible with the same tool, so that it might be repeated in other words."""

    def is_over(key: str, earlier: Result) -> bool:
        return _is_accepted(work, key) or (earlier.failure is not None and earlier.failure.class_ not in NEW_REASON)

    return subtask.tool is None or not any(
        (earlier.state.subtask.args == subtask.args and is_over(key, earlier))
        or (earlier.state.acted and not _is_accepted(work, key))
        for key, earlier in work.results.items()
        if earlier.state.subtask.tool == subtask.tool
    )


def _is_accepted(work: Work, key: str) -> bool:
    verdict = work.verdict(key)
    return work.results[key].ok and verdict is not None and verdict.verdict is VerdictKind.ACCEPT
