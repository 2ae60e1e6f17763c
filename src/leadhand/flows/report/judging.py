"""The verdict on a draft: what a judge contradicts in its claims, and what the reviewer and other stages find."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from leadhand.core.errors import FailureClass
from leadhand.core.state import StepState
from leadhand.core.value import object_of
from leadhand.flows.draft_judging import Remark

from .options import Stage
from .progress import Report, review_key, stage_key
from .shapes import DraftReview, Verdict


class Judged(NamedTuple):
    """The verdict on a draft, None while it has none; ``unreviewed`` are the reviews that gave none."""

    verdict: Verdict | None
    remarks: tuple[Remark, ...]
    unreviewed: tuple[StepState, ...]


def judged(report: Report, number: int) -> Judged:
    """Return the verdict on a draft from everything that judged it so far. Free text never approves."""
    judging = report.judging(number)
    remarks = list(judging.remarks())
    unreviewed: list[StepState] = []
    asked, waits = bool(remarks), judging.round.is_open or bool(judging.round.wanted)
    judges = [stage for stage in report.rounds if stage.judges]
    for stage in judges:
        review = report.of(stage_key(stage, number))
        if review is None or not review.closed:
            waits = True
            continue
        found = _read(stage, review, {each.n: each.text for each in report.claims(number, stage.name)})
        if found is None:
            unreviewed.append(review)
        else:
            remarks += found[1]
            asked = asked or found[0]
    verdict = Verdict.NEEDS_REVISION if asked else None if unreviewed or waits or not judges else Verdict.APPROVED
    return Judged(verdict, tuple(remarks), tuple(unreviewed))


def _read(stage: Stage, review: StepState, claims: dict[int, str]) -> tuple[bool, list[Remark]] | None:
    """Return whether a review asks for a revision, and what it found; None if it gave no verdict."""
    given: Any = review.value if review.ok else None
    if stage.agent:
        given = {name: object_of(given).get(name) or () for name in ("verdict", "findings")}
    try:
        draft = DraftReview.model_validate(given)
    except ValidationError:
        return None
    found = [Remark(stage.name, each.claim, claims.get(each.claim or 0, ""), each.problem) for each in draft.findings]
    wants = draft.verdict is Verdict.NEEDS_REVISION
    if wants and not found:
        found = [Remark(stage.name, None, "", f"the {stage.name} asks for a revision")]
    return wants, found


def problems(value: Any, claims: Sequence[int]) -> list[str]:
    """Return why the answer of a reviewer is not a verdict, one sentence each."""
    try:
        review = DraftReview.model_validate(value)
    except ValidationError as error:
        fault = error.errors()[0]
        return [f"{'.'.join(map(str, fault['loc'])) or 'the answer'}: {fault['msg']}"]
    odd = (each.claim for each in review.findings if each.claim is not None and each.claim not in claims)
    found = [f"there is no claim {each}" for each in odd]
    if review.verdict is Verdict.NEEDS_REVISION and not review.findings:
        found.append("the verdict is NEEDS_REVISION, but no finding says what has to change")
    return found


def ran_out(report: Report, number: int) -> bool:
    """Whether the review of a draft ended because a limit of the run is used up."""
    review = report.of(review_key(number))
    return review is not None and review.failure is not None and review.failure.class_ is FailureClass.EXHAUSTED
