"""What the workers of a report are shown: each only what it uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from leadhand.core.judgement import Claim
from leadhand.core.state import RunState, StepState
from leadhand.flows.context_budget import context_budget, fitting, tokens
from leadhand.flows.facts import earlier_facts, today
from leadhand.flows.judging import Entry
from leadhand.flows.passages import Passage

from .options import REVIEWER, WRITER, Stage
from .progress import Draft, Report
from .shapes import MOST_QUESTIONS, Research, Section
from .task import report_task

TOKENS_PER_WORD = 2
"""Tokens of a word of a draft with its citations, roughly."""
Shows = Callable[[RunState, StepState], dict[str, Any]]


def for_planner(denied: Sequence[Mapping[str, Any]]) -> Shows:
    """``denied`` are the plans that a person denied, with the reasons."""
    more: dict[str, Any] = {"denied": [*denied]} if denied else {}
    return lambda state, _: {**_topic(state), **earlier_facts(state), **today(state), **more, "most": MOST_QUESTIONS}


def for_researcher(section: Section) -> Shows:
    return lambda state, _: {**_topic(state), **today(state), "question": section.question}


def for_writer(report: Report, revised: Draft | None) -> Shows:
    """Return what a draft is written from; of a revision, the draft before it and what has to change in it."""
    passages, found = report.passages, [*report.found]
    turns = list(in_turns(passages, [item.passages for item in found]))
    outline = _outline(report)
    text, remarks, cited = "", [], list[str]()
    if revised is not None:
        text, remarks, claims = revised.text, revised.remarks, revised.rounds.claims
        wrong = {each.n for each in remarks}
        first = [*(each for each in claims if each.n in wrong), *claims]
        cited = [name for each in first for name in each.cites if name in passages]

    def shows(state: RunState, _: StepState) -> dict[str, Any]:
        room = context_budget(state, WRITER)
        if revised is None:
            facts = {**outline, "findings": _findings(found, passages, room // 2)}  # the other half is for passages
        else:
            problems = [{"statement": each.claim or None, "problem": each.problem} for each in remarks]
            facts = {"draft": text, "problems": fitting(problems, (room - tokens(text)) // 2) or problems[:1]}
        most = state.definition.limits.max_output_tokens // TOKENS_PER_WORD
        shown = shown_passages(passages, [*cited, *turns], room - tokens(facts))
        return {**_topic(state), **today(state), "most_words": most, **facts, "passages": shown}

    return shows


def for_stage(report: Report, stage: Stage, draft: Draft | None) -> Shows:
    """Return what any other stage is shown: the plan; or the draft, if it judges, by claims with the judge's doubts."""
    if draft is None:
        plan = report.plan if report.outline is None else report.outline.model_dump(mode="json")
        return lambda state, _: {**_topic(state), **today(state), **({} if plan is None else {"plan": plan})}
    rounds = draft.rounds
    facts: dict[str, Any] = {"draft": draft.text}
    if stage.judges:
        facts = {"claims": [_claim(*each) for each in rounds.verdicts(rounds.claims)]}
    if stage.name == REVIEWER:
        missing = {"judge_misses": [part.model_dump() for part in rounds.missing]} if rounds.missing else {}
        return lambda state, _: {**_topic(state), **_outline(report), **facts, **missing}
    names = dict.fromkeys(name for each in rounds.claims for name in each.cites)
    passages = {name: passage for name, passage in report.passages.items() if name in names}

    def shows(state: RunState, _: StepState) -> dict[str, Any]:
        shown = shown_passages(passages, names, context_budget(state, stage.name))
        return {**_topic(state), **today(state), **facts, "passages": shown}

    return shows


def _claim(claim: Claim, entry: Entry) -> dict[str, Any]:
    """Return a claim with what the judge says of it, if it is doubted."""
    doubted = {"judge": entry.verdict.value, "why": " ".join(doubt.why for doubt in entry.doubts)}
    return {"n": claim.n, "text": claim.text, **(doubted if entry.doubts else {})}


def for_code(report: Report) -> Shows:
    """Return the task of a stage that a class of the user carries out."""
    known = report_task(report).model_dump(mode="json", exclude={"events", "stages"})
    return lambda state, _: {"task": {**_topic(state), **known}}


def _topic(state: RunState) -> dict[str, Any]:
    return {"topic": state.definition.request}


def _outline(report: Report) -> dict[str, Any]:
    """Return the headings of the plan, and the questions that have no findings; a plan of another shape as it is."""
    plan, missing = report.outline, report.missing
    if plan is None:
        return {"plan": report.plan}
    facts = {"title": plan.title, "sections": [section.heading for section in plan.sections]}
    return {**facts, "missing": missing} if missing else facts


def _findings(found: Sequence[Research], passages: Mapping[str, Passage], room: int) -> list[dict[str, Any]]:
    """Return the findings by section; if they do not fit, the first ones of each."""
    names = {passage.id: name for name, passage in passages.items()}
    sections = [
        [
            {"statement": each.statement, "passages": [names[id_] for id_ in each.passages if id_ in names]}
            for each in item.findings
        ]
        for item in found
    ]
    if tokens(sections) > room:
        sections = [fitting(statements, room // len(sections)) or statements[:1] for statements in sections]
    return [{"section": item.heading, "statements": each} for item, each in zip(found, sections, strict=True)]


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
