"""What the workers of a report are shown: each only what it uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from leadhand.core.state import RunState, StepState
from leadhand.flows.context_budget import context_budget, fitting, tokens
from leadhand.flows.facts import earlier_facts, today
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


def for_reviewer(report: Report, draft: Draft) -> Shows:
    """Return the claims of a draft with what the judge says of those that it doubts, and what it says is missing."""
    claims: list[dict[str, Any]] = []
    for each, (verdict, doubts) in draft.rounds.verdicts(draft.rounds.claims):
        doubted = {"judge": verdict.value, "why": " ".join(doubt.why for doubt in doubts)} if doubts else {}
        claims.append({"n": each.n, "text": each.text, **doubted})
    missing = [part.model_dump() for part in draft.rounds.missing]
    facts = {**_outline(report), "claims": claims, **({"judge_misses": missing} if missing else {})}
    return lambda state, _: {**_topic(state), **facts}


def for_stage(report: Report, stage: Stage, draft: Draft | None) -> Shows:
    """Return what a stage with instructions of a user is shown: what it needs for what it gives."""
    if draft is not None and stage.name == REVIEWER:
        return for_reviewer(report, draft)
    facts: dict[str, Any] = _outline(report, "plan") if draft is None else {"draft": draft.text}
    passages, cited = report.passages, dict[str, None]()
    if draft is not None:
        claims = draft.rounds.claims
        cited = dict.fromkeys(name for each in claims for name in each.cites if name in passages)
        if stage.judges:
            facts = {"claims": [{"n": each.n, "text": each.text} for each in claims]}

    def shows(state: RunState, _: StepState) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        if draft is not None:
            room = context_budget(state, stage.name)
            shown = {"passages": shown_passages({name: passages[name] for name in cited}, cited, room)}
        return {**_topic(state), **today(state), **facts, **shown}

    return shows


def for_code(report: Report) -> Shows:
    """Return the task of a stage that a class of the user carries out."""
    known = report_task(report).model_dump(mode="json", exclude={"events", "stages"})
    return lambda state, _: {"task": {**_topic(state), **known}}


def _topic(state: RunState) -> dict[str, Any]:
    return {"topic": state.definition.request}


def _outline(report: Report, name: str = "") -> dict[str, Any]:
    """Return the plan: as it is, with a ``name`` for it, or its headings, with the questions that have no findings."""
    plan, missing = report.outline, report.missing
    if plan is None or name:
        given = report.plan if plan is None else plan.model_dump(mode="json")
        return {} if given is None else {"plan": given}
    facts = {"title": plan.title, "sections": [section.heading for section in plan.sections]}
    return {**facts, "missing": missing} if missing else facts


def _findings(found: Iterable[Research], passages: Mapping[str, Passage], room: int) -> list[dict[str, Any]]:
    """Return the findings by section: of each the first ones, if all do not fit."""
    names = {passage.id: name for name, passage in passages.items()}
    sections = [
        (
            item.heading,
            [
                {"statement": each.statement, "passages": [names[id_] for id_ in each.passages if id_ in names]}
                for each in item.findings
            ],
        )
        for item in found
    ]
    most = max((len(statements) for _, statements in sections), default=0)
    while True:
        shown = [{"section": heading, "statements": statements[:most]} for heading, statements in sections]
        if most <= 1 or tokens(shown) <= room:
            return shown
        most -= 1


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
