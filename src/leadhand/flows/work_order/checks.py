"""What is wrong with the structured answers of a lead, before they are used: plans and reviews."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from pydantic import ValidationError

from leadhand.core.run import RunDefinition
from leadhand.core.value import Json, Value, is_object, list_of, object_of, objects_of
from leadhand.core.work_order import ProposedSubtask, references
from leadhand.core.work_result import Review, VerdictKind
from leadhand.flows.flow import ProposedCall
from leadhand.flows.seam.orders import order_problems
from leadhand.flows.seam.results import Result

from .roles import Plan
from .work import Work, needs_verdict

_V = TypeVar("_V", bound=Value)


def parse(shape: type[_V], value: Json) -> tuple[_V | None, list[str]]:
    """Return ``value`` as ``shape``, or its problems, one sentence each."""
    try:
        return shape.model_validate(value), []
    except ValidationError as error:
        faults = [(".".join(map(str, each["loc"])) or "the answer", each["msg"]) for each in error.errors()]
        return None, [f"{where}: {what}" for where, what in faults[:8]]


def plan_problems(definition: RunDefinition, before: Sequence[ProposedSubtask], value: Json) -> list[str]:
    """Return why a page of a plan cannot be used; ``before`` are the subtasks of the pages before it."""
    page, found = parse(Plan, value)
    if page is None:
        return found
    direct, is_empty = page.answer or page.question, not page.subtasks
    several = page.subtasks or page.cannot or page.more or before or (page.answer and page.question)
    rules = {
        "give either subtasks, or an answer, or a question": direct and several,
        "the answer is empty": direct and not direct.strip(),
        "this page has no subtasks, although it announces more": is_empty and page.more,
        "the plan has no subtasks and lists nothing that cannot be done": not (direct or several),
        "the plan has subtasks, but no goal": page.subtasks and not page.goal,
    }
    if is_empty or any(rules.values()):
        return [problem for problem, is_one in rules.items() if is_one][:1]
    known = [_call(each) for each in before]
    again = next((each for each in page.subtasks if each.tool and _call(each) in known), None)
    if again is not None:
        return [f"{again.name} repeats subtask {known.index(_call(again))} of an earlier page"]
    return order_problems(definition, (*before, *page.subtasks))


def _call(subtask: ProposedSubtask) -> Sequence[Json]:
    return subtask.tool, subtask.args, [*subtask.needs], subtask.expected_output


def review_problems(work: Work, results: Sequence[Result], value: Json, *, whole: bool) -> list[str]:
    """Return why a review of some results cannot be used; ``whole``: it judges the order as a whole."""
    review, found = parse(Review, value)
    if review is None:
        return found
    covered, times = {each.key: each for each in results}, Counter(each.subtask for each in review.verdicts)
    found = [f"no verdict for {key}" for key, each in covered.items() if not times[key] and needs_verdict(each)]
    found += [f"{key} is not among the subtasks to review" for key in times if key not in covered]
    found += [f"two verdicts for {key}" for key, number in times.items() if number > 1]
    number = len(work.orders) + 1
    for each in review.verdicts:
        key, instead = each.subtask, each.replacement if each.verdict is VerdictKind.REPLAN else None
        if each.verdict is VerdictKind.ACCEPT and key in covered and not covered[key].ok:
            found.append(f"{key} has failed and cannot be accepted")
        elif each.verdict is VerdictKind.REPLAN and instead is None:
            found.append(f"{key}: a replan needs a replacement")
        elif instead is not None:
            problems = order_problems(work.definition, (instead,), work.results, number, (key,))
            found += [f"the replacement of {key}: {problem}" for problem in problems]
    for each in review.missing:
        found += order_problems(work.definition, (each,), work.results, number)
    if whole and not review.complete and _accepts_all(review):
        found.append("all verdicts are accept, but complete is false and nothing is listed as missing")
    return found


def _accepts_all(review: Review) -> bool:
    """Whether a review leaves nothing open."""
    accepted = all(each.verdict is VerdictKind.ACCEPT for each in review.verdicts)
    return accepted and not review.missing and not review.cannot


def draft_of_plan(before: Json) -> bool:
    """Whether a plan is an answer, from what stands before it: it has nothing else."""
    return not any(object_of(before).values())


def draft_of_review(work: Work, results: Sequence[Result]) -> Callable[[Json], bool]:
    """Return what decides whether the ``answer`` of a review is shown while it is written, from what stands before it:
    all is accepted, and nothing is missing."""

    def accepted(before: Json) -> bool:
        value = {"complete": True, **object_of(before)}
        if review_problems(work, results, value, whole=True):
            return False
        review = Review.model_validate(value)
        return review.complete and _accepts_all(review)

    return accepted


def proposed_calls(definition: RunDefinition, value: Json) -> list[ProposedCall]:
    """Return the tool calls that a plan, one element of a plan, or a review proposes."""
    said, calls = object_of(value), list[ProposedCall]()
    replaced = [each["replacement"] for each in objects_of(said.get("verdicts")) if each.get("replacement")]
    inputs = {each.name: each.input for each in definition.declared}
    for index, each in enumerate((*list_of(said.get("subtasks")), *replaced, *list_of(said.get("missing")))):
        subtask = ProposedSubtask.model_validate(each)
        output = subtask.expected_output if is_object(subtask.expected_output) else None
        # Arguments that a need supplies may still be missing; they are validated again at the call.
        complete = not subtask.needs and not references(subtask.args)
        given, where = inputs.get(subtask.worker or ""), f"subtask {index} ({subtask.name})"
        calls.append(ProposedCall(where, subtask.tool or "", subtask.args, complete, output, given))
    return calls
