"""The briefs of the roles of a report: each contains only what the role uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from leadhand.core.state import StepState
from leadhand.flows.context_budget import context_budget, fitting, tokens
from leadhand.flows.facts import earlier_facts, today
from leadhand.flows.judging import judge_brief
from leadhand.flows.passages import Passage
from leadhand.flows.plan_gate import denied_facts
from leadhand.verify.judge import JUDGE

from .judging import judged
from .options import REVIEWER, WRITER, Stage
from .progress import Item, Report, revises, used_research
from .shapes import MOST_QUESTIONS
from .task import report_task

TOKENS_PER_WORD = 2
"""Tokens of a word of a draft with its citations, roughly."""


def brief(report: Report, step: StepState) -> dict[str, Any]:
    """Return what the worker of a step receives."""
    given, name = step.step.input, step.step.worker
    if name == JUDGE:
        judging = report.judging(given["of"])
        return judge_brief(report.state, given, judging.claims, judging.material)
    stage = report.stages[name]
    if stage.agent:
        return {"task": report_task(report).model_dump(mode="json", exclude={"events"})}
    facts: dict[str, Any] = {"topic": report.run.request}
    now = today(report.state)
    match stage.name:
        case "planner":
            return {
                **facts,
                **earlier_facts(report.state),
                **now,
                **denied_facts(report.state),
                "most": MOST_QUESTIONS,
            }
        case "researcher":
            return {**facts, **now, "question": given["question"]}
        case "writer":
            most = report.state.definition.limits.max_output_tokens // TOKENS_PER_WORD
            return {**facts, **now, "most_words": most, **_writing(report, step)}
        case "reviewer":
            return {**facts, **_outline(report), **_judged_claims(report, given["number"])}
        case _:
            return {**facts, **now, **_stage(report, stage, given.get("number", 0))}


def _outline(report: Report) -> dict[str, Any]:
    plan, missing = report.plan, report.unanswered
    facts: dict[str, Any] = {}
    if plan is not None:
        facts = {"title": plan.title, "sections": [section.heading for section in plan.sections]}
    return {**facts, "missing": missing} if missing else facts


def _writing(report: Report, draft: StepState) -> dict[str, Any]:
    """Return what a draft is written from; of a revision, the draft before it and what has to change in it."""
    keys = used_research(draft)
    passages, items = report.passages(keys), report.items(keys)
    order = list(in_turns(passages, [item.passages for item in items]))
    if not revises(draft):
        findings = _findings(items, passages)
        most = max((len(each["statements"]) for each in findings), default=0)
        while most > 1 and 2 * tokens(findings) > context_budget(
            report.state, WRITER
        ):  # the other half is for passages
            most -= 1
            findings = [{**each, "statements": each["statements"][:most]} for each in findings]
        facts = {**_outline(report), "findings": findings}
    else:
        number = draft.step.input["number"] - 1
        remarks, written = judged(report, number).remarks, report.text(number)
        problems = [{"statement": each.claim or None, "problem": each.problem} for each in remarks]
        room = (context_budget(report.state, WRITER) - tokens(written)) // 2  # the other half is for passages
        facts = {"draft": written, "problems": fitting(problems, room) or problems[:1]}
        claims, wrong = report.claims(number), {each.n for each in remarks}
        cited = [*(each for each in claims if each.n in wrong), *claims]
        order = [*(name for each in cited for name in each.cites if name in passages), *order]
    room = context_budget(report.state, WRITER) - tokens(facts)
    return {**facts, "passages": shown_passages(passages, order, room)}


def _findings(items: Iterable[Item], passages: Mapping[str, Passage]) -> list[dict[str, Any]]:
    names = {passage.id: name for name, passage in passages.items()}
    return [
        {
            "section": item.heading,
            "statements": [
                {
                    "statement": finding.statement,
                    "passages": [names[passage] for passage in finding.passages if passage in names],
                }
                for finding in item.findings
            ],
        }
        for item in items
    ]


def in_turns(passages: Mapping[str, Passage], items: Iterable[Sequence[Passage]]) -> Iterator[str]:
    """Yield the first passage of each item, then the second ones, and so on."""
    names = {passage.id: name for name, passage in passages.items()}
    queues = [[names[passage.id] for passage in item if passage.id in names] for item in items]
    for place in range(max(map(len, queues), default=0)):
        yield from (queue[place] for queue in queues if place < len(queue))


def shown_passages(passages: Mapping[str, Passage], order: Iterable[str], room: int) -> dict[str, Any]:
    """Return the passages as a writer sees them; if they do not fit, the first ones in this order."""
    shown = {name: {"text": passage.text, "source": passage.title or passage.url} for name, passage in passages.items()}
    if tokens(shown) <= room:
        return shown
    kept: set[str] = set()
    for name in dict.fromkeys(order):
        room -= tokens({name: shown[name]})
        if room < 0:
            break
        kept.add(name)
    return {name: facts for name, facts in shown.items() if name in kept}


def _claims(report: Report, number: int, before: str) -> dict[str, Any]:
    return {"claims": [{"n": each.n, "text": each.text} for each in report.claims(number, before)]}


def _judged_claims(report: Report, number: int) -> dict[str, Any]:
    """Return the claims of a draft with what the judge says of those that it doubts, and what it says is missing."""
    judging = report.judging(number)
    claims: list[dict[str, Any]] = []
    for each, (verdict, doubts) in judging.verdicts(report.claims(number, REVIEWER)):
        shown: dict[str, Any] = {"n": each.n, "text": each.text}
        claims.append(
            {**shown, "judge": verdict.value, "why": " ".join(doubt.why for doubt in doubts)} if doubts else shown
        )
    missing = [part.model_dump() for part in judging.round.missing]
    return {"claims": claims, **({"judge_misses": missing} if missing else {})}


def _stage(report: Report, stage: Stage, number: int) -> dict[str, Any]:
    """Return what a stage with instructions of a user receives: what it needs for what it gives."""
    if not number:
        return {} if report.plan is None else {"plan": report.plan.model_dump(mode="json")}
    passages = report.citable(number)
    claims = report.claims(number, stage.name)
    used = dict.fromkeys(name for each in claims for name in each.cites if name in passages)
    shown = shown_passages({name: passages[name] for name in used}, used, context_budget(report.state, stage.name))
    text = _claims(report, number, stage.name) if stage.judges else {"draft": report.text(number, stage.name)}
    return {**text, "passages": shown}
