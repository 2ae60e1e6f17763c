"""The rules of the built-in rule-based model for research: it copies sentences of its sources and concludes nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from leadhand.core.artifact import MEMORY
from leadhand.core.conversation import ToolMessage
from leadhand.core.text import line
from leadhand.core.value import object_of, objects_of, text_of
from leadhand.flows.offline.reading import content_of
from leadhand.flows.offline.rule import Call, OfflineRequest, Reply, Rules, decoded
from leadhand.flows.report import offline as report

from .workers import LEAD, PARALLEL, SUBAGENT, WRITER

WRITE, TODOS, RUN = "filesystem_write", "todo_list_write", "subagent_run"
MOST_PARTS, LONGEST, MOST_SENTENCES = 12, 5_000, 6
NO_SOURCE = "no source that was found answers: "
UNANSWERED = "No source that was found answers this."

NOTHING_ASKED = "Ask a question. The built-in rule-based model (offline, no LLM) answers with sentences of documents."


def lead(facts: Mapping[str, Any], request: OfflineRequest) -> Reply:
    """Have each part of a question researched, note which are answered, and join what was found."""
    question = text_of(facts.get("question")).strip()
    if not content_of(question) and "earlier" not in facts:
        return NOTHING_ASKED
    earlier = text_of(object_of(facts.get("earlier")).get("request")).strip()[:LONGEST]
    returned = [each for each in request.messages if isinstance(each, ToolMessage)]
    results = [object_of(decoded(each.content)) for each in returned if each.name == RUN]
    runs, todos, blocks = list[dict[str, Any]](), list[dict[str, str]](), list[str]()
    parts = [part for part in re.split(r"(?<=[?!;])\s+|\n+", question) if content_of(part)][:MOST_PARTS] or [question]
    for at, part in enumerate(parts):
        heading = line(part.translate(str.maketrans("[]", "()")), 200)  # it cites nothing
        name = "_".join(sorted(content_of(part), key=part.casefold().find)[:6])[:60] or f"part_{at + 1}"
        prompt = "\n\n".join(filter(None, (part[:LONGEST], earlier)))
        task = {"task_name": name, "prompt": prompt, "tool_budget": 6, "description": f"Find sentences: {heading}"}
        runs.append({"tool": RUN, "args": {"task": task}})
        said = results[at] if at < len(results) else None
        failed, why = object_of(said).get("isError") is True, text_of(object_of(said).get("message"))
        status = "in_progress" if said is None else "pending" if failed else "completed"
        todos.append({"id": f"{at + 1}", "content": heading, "status": status})
        gap = UNANSWERED if why.startswith(NO_SOURCE) else f"This was not finished: {why}."
        text = gap if failed else text_of(object_of(said).get("detail"))
        blocks.append(f"## {heading}\n\n{text}" if len(parts) > 1 else text)
    if sum(each.name != RUN for each in returned) < 2:  # the todos are written before and after
        return Call(PARALLEL, {"calls": [{"tool": TODOS, "args": {"todos": todos}}, *([] if returned else runs)]})
    if all(said.get("isError") is True for said in results):
        return request.give_up(f"{NO_SOURCE}{question}")
    return "\n\n".join([*blocks, report.BYLINE])


def subagent(facts: Mapping[str, Any], request: OfflineRequest) -> Reply:
    """Search, choose the sentences that answer the task, write them into a file, and return them."""
    task = object_of(facts.get("task"))
    prompt = text_of(task.get("prompt")).strip()
    made = [(each.name, object_of(decoded(each.content))) for each in request.messages if isinstance(each, ToolMessage)]
    searched, written = ([said for name, said in made if (name == WRITE) is writes] for writes in (False, True))
    if not searched:
        return report.search_call(" ".join(prompt.split())[:500], request)
    words = content_of(prompt)
    best = list(report.best_sentences(searched, words, words, 0.5).items())[:MOST_SENTENCES]
    if not best:
        failed = [text_of(said.get("message")) for said in searched if said.get("isError") is True]
        return request.give_up((failed or [f"{NO_SOURCE}{prompt.partition(chr(10))[0]}"])[0])
    cited = [f"{sentence} [{name}]" for sentence, name in best]
    path, text = f"{MEMORY}{text_of(task.get('task_name'))}.md", "\n\n".join(cited)
    if not written and any(tool.name == WRITE for tool in request.tools):
        return Call(WRITE, {"path": path, "content": f"# {prompt}\n\n{text}\n"})
    stored = {"artifact_path": path} if any(said.get("isError") is not True for said in written) else {}
    return {"summary": " ".join(cited[:2]), "detail": text, **stored}


def write(facts: Mapping[str, Any], _request: OfflineRequest) -> Reply:
    """Join what subagents found."""
    found = [text_of(each.get("detail") or each.get("summary")) for each in objects_of(facts.get("findings"))]
    missing = (f"Nothing was found for: {each.get('task')}" for each in objects_of(facts.get("missing")))
    return "\n\n".join([*found, *missing, report.BYLINE])


RULES: Rules = {LEAD: lead, SUBAGENT: subagent, WRITER: write}
