"""The results of a work order that may be in the answer, their sources, and the gaps that the flow itself names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from leadhand.domain import outcome
from leadhand.domain.commands import Outcome
from leadhand.domain.errors import Failure, FailureClass
from leadhand.domain.outcome import ASK_AGAIN, gap, more_steps, next_action, sources_of, used_up
from leadhand.domain.run import CitedSource, Gap
from leadhand.domain.state import AssignmentState, RunState
from leadhand.domain.work_order import Assignment

from .roles import RoleName

UNSUPPORTED = "register a tool that can do it, or leave it out of the request"
"""What a person can do about a part that no tool can do."""


def subtasks(state: RunState) -> Iterator[AssignmentState]:
    """The subtasks of all orders, in the order they were planned."""
    for order in state.orders.values():
        for key in order.order.subtask_keys():
            yield state.assignments[key]


def answerable_results(state: RunState, presumed: Collection[str] = ()) -> Iterator[AssignmentState]:
    """The subtasks whose results may be in the answer, in the order they were planned.

    Those the review accepted, and those it could not judge: these are shown as unverified, and are gaps as well.
    ``presumed`` are keys that a review under way may accept at the same time.
    """
    for subtask in subtasks(state):
        usable = subtask.accepted or subtask.key in presumed or unverified(subtask)
        if usable and subtask.data is not None and subtask.superseded_by is None:
            yield subtask


def unverified(subtask: AssignmentState) -> bool:
    """Whether a result passed the code checks and was not judged."""
    return subtask.ok and subtask.verdict is None


def answer_sources(state: RunState, presumed: Collection[str] = ()) -> list[CitedSource]:
    """The sources the answer may cite, each once: number [1] is the first."""
    return sources_of(answerable_results(state, presumed))


def section_numbers(state: RunState, section: Assignment) -> dict[tuple[str, str], int]:
    """The numbers of the sources of a section of the answer, as they were given when it was handed out."""
    own = own_sources(state.assignments[key] for key in section.input["covers"])
    return dict(zip(own, section.input["numbers"], strict=True))


def own_sources(results: Iterable[AssignmentState]) -> list[tuple[str, str]]:
    """The sources of some results, by title and address, each once."""
    found = {(s.title, s.url): None for result in results if result.data is not None for s in result.data.sources}
    return list(found)


def own_gaps(state: RunState) -> list[Gap]:
    """What the answer lacks beside failed subtasks: what is unverified, missing, or beyond every tool."""
    reviews = _failed_reviews(state)
    found = [
        _unreviewed(state, subtask, reviews.get(subtask.key))
        for subtask in subtasks(state)
        if unverified(subtask) and subtask.superseded_by is None
    ]
    failing = any(not each.ok and each.superseded_by is None for each in subtasks(state))
    latest = state.order
    if latest is not None and latest.review is not None:
        reason = "the review found this part missing, and no further order was allowed"
        found += [_part(each.name, reason, more_steps(state)) for each in latest.review.missing]
    found += [_part(part.what, part.reason, UNSUPPORTED, FailureClass.UNAVAILABLE) for part in state.unsupported]
    incomplete = latest is not None and latest.review is not None and not latest.review.complete
    if not found and not failing and incomplete:
        reason = "the review does not call the results complete, and did not say what is missing"
        found.append(_part("the request as a whole", reason, more_steps(state)))
    return found


def all_gaps(state: RunState) -> list[Gap]:
    """Every gap there would be if the run ended now: failed subtasks in their place among the flow's own gaps."""
    return outcome.all_gaps(state, Outcome(gaps=own_gaps(state)))


def _part(name: str, reason: str, action: str, class_: FailureClass = FailureClass.INSUFFICIENT) -> Gap:
    return Gap(name=name, class_=class_, reason=reason, next_action=action)


def _failed_reviews(state: RunState) -> dict[str, Failure]:
    """Why the review failed that was to judge a subtask, by the subtask's key."""
    found: dict[str, Failure] = {}
    for assignment in state.assignments.values():
        if assignment.assignment.role == RoleName.REVIEW and assignment.failure is not None:
            found |= dict.fromkeys(assignment.assignment.input.get("covers", ()), assignment.failure)
    return found


def _unreviewed(state: RunState, subtask: AssignmentState, review: Failure | None) -> Gap:
    """The gap of a finished subtask that was not judged."""
    passed = "its result passed the code checks"
    if state.cancel_by is not None:
        reason = f"{passed}, and the run was cancelled by {state.cancel_by} before its review: unverified"
        return gap(subtask, FailureClass.REJECTED, reason, ASK_AGAIN)
    cause = review or used_up(state)
    if cause is None:
        return gap(subtask, FailureClass.INSUFFICIENT, f"{passed} but could not be reviewed: unverified", ASK_AGAIN)
    reason = f"{passed} but could not be reviewed: unverified ({cause.message})"
    return gap(subtask, FailureClass.INSUFFICIENT, reason, next_action(state, cause))
