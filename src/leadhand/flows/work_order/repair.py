"""Repair orders: repeat what a review leaves open, and pass in accepted results by reference."""

from __future__ import annotations

from typing import Any

from leadhand.core.errors import FailureClass
from leadhand.core.ids import split_key, subtask_key
from leadhand.core.lifecycle import StepStatus
from leadhand.core.relations import blocked_by, next_order_id
from leadhand.core.state import OrderState, RunState, StepState
from leadhand.core.tool import Effect
from leadhand.core.work_order import Subtask, WorkOrder, circle, reference_to, result_reference
from leadhand.core.work_result import Review, VerdictKind
from leadhand.flows.work_order.plans import issue

from .results import subtasks

NEW_REASON = frozenset({FailureClass.TRANSIENT, FailureClass.LOST, FailureClass.RATE_LIMITED})
"""Failures after which the same call is worth a retry; after any other, it would fail again."""


def repair_order(state: RunState, order: OrderState) -> WorkOrder | None:
    """Return the order that repeats what ``order`` left open and adds what its review found missing, None if nothing.

    ``retry`` repeats the subtask, ``replan`` replaces it; both name the subtask that they repair. A subtask is not
    repeated unchanged after a failure that would only occur again. The needs of repaired subtasks refer to the new
    keys.
    """
    review = order.review
    if review is None:
        return None
    new_id, workers = next_order_id(state), state.definition.declared
    again: list[tuple[StepState, Subtask]] = []
    for verdict in review.verdicts:
        before = state.steps[verdict.subtask]
        if verdict.verdict is VerdictKind.REPLAN and verdict.replacement is not None:
            proposed = issue((verdict.replacement,), new_id, order.order.goal, workers=workers).subtasks[0]
            again.append((before, proposed))
        elif verdict.verdict is VerdictKind.RETRY:
            again.append((before, before.subtask))
    again = [pair for pair in again if _worth_it(state, *pair)]
    return _order(order, new_id, [*_repaired(state, again, new_id), *new_subtasks(state, order, review)])


def missing_order(state: RunState, order: OrderState, review: Review) -> WorkOrder | None:
    """Return the order of what a review found missing, None if nothing that was not ordered before."""
    return _order(order, next_order_id(state), new_subtasks(state, order, review))


def new_subtasks(state: RunState, order: OrderState, review: Review) -> list[Subtask]:
    """Return what a review found missing, as subtasks of the next order, without those that would give nothing new."""
    if not review.missing:
        return []
    workers, goal = state.definition.declared, order.order.goal
    proposed = issue(review.missing, next_order_id(state), goal, workers=workers).subtasks
    return [subtask for subtask in proposed if is_new(state, subtask)]


def retry_order(state: RunState, order: OrderState) -> WorkOrder | None:
    """The order that retries the subtasks that people requested, and those they had blocked; None if impossible."""
    new_id = next_order_id(state)
    retries = state.retries_wanted
    again: list[tuple[StepState, Subtask]] = []
    for key in sorted({*retries, *blocked_by(state, set(retries))}, key=split_key):
        before, retry = state.steps[key], retries.get(key)
        subtask = before.subtask
        if retry is not None and retry.data is not None:
            subtask = Subtask(name=subtask.name)  # nothing to do: it has its result
        elif retry is not None and retry.args is not None:
            subtask = subtask.evolve(args=retry.args, needs=_still_needed(subtask, retry.args))
        again.append((before, subtask))
    return _order(order, new_id, _repaired(state, again, new_id))


def _order(order: OrderState, new_id: str, subtasks: list[Subtask]) -> WorkOrder | None:
    repaired = order.order
    if not subtasks:
        return None
    return WorkOrder(work_order_id=new_id, goal=repaired.goal, subtasks=tuple(subtasks), repairs=repaired.work_order_id)


def _still_needed(subtask: Subtask, args: dict[str, Any]) -> tuple[str, ...]:
    """Return the needs of a subtask with new arguments: those that the arguments refer to, or all."""
    referred = {found[0] for value in args.values() if (found := result_reference(value)) is not None}
    before = {found[0] for value in subtask.args.values() if (found := result_reference(value)) is not None}
    return tuple(needed for needed in subtask.needs if needed in referred or needed not in before)


def _repaired(state: RunState, again: list[tuple[StepState, Subtask]], new_id: str) -> list[Subtask]:
    """Return the subtasks of the new order, with needs that refer to the new keys.

    Subtasks are omitted that need a failed subtask which is not repeated, or that replacements have put into a cycle.
    """
    while True:
        again = _without_dead_ends(state, again)
        moved = {before.key: subtask_key(new_id, index) for index, (before, _) in enumerate(again)}
        subtasks = [moved_needs(subtask, moved).evolve(repairs_subtask=before.key) for before, subtask in again]
        if not subtasks:
            return []
        tied = set(circle(WorkOrder(work_order_id=new_id, goal="repair", subtasks=tuple(subtasks))))
        if not tied:
            return subtasks
        again = [pair for pair in again if moved[pair[0].key] not in tied]


def _worth_it(state: RunState, before: StepState, subtask: Subtask) -> bool:
    """Whether a repetition can end differently: it makes another call, or the failure was temporary."""
    tool = state.tools.get(subtask.tool or "")
    may_act = tool is None or tool.effect is Effect.ONCE
    if before.acted and may_act:
        return False  # never silently repeat an irreversible call
    if _does(subtask) != _does(before.subtask):
        return True
    if before.failure is None or before.failure.class_ in NEW_REASON or before.failure.class_ is FailureClass.BLOCKED:
        return True
    # Rejected by the review: the worker does not know the reason yet, so one retry makes sense.
    return before.failure.class_ is FailureClass.INSUFFICIENT and before.subtask.repairs_subtask is None


def _does(subtask: Subtask) -> tuple[str | None, str | None, dict[str, Any]]:
    return subtask.tool, subtask.worker, subtask.args


def _without_dead_ends(state: RunState, again: list[tuple[StepState, Subtask]]) -> list[tuple[StepState, Subtask]]:
    """Omit subtasks that need a failed subtask which is not repeated; iterate, since that can block others."""
    while True:
        moved = {before.key for before, _ in again}
        kept = [
            (before, subtask)
            for before, subtask in again
            if all(needed in moved or state.steps[needed].status is StepStatus.COMPLETED for needed in subtask.needs)
        ]
        if len(kept) == len(again):
            return kept
        again = kept


def moved_needs(subtask: Subtask, moved: dict[str, str]) -> Subtask:
    """Return a subtask with other keys for the subtasks that it needs."""

    def follow(value: object) -> object:
        reference = result_reference(value)
        if reference is None or reference[0] not in moved:
            return value
        return reference_to(moved[reference[0]], reference[1])

    return subtask.evolve(
        needs=tuple(moved.get(needed, needed) for needed in subtask.needs),
        args={name: follow(value) for name, value in subtask.args.items()},
    )


def is_new(state: RunState, subtask: Subtask) -> bool:
    """Whether a call was not made before in this run, so that it can give something new; False also where a rejected
    subtask did something irreversible with the same tool, so that it might be repeated in other words."""
    return subtask.tool is None or not any(
        (earlier.subtask.args == subtask.args and _over(earlier)) or (earlier.acted and not earlier.accepted)
        for earlier in subtasks(state)
        if earlier.subtask.tool == subtask.tool
    )


def _over(earlier: StepState) -> bool:
    return earlier.accepted or (earlier.failure is not None and earlier.failure.class_ not in NEW_REASON)
