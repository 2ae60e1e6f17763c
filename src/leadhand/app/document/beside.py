"""The lines beside an answer, the same at every door: what was done, what its claims rest on, the doubts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leadhand.app.document.outcome import Cause, DoneCall, EvidencePart, failure_alone
from leadhand.app.formatting import count, label, one_line, shortened
from leadhand.core.errors import Failure
from leadhand.core.run import Gap
from leadhand.core.work_result import ClaimVerdict, Doubt

VERDICTS = {
    ClaimVerdict.CONFIRMED: "confirmed",
    ClaimVerdict.DERIVED: "derived",
    ClaimVerdict.OWN_WORDS: "own words",
    ClaimVerdict.UNCONFIRMED: "not confirmed",
    ClaimVerdict.CONTRADICTED: "contradicted",
    ClaimVerdict.NOT_CHECKED: "not checked",
}
"""What people are shown for a verdict."""
NOT_JUDGED = "No model judged the answer."
SAMPLE = "The answer rests on made-up data of the sample services."
LONGEST_CAUSE = 1_000
"""Characters of a cause."""
MOST_CAUSES = 5
"""Causes that are shown, unless all are asked for."""


def lines_beside(document: Mapping[str, Any]) -> list[str]:
    """Return the lines beside the answer of a run document; none if the run has not ended."""
    if document["finished_at"] is None:
        return []
    done = [DoneCall.model_validate(each) for each in document["done"]]
    evidence = EvidencePart.model_validate(document["evidence"])
    calls = document["calls"], document["failed_calls"]
    return list(beside(document["answer"], evidence, done, calls, sample=document["sample"]))


def beside(
    answer: str | None, evidence: EvidencePart, done: Sequence[DoneCall], calls: tuple[int, int], *, sample: bool
) -> Iterator[str]:
    """Yield the lines beside an answer; without an answer, only what was done.

    ``calls`` are how many tool calls were made, and how many of them failed.
    """
    made, failed = calls
    counted = count(made, "call") if made else "No calls"
    yield " ".join([f"{counted}, {failed:,} failed." if failed else f"{counted}.", *_done(done)])
    if not answer:
        return
    if sample:
        yield SAMPLE
    if evidence.judged_by is not None:
        numbers = ((getattr(evidence, verdict.value), word) for verdict, word in VERDICTS.items())
        verdicts = ", ".join(f"{number:,} {word}" for number, word in numbers if number) or "no claims"
        yield f"Evidence: {verdicts}. Judged by {evidence.judged_by}."
    elif evidence.not_judged is None:
        yield NOT_JUDGED
    if evidence.not_judged is not None:
        claims = count(evidence.not_checked, "claim")
        yield shortened(one_line(f"{claims} could not be judged: {evidence.not_judged}"), LONGEST_CAUSE)
    yield from map(doubt_line, evidence.doubts)


def failure_of(document: Mapping[str, Any]) -> Failure | None:
    """Return why a run failed, for a page that lists its gaps; None if one of them says so."""
    failure = None if document["failure"] is None else Failure.model_validate(document["failure"])
    return failure_alone([Gap.model_validate(each) for each in document["gaps"]], failure)


def doubt_line(doubt: Doubt) -> str:
    """Return a doubt with its reason."""
    why = f"{doubt.why}." if doubt.why[-1:].isalnum() else doubt.why
    says = f" The evidence says: “{doubt.quote}”." if doubt.quote else ""
    part = doubt.part if not doubt.path else f"{doubt.path} {doubt.part}"
    return one_line(f"{VERDICTS[doubt.verdict].capitalize()}: “{part.rstrip('.')}”. {why}{says}")


def cause_lines(causes: Sequence[Cause], *, most: int = MOST_CAUSES) -> Iterator[str]:
    """Yield why something is missing or a run failed, each cause with what helps in a line below it."""
    shown = causes[:most]
    for number, (text, next_action) in enumerate(shown, start=1):
        yield shortened(one_line(text), LONGEST_CAUSE)
        if next_action and all(each.next_action != next_action for each in shown[number : number + 1]):
            yield f"  {one_line(next_action)}"
    if len(causes) > most:
        yield f"and {count(len(causes) - most, 'more cause')}"


def _done(done: Sequence[DoneCall]) -> Iterator[str]:
    """Yield the calls with an effect. Of one that failed, or whose end was not seen, nobody knows what it did."""
    if not done:
        yield "Nothing was sent, paid or changed."
    for word, ok in (("Done", True), ("Tried", False)):
        if some := [label(each.tool, each.args) for each in done if each.ok is ok]:
            yield f"{word}: {'; '.join(some).rstrip('.')}."
