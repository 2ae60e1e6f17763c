"""Why answers of workers are not accepted, and what is kept of findings."""

from __future__ import annotations

from collections.abc import Callable, Container

from leadhand.core.blob import blob_of
from leadhand.core.state import RunState, StepState
from leadhand.core.value import Json, object_of, objects_of
from leadhand.flows.flow import Result
from leadhand.flows.passages import passages_in

from .shapes import DraftReview, Findings, Verdict

Checks = Callable[[RunState, StepState, Result], list[str]]
MOST_PASSAGES = 24
"""Passages that one researcher can name."""


def research_problems(_state: RunState, _step: StepState, result: Result) -> list[str]:
    """Return why findings are not accepted.

    Accepted findings have the ids of their passages, in place of calls whose data is a reference: only these are read.
    """
    findings = Findings.model_validate(result.value)
    known = {passage.id for call in result.calls for passage in passages_in(call)}
    if any(blob_of(call.raw) for call in result.calls):
        known |= {each["id"] for each in objects_of(object_of(result.value).get("passages"))}
    found = [
        f"finding {number} names the passage {name}, which no tool returned"
        for number, finding in enumerate(findings.findings, start=1)
        for name in finding.passages
        if name not in known
    ]
    named = {name for finding in findings.findings for name in finding.passages}
    if not findings.findings and not result.calls:
        found.append("the answer says that nothing was found, and no tool was called")
    if len(named) > MOST_PASSAGES:
        found.append(f"the findings name {len(named)} passages, and the limit is {MOST_PASSAGES}")
    return found[:8]


def with_passages(_state: RunState, _step: StepState, result: Result) -> Json:
    """Return findings with the text of the passages that they name, as the tools returned it."""
    findings = Findings.model_validate(result.value)
    named = dict.fromkeys(name for finding in findings.findings for name in finding.passages)
    returned = {passage.id: passage for call in result.calls for passage in passages_in(call)}
    passages = [returned[name].model_dump(mode="json") for name in named]
    return {**findings.model_dump(mode="json"), "passages": passages}


def review_checks(claims: Container[int]) -> Checks:
    """Return what says why the answer of a reviewer is not a verdict on these claims."""

    def checks(_state: RunState, _step: StepState, result: Result) -> list[str]:
        review = DraftReview.model_validate(result.value)
        odd = (each.claim for each in review.findings if each.claim is not None and each.claim not in claims)
        found = [f"there is no claim {each}" for each in odd]
        if review.verdict is Verdict.NEEDS_REVISION and not review.findings:
            found.append("the verdict is NEEDS_REVISION, but no finding says what has to change")
        return found

    return checks
