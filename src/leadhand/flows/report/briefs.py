"""What the workers of a report are shown besides the topic, only what they use, and what is accepted of them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from leadhand.core.artifact import blob_of
from leadhand.core.state import RunState, StepState
from leadhand.core.value import Json, object_of, objects_of
from leadhand.flows.context_budget import context_budget, fitting, tokens
from leadhand.flows.flow import Result
from leadhand.flows.passages import Passage, passages_in

from .progress import Draft, Report
from .shapes import DraftReview, Findings, Plan, Verdict
from .stages import REVIEWER, WRITER, Stage

TOKENS_PER_WORD = 2
"""Tokens of a word of a draft with its citations, roughly."""
MOST_PASSAGES = 24
"""Passages that one researcher can name."""


def for_writer(report: Report, revised: Draft | None) -> dict[str, Any]:
    """Return what a draft is written from; of a revision, the draft before it and what has to change in it."""
    state, passages, cited = report.run.state, report.passages, list[str]()
    room = context_budget(state, WRITER)
    facts: dict[str, Any] = {"most_words": state.definition.limits.max_output_tokens // TOKENS_PER_WORD}
    if revised is None:
        facts |= {**outline(report), "findings": _findings(report, passages, room // 2)}  # the rest is for passages
    else:
        text, findings = revised.rounds.text, revised.findings
        problems = [{"statement": each.text, "problem": each.problem} for each in findings]
        facts |= {"draft": text, "problems": fitting(problems, (room - tokens(text)) // 2) or problems[:1]}
        wrong = {each.claim for each in findings}
        claims = sorted(revised.rounds.claims, key=lambda each: each.n not in wrong)
        cited = [name for each in claims for name in each.cites if name in passages]
    order = [*cited, *in_turns(passages, [item.passages for item in report.research])]
    return {**facts, "passages": shown_passages(passages, order, room - tokens(facts))}


def for_stage(report: Report, stage: Stage, draft: Draft | None) -> dict[str, Any]:
    """Return what any other stage is shown: the plan; or the draft, if it judges, by claims with the judge's doubts."""
    if draft is None:
        return {} if report.plan is None else {"plan": report.plan_shown}
    rounds, facts = draft.rounds, dict[str, Any]()
    if stage.judges:
        facts["claims"] = [{"n": claim.n, "text": claim.text} for claim in rounds.claims]
        for claim, (_, said) in zip(facts["claims"], rounds.verdicts(), strict=True):
            if said.doubts:
                claim |= {"judge": said.verdict.value, "why": " ".join(doubt.why for doubt in said.doubts)}
    else:
        facts["draft"] = rounds.text
    if stage.name == REVIEWER:
        missing = [part.model_dump() for part in rounds.missing]
        return {**outline(report), **facts, **({"judge_misses": missing} if missing else {})}
    names = dict.fromkeys(name for each in rounds.claims for name in each.cites)
    passages = {name: passage for name, passage in report.passages.items() if name in names}
    return {**facts, "passages": shown_passages(passages, names, context_budget(report.run.state, stage.name))}


def outline(report: Report) -> dict[str, Any]:
    """Return the headings of the plan, and the questions that have no findings; a plan of another shape as it is."""
    plan, missing = report.plan, report.missing
    if not isinstance(plan, Plan):
        return {"plan": plan}
    facts = {"title": plan.title, "sections": [section.heading for section in plan.sections]}
    return {**facts, "missing": missing} if missing else facts


def _findings(report: Report, passages: Mapping[str, Passage], room: int) -> list[dict[str, Any]]:
    """Return the findings by section; if they do not fit, the first ones of each."""
    names = {passage.id: name for name, passage in passages.items()}
    sections = [
        [
            {"statement": each.statement, "passages": [names[id_] for id_ in each.passages if id_ in names]}
            for each in item.findings
        ]
        for item in report.research
    ]
    if tokens(sections) > room:
        sections = [fitting(statements, room // len(sections)) or statements[:1] for statements in sections]
    headings = [item.heading for item in report.research]
    return [{"section": each, "statements": said} for each, said in zip(headings, sections, strict=True)]


def in_turns(passages: Mapping[str, Passage], items: Iterable[Sequence[Passage]]) -> Iterator[str]:
    """Yield the first passage of each item, then the second ones, and so on."""
    names = {passage.id: name for name, passage in passages.items()}
    for row in zip_longest(*items):
        yield from (names[each.id] for each in row if each is not None and each.id in names)


def shown_passages(passages: Mapping[str, Passage], order: Iterable[str], room: int) -> dict[str, Any]:
    """Return the passages as a writer sees them; if they do not fit, the first ones in this order."""
    shown = {name: {"text": passage.text, "source": passage.title or passage.url} for name, passage in passages.items()}
    if tokens(shown) <= room:
        return shown
    kept = {name for each in fitting(({name: shown[name]} for name in dict.fromkeys(order)), room) for name in each}
    return {name: facts for name, facts in shown.items() if name in kept}


# --- what is accepted ------------------------------------------------------------------------------------------------


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
    return {**findings.model_dump(mode="json"), "passages": [returned[name].model_dump(mode="json") for name in named]}


def review_checks(claims: Container[int]) -> Callable[[RunState, StepState, Result], list[str]]:
    """Return what says why the answer of a reviewer is not a verdict on these claims."""

    def checks(_state: RunState, _step: StepState, result: Result) -> list[str]:
        review = DraftReview.model_validate(result.value)
        odd = (each.claim for each in review.findings if each.claim is not None and each.claim not in claims)
        found = [f"there is no claim {each}" for each in odd]
        if review.verdict is Verdict.NEEDS_REVISION and not review.findings:
            found.append("the verdict is NEEDS_REVISION, but no finding says what has to change")
        return found

    return checks
