"""Validate the structured answers of a lead before they are used: plans and reviews."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import to_json

from leadhand.core.lifecycle import StepStatus
from leadhand.core.relations import next_order_id
from leadhand.core.state import RunState
from leadhand.core.text import is_blank
from leadhand.core.value import Json, Value, is_object, object_of
from leadhand.core.work_order import ProposedSubtask, Step, references
from leadhand.core.work_result import Review, VerdictKind
from leadhand.flows.flow import ProposedCall
from leadhand.flows.plan_gate import page_id, plan_number
from leadhand.flows.work_order.order_checks import order_problems
from leadhand.flows.work_order.plans import Plan, issue

from .results import is_exact, subtasks, without_verdict
from .roles import RoleName

_V = TypeVar("_V", bound=Value)


def output_problems(state: RunState, step: Step, value: Json) -> list[str]:
    """Return the problems of the structured answer of a plan or review, one sentence each; empty if it can be used."""
    match step.worker:
        case RoleName.PLAN:
            return _plan_problems(state, step, value)
        case RoleName.REVIEW:
            return _review_problems(state, step, value)
        case _:
            return []


def proposed_calls(state: RunState, step: Step, value: Json) -> Iterator[ProposedCall]:
    """Return the tool calls that a plan or a review proposes."""
    proposed: Sequence[ProposedSubtask] = ()
    if step.worker == RoleName.PLAN:
        proposed = Plan.model_validate({"goal": "-", **object_of(value)}).subtasks  # or one element of a plan
    elif step.worker == RoleName.REVIEW:
        review = Review.model_validate(value)
        replacements = (verdict.replacement for verdict in review.verdicts if verdict.replacement is not None)
        proposed = (*replacements, *review.missing)
    for index, subtask in enumerate(proposed):
        where, schema = f"subtask {index} ({subtask.name})", subtask.expected_output
        output = schema if is_object(schema) else None
        given = next((each.input for each in state.definition.declared if each.name == subtask.worker), None)
        if subtask.tool is not None or output is not None or given is not None:
            # Arguments that a need supplies may still be missing; they are validated again at the call.
            complete = not subtask.needs and not references(subtask.args)
            yield ProposedCall(where, subtask.tool or "", subtask.args, complete, output, given)


def draft(state: RunState, step: Step) -> Callable[[Json], bool] | None:
    """Return what decides whether the text of ``answer`` is a draft of the run's answer, from what stands before it.

    A plan that answers the request has nothing else. A review has accepted everything, and nothing is missing.
    """
    if step.worker == RoleName.PLAN and not step.input.get("first"):
        return lambda before: not any(object_of(before).values())
    if step.worker != RoleName.REVIEW or not step.input.get("compose"):
        return None

    def accepted(before: Json) -> bool:
        value = {"complete": True, **object_of(before)}
        review, _ = parse(Review, value)
        if review is None or not review.complete or review.missing or review.cannot:
            return False
        if not all(verdict.verdict is VerdictKind.ACCEPT for verdict in review.verdicts):
            return False
        return not _review_problems(state, step, value, strict=True)

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
    while (page := state.steps.get(page_id(number, plan))) is not None and page.ok:
        found += Plan.model_validate(page.value).subtasks
        number += 1
    return found


def _plan_problems(state: RunState, step: Step, value: Json) -> list[str]:
    page, found = parse(Plan, value)
    if page is None:
        return found
    before = planned(state) if step.input.get("first") else []
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


def _review_problems(state: RunState, step: Step, value: Json, *, strict: bool = False) -> list[str]:
    """Return the problems of a review. Unless ``strict``, it may leave out verdicts: another review is asked for them.

    If none of those that are needed is there, or something else has to be corrected, the missing ones are problems too.
    """
    review, found = parse(Review, value)
    if review is None:
        return found
    covers: tuple[str, ...] = tuple(step.input.get("covers", ()))
    judged = [verdict.subtask for verdict in review.verdicts]
    left_out = [f"no verdict for {key}" for key in without_verdict(state, covers, judged)]
    found = [f"{key} is not among the subtasks to review" for key in judged if key not in covers]
    found += [f"two verdicts for {key}" for key in sorted({key for key in judged if judged.count(key) > 1})]
    for verdict in review.verdicts:
        subtask = state.steps.get(verdict.subtask)
        if subtask is None:
            continue
        if verdict.verdict is VerdictKind.ACCEPT and subtask.status is not StepStatus.COMPLETED:
            found.append(f"{verdict.subtask} is {subtask.status} and cannot be accepted")
        if verdict.verdict is VerdictKind.REPLAN:
            if verdict.replacement is None:
                found.append(f"{verdict.subtask}: a replan needs a replacement")
            elif verdict.subtask in verdict.replacement.needs:
                found.append(f"{verdict.subtask}: its replacement cannot need the subtask it replaces")
            else:
                found += _order_problems(state, (verdict.replacement,))
    whole = step.input.get("whole", True)
    accepts = all(verdict.verdict is VerdictKind.ACCEPT for verdict in review.verdicts)
    if whole and accepts and not review.complete and not review.missing and not review.cannot:
        found.append("all verdicts are accept, but complete is false and nothing is listed as missing")
    for proposed in review.missing:
        found += _order_problems(state, (proposed,))
    useful = any(key in covers and not is_exact(state.steps[key]) for key in judged)
    return [*left_out, *found] if found or strict or not useful else []


def _order_problems(state: RunState, proposed: Sequence[ProposedSubtask]) -> list[str]:
    """Return the problems of subtasks as the next order; they may need each other, and earlier subtasks.

    The model that reads them knows its subtasks by their indexes: the order has no id yet.
    """
    order = issue(proposed, next_order_id(state), "goal")
    known = {subtask.key for subtask in subtasks(state)}
    found = order_problems(order, state.tools, known, state.definition.declared)
    return [re.sub(rf"'?\b{re.escape(order.work_order_id)}\.(\d+)'?", r"subtask \1", problem) for problem in found]
