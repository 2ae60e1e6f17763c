"""Validate the answers of a lead before they are used: plans, reviews, compositions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import to_json

from leadhand.domain.commands import ProposedCall
from leadhand.domain.ids import order_id, page_id
from leadhand.domain.lifecycle import AssignmentStatus
from leadhand.domain.outcome import cited
from leadhand.domain.state import RunState
from leadhand.domain.value import Json, Value
from leadhand.domain.work_order import Assignment, Plan, ProposedSubtask, issue, order_problems
from leadhand.domain.work_result import Review, VerdictKind

from .results import answer_sources, section_numbers, subtasks
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
        case RoleName.COMPOSE:
            return _answer_problems(state, text)
        case _:
            return []


def proposed_calls(assignment: Assignment, value: Json) -> Iterator[ProposedCall]:
    """Return the tool calls that a plan or a review proposes."""
    proposed: Sequence[ProposedSubtask] = ()
    if assignment.role == RoleName.PLAN:
        proposed = Plan.model_validate(value).subtasks
    elif assignment.role == RoleName.REVIEW:
        review = Review.model_validate(value)
        replacements = (verdict.replacement for verdict in review.verdicts if verdict.replacement is not None)
        proposed = (*replacements, *review.missing)
    for index, subtask in enumerate(proposed):
        if subtask.tool is not None:
            # Arguments that a need supplies may still be missing; they are validated again at the call.
            yield ProposedCall(f"subtask {index} ({subtask.name})", subtask.tool, subtask.args, not subtask.needs)


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
    number = 1
    while (page := state.assignments.get(page_id(number))) is not None and page.ok:
        found += Plan.model_validate(page.value).subtasks
        number += 1
    return found


def _plan_problems(state: RunState, assignment: Assignment, value: Json) -> list[str]:
    page, found = parse(Plan, value)
    if page is None:
        return found
    before = planned(state) if assignment.input.get("first") else []
    if not page.subtasks:
        if page.more:
            return ["this page has no subtasks, although it announces more"]
        return [] if page.cannot or before else ["the plan has no subtasks and lists nothing that cannot be done"]
    known = {_call(subtask): index for index, subtask in enumerate(before) if subtask.tool is not None}
    again = next((subtask for subtask in page.subtasks if _call(subtask) in known), None)
    if again is not None:
        where = known[_call(again)]
        return [f"{again.name} repeats subtask {where} of an earlier page"]
    return _order_problems(state, (*before, *page.subtasks))


def _call(subtask: ProposedSubtask) -> str:
    """Return a key for what a subtask does, to detect repetitions."""
    return to_json((subtask.tool, subtask.args, subtask.needs, subtask.expected_output)).decode()


def _review_problems(state: RunState, assignment: Assignment, value: Json) -> list[str]:
    review, found = parse(Review, value)
    if review is None:
        return found
    covers: tuple[str, ...] = tuple(assignment.input.get("covers", ()))
    judged = [verdict.subtask for verdict in review.verdicts]
    found = [f"no verdict for {key}" for key in covers if key not in judged]
    found += [f"{key} is not among the subtasks to review" for key in judged if key not in covers]
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
    if review.answer is not None:
        found += _answer_problems(state, review.answer, covers)
    return found


def _order_problems(state: RunState, proposed: Sequence[ProposedSubtask]) -> list[str]:
    """Return the problems of subtasks as the next order; they may need each other, and earlier subtasks."""
    order = issue(proposed, order_id(len(state.orders) + 1), "goal")
    return order_problems(order, state.tools, {subtask.key for subtask in subtasks(state)})


def _section_problems(state: RunState, section: Assignment, text: str) -> list[str]:
    if not text.strip():
        return ["the section is empty"]
    known = sorted(section_numbers(state, section).values())
    foreign = sorted(cited(text) - set(known))
    listed = ", ".join(f"[{number}]" for number in known) or "none"
    return [f"the section cites [{foreign[0]}], but its sources are: {listed}"] if foreign else []


def _answer_problems(state: RunState, text: str, covers: tuple[str, ...] = ()) -> list[str]:
    if not text.strip():
        return ["the answer is empty"]
    count = len(answer_sources(state, covers))
    wrong = sorted(number for number in cited(text) if not 1 <= number <= count)
    listed = f"there are sources [1] to [{count}]" if count else "there are no sources to cite"
    return [f"the answer cites [{wrong[0]}], but {listed}"] if wrong else []
