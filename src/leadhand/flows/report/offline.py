"""The rules of the built-in rule-based model for reports: it copies sentences of its sources and combines nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from leadhand.core.tool import GIVE_UP
from leadhand.core.value import Json, is_list, is_object, list_of, object_of, objects_of, text_of, texts_of
from leadhand.flows.offline.rule import Call, OfflineRequest, Reply, Rules, decoded
from leadhand.flows.offline.words import content_of

from .stages import PLANNER, RESEARCHER, REVIEWER, WRITER

BYLINE = "Written by Leadhand's built-in rule-based model (offline, no LLM), which copies sentences of its sources."
NOTHING_ELSE = "Nothing more was found for this section."
SECTIONS = (
    ("What is known", "What is known about {}?"),
    ("Costs", "What are the costs and prices, in euros or percent: {}?"),
    ("Limits", "Which problems, limits, noise and risks remain: {}?"),
)
_STATEMENTS, _OF_ONE_SOURCE, _OF_A_SECTION = 12, 3, 4


def plan(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Three questions about any topic."""
    topic = text_of(facts.get("topic")).strip()
    sections = [{"heading": heading, "question": question.format(topic[:800])} for heading, question in SECTIONS]
    title = f"{topic[:1].upper()}{topic[1:]}"[:300]
    return {"title": title, "sections": sections[: facts["most"]]} if "most" in facts else None


def research(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Search once, and take the sentences that have most words in common with the question."""
    question, topic = text_of(facts.get("question")), text_of(facts.get("topic"))
    if not question or "today" not in facts:
        return None
    if not request.results:
        return search_call(question, request) or request.give_up("no tool takes a query")
    subject = content_of(topic)
    wanted = content_of(question) - subject or subject
    shown = (each for result in request.results for each in passages_shown(result.content))
    known = {sentence: name for name, text in shown for sentence in sentences(text) if content_of(sentence) & subject}
    taken, findings = Counter[str](), list[dict[str, Any]]()
    for sentence in sorted(known, key=lambda each: -len(content_of(each) & wanted)):
        source = known[sentence].partition(".")[0]
        taken[source] += 1
        if taken[source] <= _OF_ONE_SOURCE and len(findings) < _STATEMENTS:
            findings.append({"statement": sentence, "passages": [known[sentence]]})
    return {
        "summary": findings[0]["statement"] if findings else f"Nothing was found about {topic}.",
        "findings": findings,
    }


def write(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Join the statements, section by section, each with its own citation and in one section only."""
    if "draft" in facts and "problems" in facts:
        return text_of(facts["draft"])
    if "findings" not in facts or "passages" not in facts or "title" not in facts:
        return None
    written, used = [f"# {text_of(facts.get('title'))}", BYLINE], set[str]()
    for section in objects_of(facts["findings"]):
        statements = (each for each in objects_of(section.get("statements")) if each.get("passages"))
        cited = {text_of(each.get("statement")): each["passages"][0] for each in statements}
        fresh = [each for each in cited if each not in used][:_OF_A_SECTION]
        used.update(fresh)
        text = " ".join(f"{each} [{cited[each]}]" for each in fresh)
        written += [f"## {text_of(section.get('section'))}", text or NOTHING_ELSE]
    return "\n\n".join([*written, *(f"No source answered this: {each}" for each in texts_of(facts.get("missing")))])


def review(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Approve any draft: this model cannot judge one."""
    return {"verdict": "APPROVED", "findings": []} if "claims" in facts else None


def search_call(question: str, request: OfflineRequest) -> Call | None:
    """Return the call of the tool that takes a query: web_search, else the first with a parameter for one."""
    for tool in sorted(request.tools, key=lambda each: each.name != "web_search"):
        given = object_of(tool.parameters.get("properties"))
        name = next((each for each in ("query", "question", "topic", "text", "q") if each in given), "")
        if name and tool.required <= {name} and tool.name != GIVE_UP:
            return Call(tool.name, {name: question})
    return None


def passages_shown(content: Json) -> Iterator[tuple[str, str]]:
    """Yield the ids and texts of the passages that a tool result shows."""
    value = decoded(content)
    if is_object(value) and isinstance(value.get("id"), str) and isinstance(value.get("text"), str):
        yield value["id"], value["text"]
    for each in value.values() if is_object(value) else list_of(value):
        if is_object(each) or is_list(each) or text_of(each)[:1] in ("{", "["):
            yield from passages_shown(each)


def sentences(text: str) -> Iterator[str]:
    """Yield the full sentences of a passage, without its headings and tables."""
    for block in re.split(r"\n\s*\n", text):
        lines = (line for line in block.split("\n") if not line.lstrip().startswith(("#", "|", "```")))
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z])", " ".join(" ".join(lines).split())):
            plain = sentence.lstrip("-*• ")
            if plain.endswith((".", "!")) and 40 <= len(plain) <= 400:
                yield plain


RULES: Rules = {PLANNER: plan, RESEARCHER: research, WRITER: write, REVIEWER: review}
