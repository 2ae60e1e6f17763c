"""The rules of the built-in rule-based model for reports: it copies sentences of its sources and combines nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from leadhand.core.value import Json, list_of, object_of, objects_of, text_of
from leadhand.flows.offline.reading import content_of
from leadhand.flows.offline.rule import Call, OfflineRequest, Reply, Rules, decoded
from leadhand.flows.passages import passages_of

from .stages import PLANNER, RESEARCHER, REVIEWER, WRITER

BYLINE = "Written by Leadhand's built-in rule-based model (offline, no LLM), which copies sentences of its sources."
NOTHING_ELSE = "Nothing more was found for this section."
SECTIONS = (
    ("What is known", "What is known about {}?"),
    ("Costs", "What are the costs and prices, in euros or percent: {}?"),
    ("Limits", "Which problems, limits, noise and risks remain: {}?"),
)
_STATEMENTS, _OF_ONE_SOURCE, _OF_A_SECTION = 12, 3, 4


def plan(facts: Mapping[str, Any], request: OfflineRequest) -> Reply:
    """Three questions about any topic."""
    topic = text_of(facts.get("topic")).strip()
    sections = [{"heading": heading, "question": question.format(topic[:800])} for heading, question in SECTIONS]
    return {"title": f"{topic[:1].upper()}{topic[1:]}"[:300], "sections": sections}


def research(facts: Mapping[str, Any], request: OfflineRequest) -> Reply:
    """Search once, and take the sentences that have most words in common with the question."""
    question, subject = text_of(facts.get("question")), content_of(text_of(facts.get("topic")))
    if not request.results:
        return search_call(question, request)
    wanted = content_of(question) - subject or subject
    known = best_sentences((each.content for each in request.results), subject, wanted)
    sources = [name.partition(".")[0] for name in known.values()]
    findings = [
        {"statement": sentence, "passages": [name]}
        for at, (sentence, name) in enumerate(known.items())
        if sources[:at].count(sources[at]) < _OF_ONE_SOURCE
    ][:_STATEMENTS]
    return {"summary": findings[0]["statement"] if findings else "Nothing was found.", "findings": findings}


def write(facts: Mapping[str, Any], request: OfflineRequest) -> Reply:
    """Join the statements, section by section, each with its own citation and in one section only."""
    if "draft" in facts:
        return text_of(facts["draft"])
    written, used = [f"# {text_of(facts.get('title'))}", BYLINE], set[str]()
    for section in objects_of(facts.get("findings")):
        statements = (each for each in objects_of(section.get("statements")) if each.get("passages"))
        cited = {text_of(each.get("statement")): each["passages"][0] for each in statements}
        fresh = [each for each in cited if each not in used][:_OF_A_SECTION]
        used.update(fresh)
        text = " ".join(f"{each} [{cited[each]}]" for each in fresh)
        written += [f"## {text_of(section.get('section'))}", text or NOTHING_ELSE]
    return "\n\n".join([*written, *(f"No source answered this: {each}" for each in list_of(facts.get("missing")))])


def review(facts: Mapping[str, Any], request: OfflineRequest) -> Reply:
    """Approve any draft: this model cannot judge one."""
    return {"verdict": "APPROVED", "findings": []}


def search_call(question: str, request: OfflineRequest) -> Reply:
    """Return the call of the tool that takes a query, and nothing else that it needs."""
    name = next((tool.name for tool in request.tools if tool.required == frozenset({"query"})), "")
    return Call(name, {"query": question}) if name else request.give_up("no tool takes a query")


def best_sentences(contents: Iterable[Json], about: set[str], wanted: set[str], share: float = 0.0) -> dict[str, str]:
    """Return the full sentences of passages about something, with the ids of the passages: first those with most of
    the wanted words. A passage has more than this share of the words that say what it is about."""
    known: dict[str, str] = {}
    shown = (object_of(decoded(each)) for each in contents)
    for passage in (each for fields in shown for each in passages_of(fields.get("raw") or fields.get("message"))):
        plain = re.sub(r"(?m)^\s*(?:#|\||```).*$", "", passage.text)  # without headings and tables
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z])|\n\s*\n", plain):
            said = " ".join(sentence.split()).lstrip("-*• ")
            near = len(content_of(f"{said} {passage.text}") & about) > share * len(about) and content_of(said) & about
            if near and said.endswith((".", "!")) and 40 <= len(said) <= 400:
                known[said] = passage.id
    return dict(sorted(known.items(), key=lambda each: -len(content_of(each[0]) & wanted)))


RULES: Rules = {PLANNER: plan, RESEARCHER: research, WRITER: write, REVIEWER: review}
"""The rules of the flow, by worker."""
