"""What the workers of a report are shown besides the topic, only what they use, and what is accepted of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from pydantic_core import to_jsonable_python

from leadhand.core.artifact import blob_of
from leadhand.core.state import RunState, StepState
from leadhand.core.value import Json
from leadhand.flows.facts import context_budget, earlier_facts, fitting, most_words, today, tokens
from leadhand.flows.flow import Given as Result
from leadhand.flows.passages import Passage, returned_passages

from .report import Draft, Report
from .shapes import MOST_QUESTIONS, Findings, Plan
from .stages import REVIEWER, WRITER, Stage


def shown_to(report: Report, stage: Stage, draft: Draft | None, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a stage is shown; ``draft`` is the one that it judges, changes or revises, ``more`` its own input."""
    state = report.run.state
    facts = {"topic": state.definition.request, **today(state)}
    match stage.name:
        case "planner":
            return {**facts, **earlier_facts(state), **more, "most": MOST_QUESTIONS}
        case "researcher":
            return {**facts, "question": more["question"]}
        case "writer":
            return {**facts, **_for_writer(report, draft)}
        case _ if draft is None:
            return {**facts, **({} if report.plan is None else {"plan": to_jsonable_python(report.plan)})}
        case _:
            return {**facts, **_for_stage(report, stage, draft)}


def _for_writer(report: Report, revised: Draft | None) -> dict[str, Any]:
    """Return what a draft is written from; of a revision, the draft before it and what has to change in it."""
    state, cited = report.run.state, list[str]()
    room = context_budget(state, WRITER)
    facts: dict[str, Any] = {"most_words": most_words(state)}
    if revised is None:
        facts |= {**_outline(report), "findings": _findings(report, room // 2)}  # the rest is for passages
    else:
        problems = [{"statement": each.text, "problem": each.problem} for each in revised.problems]
        facts["draft"] = revised.text
        facts["problems"] = fitting(problems, (room - tokens(revised.text)) // 2) or problems[:1]
        cited = [name for each in revised.claims for name in each.cites]
    order = [*cited, *in_turns(report.cited(*item.findings) for item in report.found.values())]
    return {**facts, "passages": shown_passages(report.passages, order, room - tokens(facts))}


def _for_stage(report: Report, stage: Stage, draft: Draft) -> dict[str, Any]:
    """Return what a stage after the writer is shown: the draft; if it judges, by claims with the judge's doubts."""
    facts: dict[str, Any] = {}
    if stage.judges:
        facts["claims"] = [
            {"n": claim.n, "text": claim.text}
            | ({"header": claim.header} if claim.header else {})
            | ({"judge": said.verdict.value, "why": " ".join(each.why for each in said.doubts)} if said.doubts else {})
            for claim, said in draft.verdicts()
        ]
    else:
        facts["draft"] = draft.text
    if stage.name == REVIEWER:
        return {**_outline(report), **facts, **({"judge_misses": draft.missing} if draft.missing else {})}
    names = {name for each in draft.claims for name in each.cites}
    cited = {name: passage for name, passage in report.passages.items() if name in names}
    return {**facts, "passages": shown_passages(cited, cited, context_budget(report.run.state, stage.name))}


def _outline(report: Report) -> dict[str, Any]:
    """Return the headings of the plan, and the questions that have no findings."""
    plan = report.plan
    facts: dict[str, Any] = {"title": report.title}
    facts |= {"sections": [each.heading for each in plan.sections]} if isinstance(plan, Plan) else {"plan": plan}
    return {**facts, "missing": report.missing} if report.missing else facts


def _findings(report: Report, room: int) -> list[dict[str, Any]]:
    """Return the findings by section; if they do not fit, the first ones of each."""
    found: list[dict[str, Any]] = []
    for item in report.found.values():
        said = [{"statement": each.statement, "passages": report.cited(each)} for each in item.findings]
        found.append({"section": item.heading, "statements": said})
    if tokens(found) <= room:
        return found
    most = room // len(found)
    return [{**each, "statements": fitting(each["statements"], most) or each["statements"][:1]} for each in found]


def in_turns(items: Iterable[Sequence[str]]) -> list[str]:
    """Return the first name of each item, then the second ones, and so on."""
    return [each for row in zip_longest(*items) for each in row if each is not None]


def shown_passages(passages: Mapping[str, Passage], order: Iterable[str], room: int) -> dict[str, Any]:
    """Return the passages as a writer sees them; if they do not fit, the first ones in this order."""
    shown = {name: {"text": passage.text, "source": passage.title or passage.url} for name, passage in passages.items()}
    ordered = dict.fromkeys([*(name for name in order if name in shown), *shown])
    kept = {name for each in fitting(({name: shown[name]} for name in ordered), room) for name in each}
    return {name: facts for name, facts in shown.items() if name in kept}


# --- what is accepted ------------------------------------------------------------------------------------------------


def research_problems(_state: RunState, _step: StepState, result: Result) -> list[str]:
    """Return why findings are not accepted; nothing once the data of their calls is a reference: they were accepted."""
    findings = Findings.model_validate(result.value).findings
    if any(blob_of(call.raw) for call in result.calls):
        return []
    if not findings and not result.calls:
        return ["the answer says that nothing was found, and no tool was called"]
    known = returned_passages(result.calls)
    named = dict.fromkeys(name for finding in findings for name in finding.passages if name not in known)
    return [f"the findings name the passage {name}, which no tool returned" for name in named][:8]


def with_passages(_state: RunState, _step: StepState, result: Result) -> Json:
    """Return findings with the text of the passages that they name, as the tools returned it."""
    findings = Findings.model_validate(result.value)
    named = dict.fromkeys(name for finding in findings.findings for name in finding.passages)
    returned = returned_passages(result.calls)
    return {**findings.model_dump(mode="json"), "passages": [returned[name].model_dump(mode="json") for name in named]}
