"""The results of work orders that the answer may use, their sources, and the gaps that the flow names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from leadhand.core import outcome
from leadhand.core.commands import Outcome
from leadhand.core.errors import RAN_OUT, Failure, FailureClass
from leadhand.core.outcome import failure_gap, gap, source_numbers, sources_of, used_up
from leadhand.core.relations import early
from leadhand.core.run import CitedSource, Gap
from leadhand.core.state import OrderState, RunState, StepState
from leadhand.core.words.failures import ASK_AGAIN, more_steps
from leadhand.core.work_order import Step
from leadhand.flows.plan_gate import page_id, plan_number

from .roles import RoleName

NO_VERDICT = "the review gave no usable verdict"
UNSUPPORTED = "register a tool that can do it, or leave it out of the request"
"""What a person can do about a part that no tool can do."""


def subtasks(state: RunState) -> Iterator[StepState]:
    """Return the subtasks of all orders, in the order they were planned; without an order, those that have begun."""
    if not state.orders:
        yield from early(state)
    for order in state.orders.values():
        for key in order.order.subtask_keys():
            yield state.steps[key]


def answerable_results(state: RunState, presumed: Collection[str] = ()) -> Iterator[StepState]:
    """Return the subtasks whose results the answer may use, in the order they were planned.

    These are the accepted ones, and those that could not be evaluated, which are also gaps.
    ``presumed`` are keys that a running review may accept at the same time.
    """
    for subtask in subtasks(state):
        usable = subtask.accepted or subtask.key in presumed or not_evaluated(subtask)
        if usable and subtask.data is not None and subtask.superseded_by is None:
            yield subtask


def is_exact(subtask: StepState) -> bool:
    """Whether exactly the ordered call was made, and succeeded.

    Irreversible calls, and what was expected in words, need a verdict.
    """
    given, made = subtask.subtask, subtask.made
    if not subtask.ok or subtask.acted or given.expected_output:
        return False
    return len(made) == 1 and made[0].args == given.args and made[0].tool == given.tool


def is_free(subtask: StepState) -> bool:
    """Whether a result of a subtask that names no tool can be judged by its text, its calls and what they returned.

    Its calls succeeded and did nothing irreversible, and no object was expected.
    """
    given, made = subtask.subtask, subtask.made
    if not subtask.ok or subtask.acted or given.output_schema is not None or given.tool is not None:
        return False
    as_ordered = not given.args or all(call.args == given.args for call in made)
    return bool(made) and as_ordered and all(call.ok for call in made)


def without_verdict(state: RunState, covers: Iterable[str], judged: Collection[str]) -> list[str]:
    """Return the subtasks that a review covers, and that need a verdict, but are not among those it ``judged``."""
    return [key for key in covers if key not in judged and not is_exact(state.steps[key])]


def not_evaluated(subtask: StepState) -> bool:
    """Whether there is a result that no evaluation has judged."""
    return subtask.ok and subtask.verdict is None


def ran_out(state: RunState, order: OrderState) -> bool:
    """Whether time or allowance was used up while an order was carried out: what is left is for the answer."""
    every = state.steps
    return any(
        failure.type in RAN_OUT for key in order.order.subtask_keys() if (failure := every[key].failure) is not None
    )


def answer_sources(state: RunState, presumed: Collection[str] = ()) -> list[CitedSource]:
    """Return the sources that the answer may cite, without duplicates; the first is number [1]."""
    return sources_of(answerable_results(state, presumed))


def section_numbers(state: RunState, section: Step) -> dict[tuple[str, str], int]:
    """Return the numbers of the sources of a section, as they were when the section was assigned."""
    own = source_numbers(sources_of(state.steps[key] for key in section.input["covers"]))
    return dict(zip(own, section.input["numbers"], strict=True))


def composed_text(state: RunState, node: StepState) -> str:
    """Return the text of a node of the tree; if its model failed, the results unchanged, one per line."""
    written = own_text(node)
    if written is not None:
        return written
    covers: list[str] = list(node.step.input.get("covers", ()))
    if not covers:
        return "\n\n".join(composed_text(state, state.steps[below]) for below in node.step.input["over"])
    numbers = section_numbers(state, node.step)
    lines: list[str] = []
    for subtask in (state.steps[key] for key in covers):
        if subtask.data is not None:
            cited = "".join(f" [{numbers[source.title, source.url]}]" for source in subtask.data.sources)
            lines.append(f"- {subtask.data.summary}{cited}")
    return "\n".join(lines)


def own_text(node: StepState) -> str | None:
    """Return what a model wrote as a composition; None if it failed."""
    return node.data.summary if node.ok and node.data is not None else None


def own_gaps(state: RunState) -> list[Gap]:
    """Return the gaps besides failed subtasks: parts that were not evaluated, are missing, or that no tool can do."""
    reviews = _failed_reviews(state)
    found = [
        _unreviewed(state, subtask, reviews.get(subtask.key))
        for subtask in subtasks(state)
        if not_evaluated(subtask) and subtask.superseded_by is None
    ]
    failing = any(not each.ok and each.superseded_by is None for each in subtasks(state))
    latest = state.order
    if latest is not None and latest.review is not None:
        found += [not_ordered(state, each.name) for each in latest.review.missing]
    found += [_part(part.what, part.reason, UNSUPPORTED, FailureClass.UNAVAILABLE) for part in state.unsupported]
    unplanned = planning_failure(state)
    if unplanned is not None and any(answerable_results(state)):
        reason = f"it could not be planned: {unplanned.message}"
        found.append(failure_gap("the rest of the request", unplanned, reason))
    incomplete = latest is not None and latest.review is not None and not latest.review.complete
    if not found and not failing and incomplete:
        reason = "the review says that the results are incomplete, but not what is missing"
        found.append(_part("the request as a whole", reason, more_steps(state)))
    return found


def not_ordered(state: RunState, name: str) -> Gap:
    """Return the gap of a part that is missing, and that no order could include, or that was ordered before."""
    used_up = state.orders_of_lead >= state.definition.limits.max_steps
    reason = "no further work order was allowed" if used_up else "what was ordered before gave nothing more"
    return _part(name, f"it is missing, and {reason}", more_steps(state))


def planning_failure(state: RunState) -> Failure | None:
    """Return why the request could not be planned; None for any other run."""
    first = state.steps.get(page_id(1, plan_number(state)))
    return None if first is None or not first.closed or first.ok else why_failed(first)


def why_failed(page: StepState) -> Failure:
    """Return why a page of the plan failed."""
    return page.failure or Failure.of("no reason was given", "unknown", FailureClass.INSUFFICIENT)


def all_gaps(state: RunState) -> list[Gap]:
    """Return every gap if the run ended now: those of failed subtasks, and the flow's own."""
    return outcome.all_gaps(state, Outcome(gaps=own_gaps(state)))


