"""The briefs of the roles of a report: each contains only what the role uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from leadhand.domain.days import dated
from leadhand.domain.passages import Passage
from leadhand.domain.state import AssignmentState
from leadhand.flows.context_budget import context_budget, fitting, tokens
from leadhand.flows.earlier_facts import earlier_facts
from leadhand.flows.plan_gate import denied_facts

from .judging import CitingTexts, judged
from .options import REVIEWER, WRITER, Stage
from .progress import Item, Report, revises, used_research
from .shapes import MOST_QUESTIONS
from .task import task

TOKENS_PER_WORD = 2
"""Tokens of a word of a draft with its citations, roughly."""


def brief(report: Report, assignment: AssignmentState) -> dict[str, Any]:
    """Return what the worker of an assignment receives."""
    given, stage = assignment.assignment.input, report.stages[assignment.assignment.role]
    if stage.agent:
        return {"task": task(report)}
    facts: dict[str, Any] = {"topic": report.run.request}
    today = {"today": dated(report.state.created_at)}
    match stage.name:
        case "planner":
            return {
                **facts,
                **earlier_facts(report.state),
                **today,
                **denied_facts(report.state),
                "most": MOST_QUESTIONS,
            }
        case "researcher":
            return {**facts, **today, "question": given["question"]}
        case "writer":
            most = report.state.definition.limits.max_output_tokens // TOKENS_PER_WORD
            return {**facts, **today, "most_words": most, **_writing(report, assignment)}
        case "reviewer" if "sentences" in given:
            return citations(report, given["number"], given["sentences"])
        case "reviewer":
            return {**facts, **_outline(report), **_sentences(report, given["number"], REVIEWER)}
        case _:
            return {**facts, **today, **_stage(report, stage, given.get("number", 0))}


def _outline(report: Report) -> dict[str, Any]:
    plan, missing = report.plan, report.unanswered
    facts: dict[str, Any] = {}
    if plan is not None:
        facts = {"title": plan.title, "sections": [section.heading for section in plan.sections]}
    return {**facts, "missing": missing} if missing else facts


def _writing(report: Report, draft: AssignmentState) -> dict[str, Any]:
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
        number = draft.assignment.input["number"] - 1
        remarks, written = judged(report, number).remarks, report.text(number)
        problems = [{"sentence": each.sentence or None, "problem": each.problem} for each in remarks]
        room = (context_budget(report.state, WRITER) - tokens(written)) // 2  # the other half is for passages
        facts = {"draft": written, "problems": fitting(problems, room) or problems[:1]}
        statements, wrong = report.statements(number), {each.number for each in remarks}
        cited = [*(each for each in statements if each.index in wrong), *statements]
        order = [*(name for each in cited for name in each.passages if name in passages), *order]
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


def _sentences(report: Report, number: int, before: str) -> dict[str, Any]:
    return {"sentences": [{"n": each.index, "text": each.text} for each in report.statements(number, before)]}


def citations(report: CitingTexts, number: int, indexes: Iterable[int]) -> dict[str, Any]:
    """Return some sentences beside the passages that they cite."""
    statements = {each.index: each for each in report.statements(number, REVIEWER)}
    passages = report.citable(number)
    chosen = [statements[index] for index in indexes]
    names = dict.fromkeys(name for each in chosen for name in each.passages)
    return {
        "sentences": [{"sentence": each.index, "text": each.text, "passages": list(each.passages)} for each in chosen],
        "passages": {name: passages[name].text for name in names if name in passages},
    }


def _stage(report: Report, stage: Stage, number: int) -> dict[str, Any]:
    """Return what a stage with instructions of a user receives: what it needs for what it gives."""
    if not number:
        return {} if report.plan is None else {"plan": report.plan.model_dump(mode="json")}
    passages = report.citable(number)
    statements = report.statements(number, stage.name)
    used = dict.fromkeys(name for each in statements for name in each.passages if name in passages)
    shown = shown_passages({name: passages[name] for name in used}, used, context_budget(report.state, stage.name))
    text = _sentences(report, number, stage.name) if stage.judges else {"draft": report.text(number, stage.name)}
    return {**text, "passages": shown}
