"""The rules of the built-in rule-based model for research: it copies sentences of its sources and concludes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leadhand.core.artifact import MEMORY
from leadhand.core.conversation import AssistantMessage, Message, ToolMessage
from leadhand.core.text import line
from leadhand.core.value import list_of, object_of, objects_of, text_of, texts_of
from leadhand.flows.offline.rendering import decoded
from leadhand.flows.offline.rule import Call, OfflineRequest, Reply, Rules
from leadhand.flows.offline.words import content_of
from leadhand.flows.report import offline as report

from .options import LEAD, SUBAGENT, WRITER

WRITE, TODOS, RUN, PARALLEL = "filesystem_write", "todo_list_write", "subagent_run", "parallel_tool_call"
BUDGET, MOST_SENTENCES, MOST_PARTS, LONGEST = 6, 6, 12, 5_000
NO_SOURCE = "no source that was found answers: "
UNANSWERED = "No source that was found answers this."
NOTHING_ASKED = (
    "This is Leadhand's built-in rule-based model (offline, no LLM). It answers questions with sentences of documents:"
    " Leadhand's own documentation, sample documents, and your own with `--documents DIR`. Ask a question that names"
    " what it is about."
)


def lead(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Have each part of a question researched, and join what was found."""
    question, offered = text_of(facts.get("question")).strip(), {tool.name for tool in request.tools}
    if "question" not in facts or RUN not in offered:
        return None
    if not content_of(question) and "earlier" not in facts:
        return NOTHING_ASKED
    about = text_of(object_of(facts.get("earlier")).get("request")).strip()[:LONGEST]
    made = list(_calls_made(request.messages))
    results = {text_of(object_of(args.get("task")).get("task_name")): said for name, args, said in made if name == RUN}
    parts = {slug: part[:LONGEST] for part in re.split(r"(?<=[?!;])\s+|\n+", question) if (slug := _name(part))}
    todos: list[dict[str, str]] = []
    runs: list[Call] = []
    blocks: list[str] = []
    for name, part in list(parts.items() or [("question", question)])[:MOST_PARTS]:
        failed = results.get(name, {}).get("isError") is True
        status = "in_progress" if name not in results else "pending" if failed else "completed"
        heading = line(part.translate(str.maketrans("[]", "()")), 200)  # it cites nothing
        todos.append({"id": str(len(todos) + 1), "content": heading, "status": status})
        prompt = "\n\n".join([part, *([f"About: {about}"] if about else [])])
        task = {"task_name": name, "prompt": prompt, "tool_budget": BUDGET, "description": f"Find sentences: {heading}"}
        runs += [Call(RUN, {"task": task})] if name not in results else []
        why = text_of(results.get(name, {}).get("message"))
        found = UNANSWERED if why.startswith(NO_SOURCE) else f"This was not finished: {why}."
        found = found if failed else text_of(results.get(name, {}).get("detail"))
        blocks.append(f"## {heading}\n\n{found}" if len(parts) > 1 else found)
    if runs or {"todos": todos} not in [args for name, args, _ in made if name == TODOS]:
        calls = [Call(TODOS, {"todos": todos}), *runs]
        together = [{"tool": call.tool, "args": call.args} for call in calls]
        return Call(PARALLEL, {"calls": together}) if PARALLEL in offered and len(calls) > 1 else calls[0]
    if all(said.get("isError") is True for said in results.values()):
        return request.give_up(f"{NO_SOURCE}{question}")
    return "\n\n".join([*blocks, report.BYLINE])


def _name(part: str) -> str:
    """Return a name for a part of a question by its first words with content; "" if it has none."""
    return "_".join(sorted(content_of(part), key=part.casefold().find)[:6])[:60]


def subagent(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Search, choose the sentences that answer the task, write them into a file, and return them."""
    task = object_of(facts.get("task"))
    prompt = text_of(task.get("prompt")).strip()
    if not prompt or "task_name" not in task:
        return None
    made = list(_calls_made(request.messages))
    searched = [said for name, _, said in made if name != WRITE]
    if not searched:
        call = report.search_call(" ".join(prompt.split())[:500], request)
        return call or request.give_up("no tool takes a query")
    asked, question = content_of(prompt), prompt.partition("\n\n")[0]
    known = {
        sentence: (name, len(content_of(f"{sentence} {text}") & asked))
        for said in searched
        for name, text in report.passages_shown(said)
        for sentence in report.sentences(text)
    }
    fitting = [each for each, (_, near) in known.items() if 2 * near > len(asked) and content_of(each) & asked]
    best = sorted(fitting, key=lambda each: -2 * len(content_of(each) & asked) - known[each][1])[:MOST_SENTENCES]
    if not best:
        failed = [text_of(said.get("message")) for said in searched if said.get("isError") is True]
        return request.give_up(failed[0] if len(failed) == len(searched) else f"{NO_SOURCE}{question}")
    cited = [f"{each} [{known[each][0]}]" for each in best]
    path, text = f"{MEMORY}{text_of(task['task_name']).replace('_', '-')}.md", "\n\n".join(cited)
    written = [said for name, _, said in made if name == WRITE]
    if not written and any(tool.name == WRITE for tool in request.tools):
        return Call(WRITE, {"path": path, "content": f"# {question}\n\n{text}\n"})
    stored = any(said.get("isError") is not True for said in written)
    return {"summary": " ".join(cited[:2]), "detail": text, **({"artifact_path": path} if stored else {})}


def write(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Join what subagents found; a draft stays as it is."""
    if "draft" in facts:
        return report.write(facts, request)
    if "question" not in facts or "findings" not in facts:
        return None
    blocks: list[str] = []
    for found in objects_of(facts["findings"]):
        blocks += [f"## {text_of(found.get('task')).replace('_', ' ').capitalize()}"]
        blocks += [text_of(found.get("detail")) or text_of(found.get("summary"))]
    blocks += [f"No source answered this: {each}" for each in texts_of(facts.get("missing"))]
    late = objects_of(facts.get("unfinished"))
    blocks += [f"Not finished: {text_of(each.get('task'))}: {text_of(each.get('reason'))}" for each in late]
    return "\n\n".join([*(blocks or [UNANSWERED]), report.BYLINE])


def _calls_made(messages: Sequence[Message]) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield the calls of a conversation with what they returned, those inside ``parallel_tool_call``, too."""
    results = {each.call_id: decoded(each.content) for each in messages if isinstance(each, ToolMessage)}
    made = (call for each in messages if isinstance(each, AssistantMessage) for call in each.tool_calls)
    for call in made:
        args, said = object_of(call.arguments), results.get(call.id)
        if call.name == PARALLEL:
            for inner, own in zip(objects_of(args.get("calls")), list_of(said), strict=False):
                yield text_of(inner.get("tool")), object_of(inner.get("args")), object_of(decoded(own))
        else:
            yield call.name, args, object_of(said)


RULES: Rules = {LEAD: lead, SUBAGENT: subagent, WRITER: write}
