"""What was ordered in a run so far, as values: results with their verdicts, and what follows for the answer and for the
next order, a repair, which passes in accepted results by reference.

Nothing here is read from the state of the run, which is further on than its flow when the flow runs again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from leadhand.core.errors import RAN_OUT, Failure, FailureClass
from leadhand.core.outcome import gap
from leadhand.core.run import Gap
from leadhand.core.tool import Effect
from leadhand.core.words.failures import ASK_AGAIN, more_steps
from leadhand.core.work_order import Subtask, Unsupported, references
from leadhand.core.work_result import Review, SubtaskVerdict, VerdictKind
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.orders import order_problems
from leadhand.flows.seam.results import Result

UNSUPPORTED = "register a tool that can do it, or leave it out of the request"
"""What a person can do about a part that no tool can do."""
UNJUDGED = "the result could not be evaluated"

NEW_REASON = frozenset({FailureClass.TRANSIENT, FailureClass.LOST, FailureClass.RATE_LIMITED})
"""Failures after which the same call is worth a retry; after any other, it would fail again."""


class Work:
    """The orders of a run that are carried out, the latest last."""

    def __init__(self, run: FlowContext) -> None:
        self.run = run
        self.definition = run.state.definition
        self.orders: list[str] = []
        self.results: dict[str, Result] = {}
        """The results of all subtasks, by key, in the order in which they were planned."""
        self.latest: Sequence[Result] = ()
        """Those of the latest order."""
        self.verdicts: dict[str, SubtaskVerdict] = {}
        self.failures: dict[str, Failure] = {}
        """Why results have no verdict, where their reviews have failed."""
        self.cannot: tuple[Unsupported, ...] = ()
        self.review = Review()
        """The review of the latest order."""
        self._superseded: set[str | None] = set()

    def note_cannot(self, parts: Sequence[Unsupported]) -> None:
        """Note parts of the request that no tool supports."""
        self.cannot = tuple(dict.fromkeys((*self.cannot, *parts)))

    def carried_out(self, order: str, results: Sequence[Result]) -> None:
        """Add an order with its results, of which no review says anything yet."""
        self.orders.append(order)
        self.latest, self.review = results, Review()
        self.results |= {each.key: each for each in results}
        self._superseded |= {each.state.subtask.repairs_subtask for each in results}

    def reviewed(self, review: Review) -> None:
        """Add the review of the latest order."""
        self.review = review
        self.verdicts |= {each.subtask: each for each in review.verdicts}
        self.note_cannot(review.cannot)

    # --- what follows ------------------------------------------------------------------------------------------------

    def is_accepted(self, key: str) -> bool:
        """Whether a review has accepted a result."""
        judged = self.verdicts.get(key)
        return self.results[key].ok and judged is not None and judged.verdict is VerdictKind.ACCEPT

    def may_be_used(self, key: str) -> bool:
        """Whether the answer may use a result: it is accepted or was not judged, and nothing was done instead of it."""
        if key not in self.results or key in self._superseded:
            return False
        return self.is_accepted(key) or (self.results[key].ok and key not in self.verdicts)

    def usable(self) -> list[Result]:
        """Return the results that the answer may use, in the order in which they were planned."""
        return [each for key, each in self.results.items() if self.may_be_used(key)]

    @property
    def is_last(self) -> bool:
        """Whether no order can follow the latest one."""
        return self._is_used_up or ran_out(self.latest)

    @property
    def _is_used_up(self) -> bool:
        return len(self.orders) >= self.definition.limits.max_steps

    def gaps(self) -> list[Gap]:
        """Return the gaps besides failed subtasks: what was not judged or is missing, and what no tool can do."""
        more, steps = more_steps(self.run.state), self.run.state.steps  # where a place in the order is known
        why = "no further work order was allowed" if self._is_used_up else "what was ordered before gave nothing more"
        found = [
            gap(steps[key], FailureClass.INSUFFICIENT, f"{UNJUDGED}: {each.message}", each.next_action or ASK_AGAIN)
            for key, each in self.failures.items()
            if self.may_be_used(key) and key not in self.verdicts  # else a person has decided
        ]
        found += [_part(each.name, f"it is missing, and {why}", more) for each in self.review.missing]
        found += [_part(each.what, each.reason, UNSUPPORTED, FailureClass.UNAVAILABLE) for each in self.cannot]
        return found


def _part(name: str, reason: str, action: str, class_: FailureClass = FailureClass.INSUFFICIENT) -> Gap:
    return Gap(name=name, class_=class_, reason=reason, next_action=action)


def ran_out(results: Sequence[Result]) -> bool:
    """Whether time or allowance was used up while results were made: what is left is for the answer."""
    return any(each.failure is not None and each.failure.type in RAN_OUT for each in results)


def needs_verdict(result: Result) -> bool:
    """Whether a review has to say what a result is worth: code or a person has not decided that."""
    return not result.is_exact and not result.by


# --- repair orders ---------------------------------------------------------------------------------------------------


def repair(work: Work) -> list[Subtask]:
    """Return what repeats what the latest order left open, and adds what its review found missing.

    ``retry`` repeats the subtask, ``replan`` replaces it. A subtask is not repeated unchanged after a failure that
    would only occur again, nor if it needs one that has failed and is not repeated.
    """
    again: dict[str, Subtask] = {}
    for verdict in work.review.verdicts:
        before = work.results[verdict.subtask]
        choice = {VerdictKind.RETRY: before.state.subtask, VerdictKind.REPLAN: verdict.replacement}
        subtask = choice.get(verdict.verdict)
        if subtask is not None and _is_worth_it(work, before, subtask):
            again[before.key] = subtask.evolve(repairs_subtask=before.key)
    while blocked := [key for key, each in again.items() if not _is_possible(work, each, again)]:
        again = {key: each for key, each in again.items() if key not in blocked}
    number = len(work.orders) + 1
    if again and order_problems(work.definition, [*again.values()], work.results, number):
        again = {}  # replacements need each other
    missing = [each for each in work.review.missing if is_new(work, each)]
    return [*again.values(), *(each.evolve(repairs_subtask=None) for each in missing)]


def _is_worth_it(work: Work, before: Result, subtask: Subtask) -> bool:
    """Whether a repetition can end differently: it makes another call, or the failure was temporary."""
    given, failure, tool = before.state.subtask, before.failure, work.run.state.tools.get(subtask.tool or "")
    if before.state.acted and (tool is None or tool.effect is Effect.ONCE):
        return False  # never silently repeat an irreversible call
    if (subtask.tool, subtask.worker, subtask.args) != (given.tool, given.worker, given.args):
        return True
    if failure is None:  # the worker does not know yet why its result was rejected, so one more try makes sense
        return given.repairs_subtask is None
    return failure.class_ in NEW_REASON or failure.class_ is FailureClass.BLOCKED


def _is_possible(work: Work, subtask: Subtask, again: Mapping[str, Subtask]) -> bool:
    """Whether there will be a result of each subtask that one needs, also of those to which its arguments refer."""
    needed = map(str, (*subtask.needs, *references(subtask.args)))
    return all(key in again or work.may_be_used(key) for key in needed)


def is_new(work: Work, subtask: Subtask) -> bool:
    """Whether a call was not made before in this run, so that it can give something new; False also where a rejected
    subtask did something irreversible with the same tool, so that it might be repeated in other words."""
    return subtask.tool is None or not any(
        earlier.state.subtask.args == subtask.args or (earlier.state.acted and not work.is_accepted(key))
        for key, earlier in work.results.items()
        if earlier.state.subtask.tool == subtask.tool
    )