def _part(name: str, reason: str, action: str, class_: FailureClass = FailureClass.INSUFFICIENT) -> Gap:
    return Gap(name=name, class_=class_, reason=reason, next_action=action)


def _failed_reviews(state: RunState) -> dict[str, Failure]:
    """Return the failures of reviews by the keys of the subtasks that they should have judged.

    A failure that names subtasks tells the model what to correct; it is not the reason for every subtask.
    """
    found: dict[str, Failure] = {}
    for step in state.steps.values():
        failure = step.failure
        if step.step.worker == RoleName.REVIEW and failure is not None:
            covers: list[str] = step.step.input.get("covers", [])
            if failure.class_ is FailureClass.INVALID and any(key in failure.message for key in covers):
                failure = failure.evolve(message=NO_VERDICT)
            found |= dict.fromkeys(covers, failure)
    return found


def _unreviewed(state: RunState, subtask: StepState, review: Failure | None) -> Gap:
    """Return the gap of a finished subtask that was not evaluated."""
    if state.cancel_by is not None:
        reason = f"the run was cancelled by {state.cancel_by} before the result was evaluated"
        return gap(subtask, FailureClass.REJECTED, reason, ASK_AGAIN)
    cause = review or used_up(state)
    why = cause.message if cause is not None else NO_VERDICT
    action = ASK_AGAIN if cause is None else cause.next_action
    return gap(subtask, FailureClass.INSUFFICIENT, f"the result could not be evaluated: {why}", action)
