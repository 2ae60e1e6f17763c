"""What an answer rests on, what was done, and what a person can do next: parts of the run document."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import Field

from leadhand.app.export.document import Document
from leadhand.app.export.formatting import count, label, one_line, shortened
from leadhand.core.approval import ApprovalStatus, approval_id
from leadhand.core.decide.requests import fixable, ran_out, repeated
from leadhand.core.errors import DENIED, Failure, FailureClass
from leadhand.core.events import RunFinished
from leadhand.core.outcome import made_calls
from leadhand.core.relations import open_question
from leadhand.core.run import Gap, RunStatus
from leadhand.core.state import RunState
from leadhand.core.text import listed
from leadhand.core.tool import Effect
from leadhand.core.value import Json, unset
from leadhand.core.work_result import ClaimVerdict, Doubt, Judgement

RETRIED = frozenset({FailureClass.TRANSIENT, FailureClass.RATE_LIMITED, FailureClass.LOST, FailureClass.BLOCKED})
"""Classes of failures after which a retry is the next step by itself; other causes have to be removed first."""

_HEADLINES = {
    RunStatus.SUCCEEDED: "The run succeeded",
    RunStatus.PARTIAL: "There are doubts about the answer",
    RunStatus.FAILED: "The run failed",
}
"""Of a run without gaps. The headline of any other status is its name."""


class EvidencePart(Document):
    """How many claims of the answer have each verdict, who judged them, and the doubts with their reasons."""

    confirmed: int = Field(description="The evidence says it.")
    derived: int = Field(description="It follows from the evidence by arithmetic or comparison.")
    own_words: int = Field(description="Advice, wording or general knowledge.")
    unconfirmed: int = Field(description="The evidence does not show it.")
    contradicted: int = Field(description="The evidence says otherwise, as two judgements found.")
    not_checked: int = Field(description="No model judged it.")
    judged_by: str | None = Field(description="The model that judged; null if none did.")
    not_judged: str | None = Field(default=None, exclude_if=unset, description="Why the judge did not judge.")
    judge_rates: dict[str, float] | None = Field(default=None, description="How reliable the judge was when measured.")
    doubts: tuple[Doubt, ...]


class DoneCall(Document):
    """A call with an effect, or a function of a flow, whose effect nobody knows."""

    tool: str
    args: dict[str, Json] = Field(description="As the call was made.")
    effect: Effect
    ok: bool = Field(description="Whether it succeeded, as far as its end was seen.")
    event_id: str | None


class Action(Document):
    """What a person can do next (answer, approve, settle, resume, retry or follow_up), with its arguments."""

    action: str
    args: dict[str, Json]
    primary: bool


class OutcomePart(Document):
    """How the run stands, why, and what a person can do: the same at every door."""

    headline: str
    causes: tuple[str, ...]
    actions: tuple[Action, ...]


def evidence_part(state: RunState, judgement: Judgement) -> EvidencePart:
    """Return the counts of the verdicts, who judged, why a judge did not, and the doubts."""
    counts: dict[str, Any] = {verdict.value: number for verdict, number in judgement.counts.items()}
    counts |= {"judged_by": judgement.judged_by, "doubts": judgement.doubts}
    return EvidencePart.model_validate({**counts, "not_judged": _not_judged(state) if counts["not_checked"] else None})


def _not_judged(state: RunState) -> str | None:
    """Return why the judge of a run has not judged its answer, or a part of it."""
    judges = state.definition.judging[:1]
    judging = [each for each in state.steps.values() if each.step.worker in judges]
    failures = (each.failure.message for each in judging if each.failure is not None)
    return next(failures, "the judge gave no verdict, or the evidence is too large for its window" if judging else None)


def done_calls(state: RunState) -> Iterator[DoneCall]:
    """Yield every call with an effect, from the log; one whose end was not seen is not ok.

    What Leadhand's own tools do inside the run, such as writing its files, is not among them. A function of a flow
    (``run.do``) is, since nobody knows its effect.
    """
    for step in state.steps.values():
        for call in made_calls(step):
            tool = state.tools.get(call.tool)
            if call.effect is not Effect.PURE and (tool is None or tool.acts):
                event, ok = next(reversed(step.event_ids), None), call.ok and call.seen
                yield DoneCall(tool=call.tool, args=call.args, effect=call.effect, ok=ok, event_id=event)
        if step.step.kind == "do" and step.closed and step.event_ids:
            yield DoneCall(tool=step.step.name, args={}, effect=Effect.ONCE, ok=step.ok, event_id=step.event_ids[-1])


def calls_made(state: RunState) -> tuple[int, int]:
    """Return how many tool calls a run made, and how many of them failed."""
    calls = [call for step in state.steps.values() for call in made_calls(step)]
    return len(calls), sum(call.seen and not call.ok for call in calls)


def outcome_part(state: RunState, proposed: Mapping[str, Json]) -> OutcomePart:
    """Return the state of a run in one line, its causes, and what a person can do; ``proposed`` are higher limits."""
    end = end_of(state)
    gaps, doubts = end.gaps, end.judgement.doubts if end.judgement is not None else ()
    contradicted = [each for each in doubts if each.verdict is ClaimVerdict.CONTRADICTED]
    causes = [each.text for each in causes_of(gaps, end.failure)]
    return OutcomePart(
        headline=_headline(state, len(gaps), contradicted=bool(contradicted)),
        causes=(*causes, *(f"“{each.part}” contradicts the evidence" for each in contradicted)),
        actions=tuple(_actions(state, gaps, proposed)),
    )


def end_of(state: RunState) -> RunFinished:
    """Return the end of a run, an empty one of a run that has not ended."""
    return state.finished or RunFinished(status=state.status, answer="")


def _headline(state: RunState, gaps: int, *, contradicted: bool) -> str:
    status = state.status
    if status is RunStatus.WAITING:
        return waits_for(state)
    if status is RunStatus.PARTIAL and (gaps or contradicted):
        missing = f"{gaps:,} {'part is' if gaps == 1 else 'parts are'} missing"
        said = ", and ".join([missing] * bool(gaps) + ["the answer contradicts its evidence"] * contradicted)
        return f"{said[0].upper()}{said[1:]}"
    if status is RunStatus.CANCELLED and state.cancel_by:
        return f"Cancelled by {state.cancel_by}"
    return _HEADLINES.get(status, status.value.capitalize())


class Cause(NamedTuple):
    """Why something is missing or a run failed, and what helps."""

    text: str
    next_action: str


def causes_of(gaps: Sequence[Gap], failure: Failure | None) -> list[Cause]:
    """Return why something is missing, each cause once, with most names first; then why the run failed, if no gap says
    so."""
    names: dict[tuple[str, str], dict[str, None]] = {}
    for gap in gaps:
        names.setdefault((gap.reason, gap.next_action), {})[gap.name] = None
    ordered = sorted(names.items(), key=lambda each: -len(each[1]))
    found = [Cause(f"{listed([*named])}: {reason}", action) for (reason, action), named in ordered]
    if (alone := failure_alone(gaps, failure)) is not None:
        found.append(Cause(alone.message, alone.next_action))
    return found


def failure_alone(gaps: Sequence[Gap], failure: Failure | None) -> Failure | None:
    """Return why a run failed; None if a gap says so."""
    beginning = "" if failure is None else failure.message[:500]  # a long message is cut
    return None if any(beginning in f"{gap.name}: {gap.reason}" for gap in gaps) else failure


def waits_for(state: RunState) -> str:
    """Return what a waiting run waits for; only what is asked before a call is an approval."""
    kinds = {each.kind for each in state.approvals.values() if each.status is ApprovalStatus.PENDING}
    if open_question(state) is not None or "effect" in kinds:
        return "Waiting for your answer"
    return "Waiting for approval" if kinds else "Continues as soon as a process drives it"


def _actions(state: RunState, gaps: tuple[Gap, ...], proposed: Mapping[str, Json]) -> Iterator[Action]:
    """Yield what a person can do next: the first is the primary one."""
    found: list[tuple[str, dict[str, Json]]] = []
    if state.finished is None:
        if (asked := open_question(state)) is not None:
            found.append(("answer", {"question_id": asked.id}))
        for each in state.approvals.values():
            if each.status is ApprovalStatus.PENDING:
                action = "settle" if each.kind == "effect" else "approve"
                found.append((action, {"approval_id": approval_id(state.run_id, each)}))
    if state.status is RunStatus.PAUSED:
        found.append(("resume", {}))
    if state.status in (RunStatus.PARTIAL, RunStatus.FAILED):
        if proposed:
            found.append(("resume", dict(proposed)))
        again = (state.steps[key] for key in repeated(state))
        causes = (each.failure for each in again if each.counts or not ran_out(each))
        # A denied call is not asked for again.
        if fixable(state) or any(each is None or each.type != DENIED for each in causes):
            found.append(("retry", {}))
        found.append(("follow_up", {}))
    clear = bool(proposed) or all(gap.class_ in RETRIED for gap in gaps)
    for position, (action, args) in enumerate(found):
        primary = position == 0 and (state.finished is None or (clear and action != "follow_up"))
        yield Action(action=action, args=args, primary=primary)


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
SAMPLE = "The answer rests on made-up sample data."
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
