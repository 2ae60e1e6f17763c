"""Validate the answers of a lead before they are used: plans, reviews, compositions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import to_json

from leadhand.domain.commands import ProposedCall
from leadhand.domain.errors import FailureClass
from leadhand.domain.evolve.begun import next_order_id
from leadhand.domain.ids import page_id
from leadhand.domain.lifecycle import AssignmentStatus
from leadhand.domain.outcome import CHECK, source_numbers
from leadhand.domain.plan_approval import plan_number
from leadhand.domain.run import Gap
from leadhand.domain.state import RunState
from leadhand.domain.text import is_blank
from leadhand.domain.value import Json, Value, is_object, object_of, text_of
from leadhand.domain.work_order import Assignment, Plan, ProposedSubtask, issue, order_problems, references
from leadhand.domain.work_result import Review, VerdictKind
from leadhand.flows.text_checks import opening_problems, text_problems, unknown_names

from .results import (
    all_gaps,
    answer_sources,
    answerable_results,
    composed_text,
    is_verified,
    section_numbers,
    subtasks,
    without_verdict,
)
from .roles import RoleName

_V = TypeVar("_V", bound=Value)


def output_problems(state: RunState, assignment: Assignment, value: Json, text: str) -> list[str]:
    """Return the problems of an answer of the lead, one sentence each; empty if it can be used.

    ``value`` is the structured answer of a plan or review, ``text`` the text of a composition.
    """
    match assignment.role:
        case RoleName.PLAN:
            return _plan_problems(state, assignment, value)
        case RoleName.REVIEW:
            return _review_problems(state, assignment, value)
        case RoleName.COMPOSE if "numbers" in assignment.input:
            return _section_problems(state, assignment, text)
        case RoleName.COMPOSE if "over" in assignment.input:
            return _opening_problems(state, assignment, text)
        case RoleName.COMPOSE:
            return [] if refused_answer(state) else answer_problems(state, text)
        case _:
            return []


def proposed_calls(state: RunState, assignment: Assignment, value: Json) -> Iterator[ProposedCall]:
    """Return the tool calls that a plan or a review proposes."""
    proposed: Sequence[ProposedSubtask] = ()
    if assignment.role == RoleName.PLAN:
        proposed = Plan.model_validate({"goal": "-", **object_of(value)}).subtasks  # or one element of a plan
    elif assignment.role == RoleName.REVIEW:
        review = Review.model_validate(value)
        replacements = (verdict.replacement for verdict in review.verdicts if verdict.replacement is not None)
        proposed = (*replacements, *review.missing)
    for index, subtask in enumerate(proposed):
        where, schema = f"subtask {index} ({subtask.name})", subtask.expected_output
        output = schema if is_object(schema) else None
        given = next((each.input for each in state.definition.workers if each.name == subtask.worker), None)
        if subtask.tool is not None or output is not None or given is not None:
            # Arguments that a need supplies may still be missing; they are validated again at the call.
            complete = not subtask.needs and not references(subtask.args)
            yield ProposedCall(where, subtask.tool or "", subtask.args, complete, output, given)


def draft(state: RunState, assignment: Assignment) -> Callable[[Json], bool] | None:
    """Return what decides whether the text of ``answer`` is a draft of the run's answer, from what stands before it.

    A plan that answers the request has nothing else. A review has accepted everything, and nothing is missing.
    """
    if assignment.role == RoleName.PLAN and not assignment.input.get("first"):
        return lambda before: not any(object_of(before).values())
    if assignment.role != RoleName.REVIEW or not assignment.input.get("compose") or len(state.orders) > 1:
        return None

    def accepted(before: Json) -> bool:
        value = {"complete": True, **object_of(before)}
        review, _ = parse(Review, value)
        if review is None or not review.complete or review.missing or review.cannot:
            return False
        if not all(verdict.verdict is VerdictKind.ACCEPT for verdict in review.verdicts):
            return False
        return not _review_problems(state, assignment, value, strict=True)

    return accepted


def parse(shape: type[_V], value: Json) -> tuple[_V | None, list[str]]:
    """Return ``value`` as ``shape``, or its problems, one sentence each."""
    try:
        return shape.model_validate(value), []
    except ValidationError as error:
        return None, [
            f"{'.'.join(str(part) for part in found['loc']) or 'the answer'}: {found['msg']}"
            for found in error.errors()[:8]
        ]


def planned(state: RunState) -> list[ProposedSubtask]:
    """Return the subtasks of the finished pages of the plan, in order."""
    found: list[ProposedSubtask] = []
    number, plan = 1, plan_number(state)
    while (page := state.assignments.get(page_id(number, plan))) is not None and page.ok:
        found += Plan.model_validate(page.value).subtasks
        number += 1
    return found


def _plan_problems(state: RunState, assignment: Assignment, value: Json) -> list[str]:
    page, found = parse(Plan, value)
    if page is None:
        return found
    before = planned(state) if assignment.input.get("first") else []
    if page.answer or page.question:
        return _direct_problems(page, further=bool(before))
    if not page.subtasks:
        if page.more:
            return ["this page has no subtasks, although it announces more"]
        return [] if page.cannot or before else ["the plan has no subtasks and lists nothing that cannot be done"]
    if not page.goal:
        return ["the plan has subtasks, but no goal"]
    known = {_call(subtask): index for index, subtask in enumerate(before) if subtask.tool is not None}
    again = next((subtask for subtask in page.subtasks if _call(subtask) in known), None)
    if again is not None:
        where = known[_call(again)]
        return [f"{again.name} repeats subtask {where} of an earlier page"]
    return _order_problems(state, (*before, *page.subtasks))


def _direct_problems(page: Plan, *, further: bool) -> list[str]:
    """Return the problems of a plan that answers the request itself, or asks the person a question."""
    if further:
        return ["the first page has subtasks, so this page can neither answer nor ask"]
    if page.subtasks or page.cannot or page.more or (page.answer and page.question):
        return ["give either a plan, or an answer, or a question"]
    return ["the answer is empty"] if is_blank(page.answer or page.question) else []


def _call(subtask: ProposedSubtask) -> str:
    """Return a key for what a subtask does, to detect repetitions."""
    return to_json((subtask.tool, subtask.args, subtask.needs, subtask.expected_output)).decode()


def _review_problems(state: RunState, assignment: Assignment, value: Json, *, strict: bool = False) -> list[str]:
    """Return the problems of a review. Unless ``strict``, it may leave out verdicts: another review is asked for them.

    If none of those that are needed is there, or something else has to be corrected, the missing ones are problems too.
    """
    review, found = parse(Review, value)
    if review is None:
        return found
    covers: tuple[str, ...] = tuple(assignment.input.get("covers", ()))
    judged = [verdict.subtask for verdict in review.verdicts]
    left_out = [f"no verdict for {key}" for key in without_verdict(state, covers, judged)]
    found = [f"{key} is not among the subtasks to review" for key in judged if key not in covers]
    found += [f"two verdicts for {key}" for key in sorted({key for key in judged if judged.count(key) > 1})]
    for verdict in review.verdicts:
        subtask = state.assignments.get(verdict.subtask)
        if subtask is None:
            continue
        if verdict.verdict is VerdictKind.ACCEPT and subtask.status is not AssignmentStatus.COMPLETED:
            found.append(f"{verdict.subtask} is {subtask.status} and cannot be accepted")
        if verdict.verdict is VerdictKind.REPLAN:
            if verdict.replacement is None:
                found.append(f"{verdict.subtask}: a replan needs a replacement")
            elif verdict.subtask in verdict.replacement.needs:
                found.append(f"{verdict.subtask}: its replacement cannot need the subtask it replaces")
            else:
                found += _order_problems(state, (verdict.replacement,))
    whole = assignment.input.get("whole", True)
    accepts = all(verdict.verdict is VerdictKind.ACCEPT for verdict in review.verdicts)
    if whole and accepts and not review.complete and not review.missing and not review.cannot:
        found.append("all verdicts are accept, but complete is false and nothing is listed as missing")
    for proposed in review.missing:
        found += _order_problems(state, (proposed,))
    useful = any(key in covers and not is_verified(state.assignments[key]) for key in judged)
    return [*left_out, *found] if found or strict or not useful else []


def _order_problems(state: RunState, proposed: Sequence[ProposedSubtask]) -> list[str]:
    """Return the problems of subtasks as the next order; they may need each other, and earlier subtasks.

    The model that reads them knows its subtasks by their indexes: the order has no id yet.
    """
    order = issue(proposed, next_order_id(state), "goal")
    known = {subtask.key for subtask in subtasks(state)}
    found = order_problems(order, state.tools, known, state.definition.workers)
    return [re.sub(rf"'?\b{re.escape(order.work_order_id)}\.(\d+)'?", r"subtask \1", problem) for problem in found]


def _section_problems(state: RunState, section: Assignment, text: str) -> list[str]:
    results = [state.assignments[key] for key in section.input["covers"]]
    return text_problems(state, text, results, section_numbers(state, section))


def _opening_problems(state: RunState, opening: Assignment, text: str) -> list[str]:
    """An opening or a digest rests on the texts below it, which were checked, and on how many results there are."""
    texts: list[Json] = [composed_text(state, state.assignments[node]) for node in opening.input["over"]]
    gaps, answered = all_gaps(state), len(list(answerable_results(state)))
    counts: list[Json] = [len(texts), answered, len(gaps), answered + len(gaps), len(list(subtasks(state)))]
    return opening_problems(state, text, [*texts, counts], source_numbers(answer_sources(state)), gaps)


def answer_problems(state: RunState, text: str, covers: tuple[str, ...] = ()) -> list[str]:
    """Return what is wrong with a text as the answer of the run; a review accepts the results ``covers`` with it."""
    results = list(answerable_results(state, covers))
    numbers = source_numbers(answer_sources(state, covers))
    return text_problems(state, text, results, numbers, all_gaps(state))


def name_gaps(state: RunState, text: str) -> list[Gap]:
    """The gap of an answer that names what nothing shows: it may be true, and the answer says that it is unverified."""
    results = list(answerable_results(state))
    names = unknown_names(state, text, results, all_gaps(state)) if results and text else []
    if not names:
        return []
    reason = f"the answer names {', '.join(names)}, and no result does: unverified"
    return [Gap(name="the answer", class_=FailureClass.INSUFFICIENT, reason=reason, next_action=CHECK)]


def refused_answer(state: RunState) -> list[str]:
    """Return what was wrong with the answer that a review wrote, where that is why another is asked for."""
    order = state.order
    review = state.assignments.get(f"review-{order.order.work_order_id}-0") if order is not None else None
    if order is None or order.review is None or order.review.answer or not order.review.complete or review is None:
        return []
    written = text_of(object_of(review.value).get("answer"))
    return answer_problems(state, written) if written and len(state.orders) == 1 else []
