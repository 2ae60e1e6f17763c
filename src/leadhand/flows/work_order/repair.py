"""Repair orders: repeat what a review leaves open, and pass in accepted results by reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from leadhand.core.errors import FailureClass
from leadhand.core.tool import Effect
from leadhand.core.work_order import ProposedSubtask, Subtask, reference_to, references, result_reference
from leadhand.core.work_result import Review, VerdictKind
from leadhand.flows.seam.orders import order_problems
from leadhand.flows.seam.results import Result

from .work import Work

NEW_REASON = frozenset({FailureClass.TRANSIENT, FailureClass.LOST, FailureClass.RATE_LIMITED})
"""Failures after which the same call is worth a retry; after any other, it would fail again."""


class Wanted(NamedTuple):
    """The subtasks of an order that is to be issued, and for each the one that it is done instead of, if any."""

    subtasks: Sequence[ProposedSubtask]
    instead_of: Sequence[str | None] = ()

    def asked(self) -> list[dict[str, Any]]:
        """Return the subtasks as an order is asked for them."""
        both = zip_longest(self.subtasks, self.instead_of)
        return [{**dict(each), "repairs_subtask": of} for each, of in both]


def repair(work: Work, review: Review) -> Wanted | None:
    """Return what repeats what the latest order left open, and adds what its review found missing; None if nothing.

    ``retry`` repeats the subtask, ``replan`` replaces it. A subtask is not repeated unchanged after a failure that
    would only occur again, nor if it needs one that has failed and is not repeated. The needs of repaired subtasks
    refer to the new ones.
    """
    again: dict[str, ProposedSubtask] = {}
    for verdict in review.verdicts:
        before = work.results[verdict.subtask]
        retried = verdict.verdict is VerdictKind.RETRY
        subtask = _proposed(before.state.subtask) if retried else verdict.replacement
        if (
            subtask is not None
            and (retried or verdict.verdict is VerdictKind.REPLAN)
            and _is_worth_it(work, before, subtask)
        ):
            again[before.key] = subtask
    while blocked := [key for key, each in again.items() if not _is_possible(work, each, again)]:
        again = {key: each for key, each in again.items() if key not in blocked}
    moved = {key: str(n) for n, key in enumerate(again)}
    repeated = [_with_needs(each, moved) for each in again.values()]
    if repeated and order_problems(
        work.definition, repeated, work.results, len(work.orders) + 1
    ):  # replacements need each other
        moved, repeated = {}, []
    missing = [each for each in review.missing if _is_new(work, each)]
    subtasks = [*repeated, *missing]
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


def _is_possible(work: Work, subtask: ProposedSubtask, again: Mapping[str, ProposedSubtask]) -> bool:
    """Whether there will be a result of each subtask that one needs, also of those to which its arguments refer."""
    needed = map(str, (*subtask.needs, *references(subtask.args)))
    return all(key in again or work.may_be_used(key) for key in needed)


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
    return subtask.tool is None or not any(
        earlier.state.subtask.args == subtask.args or (earlier.state.acted and not work.is_accepted(key))
        for key, earlier in work.results.items()
        if earlier.state.subtask.tool == subtask.tool
    )
