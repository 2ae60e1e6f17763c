"""The rules of the built-in rule-based model for reports: it copies sentences of its sources and combines nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leadhand.core.tool import GIVE_UP, CallState, Source
from leadhand.core.value import Json, list_of, object_of, objects_of, text_of, texts_of
from leadhand.flows.offline.rendering import decoded
from leadhand.flows.offline.rule import Call, OfflineRequest, Reply, Rules
from leadhand.flows.offline.words import word_set
from leadhand.flows.passages import Passage, passages_in

from .options import PLANNER, RESEARCHER, REVIEWER, WRITER

BYLINE = "Written by Leadhand's built-in rule-based model (offline, no LLM), which copies sentences of its sources."
NOTHING_ELSE = "Nothing more was found for this section."
SECTIONS = (
    ("What is known", "What is known about {}?"),
    ("Costs", "What are the costs and prices, in euros or percent: {}?"),
    ("Limits", "Which problems, limits, noise and risks remain: {}?"),
)
STATEMENTS = 12
"""Statements of one researcher, at most: enough for its section if other sections use the first ones."""
OF_ONE_SOURCE = 4
"""Statements of one researcher from the same source, at most."""
OF_A_SECTION = 4
"""Statements of one section, at most."""
_WORD = re.compile(r"[^\W\d_]{4,}")
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_COMMON = word_set("about known what which does with that this")


def plan(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Three questions about any topic."""
    topic = text_of(facts.get("topic")).strip()
    if "most" not in facts:
        return None
    title = f"{topic[:1].upper()}{topic[1:]}"[:300]
    sections = [{"heading": heading, "question": question.format(topic[:800])} for heading, question in SECTIONS]
    return {"title": title, "sections": sections[: facts["most"]]}


def research(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Search once, and take the sentences that have most words in common with the question."""
    question, topic = text_of(facts.get("question")), text_of(facts.get("topic"))
    if not question or "today" not in facts:
        return None
    if not request.results:
        return search_call(question, request) or request.give_up("no tool takes a query")
    found = [passage for result in request.results for passage in passages_from(result.name, result.content)]
    subject = _words(topic)
    wanted = _words(question) - subject or subject
    known: dict[str, Passage] = {}
    for passage in found:
        known |= {sentence: passage for sentence in sentences(passage.text) if sentence not in known}
    fitting = [each for each in known if _words(each) & subject]
    taken: Counter[str] = Counter()
    findings: list[dict[str, Any]] = []
    for sentence in sorted(fitting, key=lambda each: -2 * len(_words(each) & wanted) - bool(_FIGURE.search(each))):
        passage = known[sentence]
        source = passage.source or passage.title
        if len(findings) < STATEMENTS and taken[source] < OF_ONE_SOURCE:
            findings.append({"statement": sentence, "passages": [passage.id]})
            taken[source] += 1
    summary = findings[0]["statement"] if findings else f"The search found nothing about {topic}."
    return {"summary": summary, "findings": findings}


def write(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Join the statements, section by section, each with its own citation."""
    if "draft" in facts and "problems" in facts:
        return text_of(facts["draft"])
    if "findings" not in facts or "passages" not in facts or "title" not in facts:
        return None
    written = [f"# {text_of(facts.get('title'))}", BYLINE]
    for heading, statements in _spread(objects_of(list_of(facts["findings"]))):
        lines = [f"{text_of(each['statement'])} [{each['passages'][0]}]" for each in statements]
        written += [f"## {heading}", " ".join(lines) or NOTHING_ELSE]
    missing = (f"No source answered this question: {question}" for question in texts_of(facts.get("missing")))
    return "\n\n".join([*written, *missing])


def _spread(findings: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return each section with its statements. Sections choose in turns, so that each statement is in one of them."""
    sections = [(text_of(section.get("section")), list[dict[str, Any]]()) for section in findings]
    used: set[str] = set()
    for _ in range(OF_A_SECTION):
        for section, (_, statements) in zip(findings, sections, strict=True):
            queue = (each for each in objects_of(section.get("statements")) if each.get("passages"))
            new = next((each for each in queue if text_of(each["statement"]) not in used), None)
            if new is not None:
                statements.append(new)
                used.add(text_of(new["statement"]))
    return sections


def review(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Approve any draft: this model cannot judge one."""
    return {"verdict": "APPROVED", "findings": []} if "claims" in facts else None


def search_call(question: str, request: OfflineRequest, **more: int) -> Call | None:
    """Return the call of the tool that takes a query: web_search, else the first with a parameter for one.

    ``more`` are arguments for a tool that takes them.
    """
    tools = sorted((each for each in request.tools if each.name != GIVE_UP), key=lambda each: each.name != "web_search")
    for tool in tools:
        parameters = object_of(tool.parameters.get("properties"))
        texts = [name for name, each in parameters.items() if each.get("type") == "string"]
        name = next((each for each in ("query", "question", "topic", "text", "q") if each in texts), "")
        if name and tool.required <= {name}:
            return Call(tool.name, {name: question, **{each: more[each] for each in more if each in parameters}})
    return None


def passages_from(tool: str, content: Json) -> list[Passage]:
    """Return the passages in what a tool returned, with the ids that they have for the engine."""
    fields = object_of(decoded(content))
    sources = tuple(Source.model_validate(each) for each in objects_of(fields.get("sources")))
    raw, summary = fields.get("raw", fields if "isError" in fields else None), fields.get("summary")
    return passages_in(CallState(call_id="", tool=tool, raw=raw, summary=summary, sources=sources))


def sentences(text: str) -> Iterator[str]:
    """Yield the full sentences of a passage, without its headings and tables."""
    for block in re.split(r"\n\s*\n", text):
        lines = (line for line in block.split("\n") if not line.lstrip().startswith(("#", "|", "```")))
        for sentence in _END.split(" ".join(" ".join(lines).split())):
            plain = sentence.lstrip("-*• ")
            if plain.endswith((".", "!")) and 40 <= len(plain) <= 400:
                yield plain


def _words(text: str) -> set[str]:
    return {word for word in map(str.casefold, _WORD.findall(text)) if word not in _COMMON}


RULES: Rules = {PLANNER: plan, RESEARCHER: research, WRITER: write, REVIEWER: review}
