"""What is wrong with the structured answers of a lead, before they are used: plans and reviews."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import to_json

from leadhand.core.run import RunDefinition
from leadhand.core.text import is_blank
from leadhand.core.value import Json, Value, is_object, object_of
from leadhand.core.work_order import ProposedSubtask, references
from leadhand.core.work_result import Review, VerdictKind
from leadhand.flows.flow import ProposedCall
from leadhand.flows.seam.orders import order_problems
from leadhand.flows.seam.results import Result
from leadhand.flows.work_order.plans import Plan

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
    several = page.subtasks or page.cannot or page.more or (page.answer and page.question)
    rules = {
        "the first page has subtasks, so this page can neither answer nor ask": direct and before,
        "give either a plan, or an answer, or a question": direct and several,
        "the answer is empty": direct and is_blank(direct),
        "this page has no subtasks, although it announces more": is_empty and page.more,
        "the plan has no subtasks and lists nothing that cannot be done": not (direct or several or before),
        "the plan has subtasks, but no goal": page.subtasks and not page.goal,
    }
    if is_empty or any(rules.values()):
        return [problem for problem, is_one in rules.items() if is_one][:1]
    known = {_call(subtask): index for index, subtask in enumerate(before) if subtask.tool is not None}
    again = next((subtask for subtask in page.subtasks if _call(subtask) in known), None)
    if again is not None:
        return [f"{again.name} repeats subtask {known[_call(again)]} of an earlier page"]
    return order_problems(definition, (*before, *page.subtasks))


def _call(subtask: ProposedSubtask) -> str:
    """Return a key for what a subtask does, to detect repetitions."""
    return to_json((subtask.tool, subtask.args, subtask.needs, subtask.expected_output)).decode()


def review_problems(
    work: Work, results: Sequence[Result], value: Json, *, whole: bool, strict: bool = False
) -> list[str]:
    """Return why a review of some results cannot be used. Unless ``strict``, it may leave out verdicts: another review
    is asked for them. If none of those that are needed is there, or something else has to be corrected, the missing
    ones are problems too; ``whole``: it judges the order as a whole.
    """
    review, found = parse(Review, value)
    if review is None:
        return found
    covered = {each.key: each for each in results}
    judged = [verdict.subtask for verdict in review.verdicts]
    left_out = [f"no verdict for {key}" for key, each in covered.items() if key not in judged and needs_verdict(each)]
    found = [f"{key} is not among the subtasks to review" for key in judged if key not in covered]
    found += [f"two verdicts for {key}" for key in sorted({key for key in judged if judged.count(key) > 1})]
    proposed = [*review.missing]
    for verdict in (each for each in review.verdicts if each.subtask in covered):
        key, instead = verdict.subtask, verdict.replacement
        if verdict.verdict is VerdictKind.ACCEPT and not covered[key].ok:
            found.append(f"{key} has failed and cannot be accepted")
        if verdict.verdict is VerdictKind.REPLAN and instead is None:
            found.append(f"{key}: a replan needs a replacement")
        elif verdict.verdict is VerdictKind.REPLAN and instead is not None:
            its_own = key in instead.needs
            found += [f"{key}: its replacement cannot need the subtask it replaces"] if its_own else []
            proposed += [] if its_own else [instead]
    accepts = all(verdict.verdict is VerdictKind.ACCEPT for verdict in review.verdicts)
    if whole and accepts and not review.complete and not review.missing and not review.cannot:
        found.append("all verdicts are accept, but complete is false and nothing is listed as missing")
    known = [key for order in work.orders for key in order.subtask_keys]
    for each in proposed:
        found += order_problems(work.definition, (each,), known, len(work.orders) + 1)
    useful = any(key in covered and needs_verdict(covered[key]) for key in judged)
    return [*left_out, *found] if found or strict or not useful else []


def draft_of_plan(before: Json) -> bool:
    """Whether a plan is an answer, from what stands before it: it has nothing else."""
    return not any(object_of(before).values())


def draft_of_review(work: Work, results: Sequence[Result]) -> Callable[[Json], bool]:
    """Return what decides whether the ``answer`` of a review is shown while it is written, from what stands before it:
    all is accepted, and nothing is missing."""

    def accepted(before: Json) -> bool:
        value = {"complete": True, **object_of(before)}
        if review_problems(work, results, value, whole=True, strict=True):
            return False
        review = Review.model_validate(value)
        accepts = all(verdict.verdict is VerdictKind.ACCEPT for verdict in review.verdicts)
        return accepts and review.complete and not review.missing and not review.cannot

    return accepted


def calls_of_plan(definition: RunDefinition, value: Json) -> list[ProposedCall]:
    """Return the tool calls that a plan proposes, or one element of a plan."""
    return list(_calls(definition, Plan.model_validate({"goal": "-", **object_of(value)}).subtasks))


def calls_of_review(definition: RunDefinition, value: Json) -> list[ProposedCall]:
    """Return the tool calls that a review proposes."""
    review = Review.model_validate(value)
    replacements = (verdict.replacement for verdict in review.verdicts if verdict.replacement is not None)
    return list(_calls(definition, (*replacements, *review.missing)))


def _calls(definition: RunDefinition, proposed: Sequence[ProposedSubtask]) -> Iterator[ProposedCall]:
    for index, subtask in enumerate(proposed):
        where, schema = f"subtask {index} ({subtask.name})", subtask.expected_output
        output = schema if is_object(schema) else None
        given = next((each.input for each in definition.declared if each.name == subtask.worker), None)
        if subtask.tool is not None or output is not None or given is not None:
            # Arguments that a need supplies may still be missing; they are validated again at the call.
            complete = not subtask.needs and not references(subtask.args)
            yield ProposedCall(where, subtask.tool or "", subtask.args, complete, output, given)
