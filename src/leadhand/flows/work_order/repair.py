"""Repair orders: repeat what a review leaves open, and pass in accepted results by reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from leadhand.core.errors import FailureClass
from leadhand.core.tool import Effect
from leadhand.core.work_order import ProposedSubtask, references
from leadhand.core.work_result import VerdictKind
from leadhand.flows.seam.orders import order_problems
from leadhand.flows.seam.results import Result

from .work import Work

NEW_REASON = frozenset({FailureClass.TRANSIENT, FailureClass.LOST, FailureClass.RATE_LIMITED})
"""Failures after which the same call is worth a retry; after any other, it would fail again."""
Wanted: TypeAlias = Sequence[tuple[ProposedSubtask, str | None]]
"""The subtasks of an order that is to be issued, each with the key of the one that it is done instead of, if any."""


def repair(work: Work) -> Wanted:
    """Return what repeats what the latest order left open, and adds what its review found missing.

    ``retry`` repeats the subtask, ``replan`` replaces it. A subtask is not repeated unchanged after a failure that
    would only occur again, nor if it needs one that has failed and is not repeated.
    """
    again: dict[str, ProposedSubtask] = {}
    for verdict in work.review.verdicts:
        before = work.results[verdict.subtask]
        same = ProposedSubtask.model_validate(before.state.subtask.model_dump(exclude={"repairs_subtask"}))
        subtask = {VerdictKind.RETRY: same, VerdictKind.REPLAN: verdict.replacement}.get(verdict.verdict)
        if subtask is not None and _is_worth_it(work, before, subtask):
            again[before.key] = subtask
    while blocked := [key for key, each in again.items() if not _is_possible(work, each, again)]:
        again = {key: each for key, each in again.items() if key not in blocked}
    number = len(work.orders) + 1
    if again and order_problems(work.definition, [*again.values()], work.results, number, [*again]):
        again = {}  # replacements need each other
    missing = [each for each in work.review.missing if _is_new(work, each)]
    return [*((each, key) for key, each in again.items()), *((each, None) for each in missing)]


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


def _is_new(work: Work, subtask: ProposedSubtask) -> bool:
    """Whether a call was not made before in this run, so that it can give something new; False also where a rejected
    subtask did something irreversible with the same tool, so that it might be repeated in other words."""
    return subtask.tool is None or not any(
        earlier.state.subtask.args == subtask.args or (earlier.state.acted and not work.is_accepted(key))
        for key, earlier in work.results.items()
        if earlier.state.subtask.tool == subtask.tool
    )
