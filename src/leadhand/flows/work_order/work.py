"""What was ordered in a run so far, as values: orders with their results and verdicts, and what follows for the answer.

Nothing here is read from the state of the run, which is further on than its flow when the flow runs again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from leadhand.core.errors import RAN_OUT, Failure, FailureClass
from leadhand.core.outcome import gap
from leadhand.core.run import Gap
from leadhand.core.words.failures import ASK_AGAIN, more_steps
from leadhand.core.work_order import Unsupported, WorkOrder
from leadhand.core.work_result import Review, Verdict, VerdictKind
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.results import Result

NO_VERDICT = "the review gave no usable verdict"
UNSUPPORTED = "register a tool that can do it, or leave it out of the request"
"""What a person can do about a part that no tool can do."""


class Shard(NamedTuple):
    """What one review judges: some results, and with ``whole`` the order as a whole; with ``compose``, the review also
    writes the answer."""

    name: str
    results: Sequence[Result]
    whole: bool = False
    compose: bool = False


class Work:
    """The orders of a run that are carried out and reviewed, the latest last."""

    def __init__(self, run: FlowContext) -> None:
        self.run = run
        self.definition = run.state.definition
        self.orders: list[WorkOrder] = []
        self.results: dict[str, Result] = {}
        """The results of all subtasks, by key, in the order in which they were planned."""
        self.verdicts: dict[str, Verdict] = {}
        self.failures: Mapping[str, Failure] = {}
        """Why results have no verdict, where their reviews have failed."""
        self.superseded: set[str] = set()
        """The subtasks that others were done instead of."""
        self.cannot: tuple[Unsupported, ...] = ()
        self.missing: Sequence[str] = ()
        """What the review of the latest order found missing."""
        self.is_complete, self.may_order = True, False
        """Whether that review found everything there, and whether another order can follow."""

    def note_cannot(self, parts: Sequence[Unsupported]) -> None:
        """Note parts of the request that no tool supports."""
        self.cannot = tuple(dict.fromkeys((*self.cannot, *parts)))

    def ordered(self, order: WorkOrder) -> None:
        """Add an order that was issued, of which no review says anything yet."""
        self.orders.append(order)
        self.missing, self.is_complete = (), True
        self.superseded |= {each.repairs_subtask for each in order.subtasks if each.repairs_subtask is not None}

    def reviewed(self, results: Mapping[str, Result], review: Review, failures: Mapping[str, Failure]) -> None:
        """Add the results of the latest order, and its review."""
        self.may_order = not self.is_last(results)
        self.results |= results
        self.verdicts |= {each.subtask: each for each in review.verdicts}
        self.failures = {**self.failures, **failures}
        self.missing, self.is_complete = [each.name for each in review.missing], review.complete
        self.note_cannot(review.cannot)

    # --- what follows ------------------------------------------------------------------------------------------------

    def is_accepted(self, key: str) -> bool:
        """Whether a review has accepted a result."""
        judged = self.verdicts.get(key)
        return self.results[key].ok and judged is not None and judged.verdict is VerdictKind.ACCEPT

    def may_be_used(self, key: str) -> bool:
        """Whether the answer may use a result: it is accepted or was not judged, and nothing was done instead of it."""
        if key not in self.results or key in self.superseded:
            return False
        return self.is_accepted(key) or (self.results[key].ok and key not in self.verdicts)

    def usable(self) -> list[Result]:
        """Return the results that the answer may use, in the order in which they were planned."""
        return [each for key, each in self.results.items() if self.may_be_used(key)]

    def is_last(self, results: Mapping[str, Result]) -> bool:
        """Whether no order can follow the latest one, which has these results."""
        return len(self.orders) >= self.definition.limits.max_steps or ran_out(results.values())

    def open_parts(self) -> Iterator[tuple[str, str]]:
        """Yield the keys of results that the answer cannot use, with the reasons."""
        for key, each in self.results.items():
            if key not in self.superseded and not self.may_be_used(key):
                yield key, each.failure.message if each.failure is not None else self.verdicts[key].reason

    def gaps(self) -> list[Gap]:
        """Return the gaps besides failed subtasks: what was not judged or is missing, and what no tool can do."""
        more = more_steps(self.run.state)
        is_used_up = len(self.orders) >= self.definition.limits.max_steps
        why = "no further work order was allowed" if is_used_up else "what was ordered before gave nothing more"
        found = [self._unjudged(each) for each in self.usable() if each.key not in self.verdicts]
        found += [_part(name, f"it is missing, and {why}", more) for name in self.missing]
        found += [_part(each.what, each.reason, UNSUPPORTED, FailureClass.UNAVAILABLE) for each in self.cannot]
        if not found and not self.is_complete and not any(self.open_parts()):
            reason = "the review says that the results are incomplete, but not what is missing"
            found.append(_part("the request as a whole", reason, more))
        return found

    def _unjudged(self, result: Result) -> Gap:
        failure = self.failures.get(result.key)
        reason = f"the result could not be evaluated: {failure.message if failure is not None else NO_VERDICT}"
        action = (failure is not None and failure.next_action) or ASK_AGAIN
        # Its place in the order is known later than its result.
        return gap(self.run.state.steps[result.key], FailureClass.INSUFFICIENT, reason, action)


def _part(name: str, reason: str, action: str, class_: FailureClass = FailureClass.INSUFFICIENT) -> Gap:
    return Gap(name=name, class_=class_, reason=reason, next_action=action)


def ran_out(results: Iterable[Result]) -> bool:
    """Whether time or allowance was used up while results were made: what is left is for the answer."""
    return any(each.failure is not None and each.failure.type in RAN_OUT for each in results)


def is_exact(result: Result) -> bool:
    """Whether exactly the ordered call was made, and succeeded.

    Irreversible calls, and what was expected in words, need a verdict.
    """
    given, made = result.state.subtask, result.state.made
    if not result.ok or result.state.acted or given.expected_output:
        return False
    return len(made) == 1 and made[0].args == given.args and made[0].tool == given.tool


def needs_verdict(result: Result) -> bool:
    """Whether a review has to say what a result is worth: code or a person has not decided that."""
    return not result.by and not is_exact(result)
