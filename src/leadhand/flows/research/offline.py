"""The rules of the built-in rule-based model for research: it copies sentences of its sources and concludes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from leadhand.domain.artifact import MEMORY
from leadhand.domain.conversation import AssistantMessage, Message, ToolMessage
from leadhand.domain.value import Json, list_of, object_of, objects_of, text_of, texts_of
from leadhand.domain.view.texts import line
from leadhand.flows.offline.rendering import decoded
from leadhand.flows.offline.rule import Call, OfflineRequest, Reply, Rules
from leadhand.flows.report import offline as report
from leadhand.flows.report.sentences import Kind

from .excerpts import Chosen, Excerpt, choose
from .options import LEAD, REVIEWER, SUBAGENT, WRITER
from .questions import NOTHING_ASKED, answer_at_once, content, names_nothing, parts, refers_back

READ, WRITE = "filesystem_read", "filesystem_write"
TODOS, RUN, PARALLEL = "todo_list_write", "subagent_run", "parallel_tool_call"
BUDGET = 6  # tool calls of a subagent: its searches, and its file
MOST_RESULTS = 10
LONGEST = 5_000  # characters of a question in the prompt of a subagent
FEW = 3  # words of a question that are too few to search for, if it is part of another one
NOT_FOUND = "Nothing was found about: "
NO_SOURCE = "no source that was found answers: "
UNANSWERED = "No source that was found answers this."
UNFINISHED = "This was not finished: "
NOT_BEGUN = "This was not researched: the limit of subagents was reached."
_SOURCES = "\n\n## Sources\n"
_DEFINES = re.compile(r"(?:what|who) (?:is|are|was|were) (?:known about )?(?:an? |the )?(?P<what>[^?]+)", re.IGNORECASE)


def lead(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Plan the parts of a question, have each researched, and join what was found."""
    question = text_of(facts.get("question"))
    if "question" not in facts or all(tool.name != RUN for tool in request.tools):
        return None
    at_once = answer_at_once(question)
    if at_once and not (at_once == NOTHING_ASKED and "earlier" in facts and question.rstrip().endswith("?")):
        return at_once
    if "earlier" not in facts and names_nothing(question):
        return request.give_up(f"the question does not say what it is about: {question}")
    research = _Research(facts, request)
    if wanted := research.wanted():
        return together(wanted, request)
    return research.answer() or request.give_up(f"{NO_SOURCE}{question}")


class _Part(NamedTuple):
    """A part of the question: the name of its task, the words of the part, and the task of its subagent."""

    name: str
    question: str
    task: dict[str, Any]


class _Research:
    """What a lead has done so far, as its conversation shows it."""

    def __init__(self, facts: Mapping[str, Any], request: OfflineRequest) -> None:
        whole = " ".join(text_of(facts.get("question")).split())
        before = text_of(object_of(facts.get("earlier")).get("request")).strip()
        most = facts.get("max_subagents")
        self._most = most if isinstance(most, int) else 1
        made = list(calls_made(request.messages))
        tasks = [(object_of(each.args.get("task")), each) for each in made if each.tool == RUN]
        self._results = {text_of(task.get("task_name")): each for task, each in tasks}
        self._files = {
            text_of(each.args.get("path")): text_of(decoded(object_of(each.said).get("message")))
            for each in made
            if each.tool == READ
        }
        self._todos = next((each.args for each in reversed(made) if each.tool == TODOS), None)
        asked = parts(whole) if not (before and refers_back(whole)) else [whole]
        self._parts: list[_Part] = []
        for part in asked:
            is_rest = len(asked) > 1 and part.rstrip("?").casefold() in whole.casefold()
            about = [f"About: {each[:LONGEST]}" for each in (whole * is_rest, before) if each]
            name = "_".join(content(part)[:6])[:60] or f"part_{len(self._parts) + 1}"
            task = {"task_name": name, "prompt": "\n\n".join([part[:LONGEST], *about]), "tool_budget": BUDGET}
            task["description"] = f"Find sentences of sources that answer: {part}"[:2_000]
            self._parts.append(_Part(name, part, task))

    def wanted(self) -> list[Call]:
        """Return the next calls; none when all is done that can be done."""
        written = [path for path in map(_path, self._results.values()) if path]
        if files := [Call(READ, {"path": path}) for path in written if path not in self._files]:
            return [*files, *self._changed_todos()]
        left = [part for part in self._parts if part.name not in self._results]
        runs = [Call(RUN, {"task": part.task}) for part in left[: max(0, self._most - len(self._results))]]
        return [*self._changed_todos(running=bool(runs)), *runs]

    def _changed_todos(self, *, running: bool = False) -> list[Call]:
        todos: list[dict[str, str]] = []
        for number, part in enumerate(self._parts, start=1):
            result = self._results.get(part.name)
            done = result is not None and not result.failed
            status = "completed" if done else "in_progress" if running and result is None else "pending"
            todos.append({"id": str(number), "content": _heading(part.question), "status": status})
        return [Call(TODOS, {"todos": todos})] if self._todos != {"todos": todos} else []

    def answer(self) -> str:
        """Return what was found for each part, and what was not; "" if nothing was found at all."""
        seen, blocks, anything = set[str](), list[str](), False
        for part in self._parts:
            result = self._results.get(part.name)
            text, missing = self._found(result) if result is not None and not result.failed else ("", "")
            why = NOT_BEGUN if result is None else UNANSWERED
            if result is not None and result.failed and not result.failed.startswith(NO_SOURCE):
                why = f"{UNFINISHED}{result.failed}."
            new = _without_repeats(text, seen)
            blocks += [f"## {_heading(part.question)}"] if len(self._parts) > 1 else []
            blocks += [new or ("See above." if text else why), *([missing] if missing else [])]
            anything = anything or bool(text)
        return "\n\n".join([*blocks, report.BYLINE]) if anything else ""

    def _found(self, result: Made) -> tuple[str, str]:
        """What a subagent found, with citations, in its file or its result; and which words it did not find."""
        said = object_of(result.said)
        detail, mark, missing = text_of(said.get("detail")).partition(NOT_FOUND)
        if text := self._files.get(_path(result), "").removeprefix("\ufeff"):
            return re.sub(r"\A# .*\n+", "", text).partition(_SOURCES)[0].strip(), mark + missing
        return "\n\n".join(filter(None, (text_of(said.get("summary")), detail.strip()))), mark + missing


def subagent(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Search, choose the sentences that answer the task, write them into a file, and return the first ones."""
    task = object_of(facts.get("task"))
    prompt = text_of(task.get("prompt")).strip()
    if not prompt or "task_name" not in task:
        return None
    question, _, about = prompt.partition("\n\n")
    made = [call for call in calls_made(request.messages) if call.tool != PARALLEL]
    searched = [call for call in made if call.tool != WRITE]
    if not searched:
        calls = _searches(question, about, request)
        return together(calls, request) if calls else request.give_up("no tool takes a query")
    passages = [each for call in searched for each in report.passages_from(call.tool, call.said) if not call.failed]
    chosen = choose(question, passages, about)
    if not chosen.excerpts:
        failed = [call.failed for call in searched if call.failed]
        return request.give_up(failed[0] if len(failed) == len(searched) else f"{NO_SOURCE}{question}")
    text, path = _written(chosen.excerpts), f"{MEMORY}{text_of(task['task_name']).replace('_', '-')}.md"
    missing = NOT_FOUND + ", ".join(chosen.missing) + "." if chosen.missing else ""
    tried = [call for call in made if call.tool == WRITE]
    if not tried and any(tool.name == WRITE for tool in request.tools):
        return Call(WRITE, {"path": path, "content": f"# {question}\n\n{text}{_SOURCES}\n{_sources(chosen)}\n"})
    stored = any(not call.failed for call in tried)
    first = chosen.excerpts[0]
    detail = missing if stored else "\n\n".join(filter(None, (text, missing)))
    given = {"summary": _written([first._replace(sentences=first.sentences[:2])])}
    return {**given, **({"detail": detail} if detail else {}), **({"artifact_path": path} if stored else {})}


def write(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Join what subagents found, or correct the citations of a draft."""
    if "draft" in facts:
        return report.write(facts, request)
    if "question" not in facts or "findings" not in facts:
        return None
    seen, blocks = set[str](), list[str]()
    findings = objects_of(facts["findings"])
    for finding in findings:
        said = (text_of(finding.get("summary")), text_of(finding.get("detail")).partition(NOT_FOUND)[0])
        if text := _without_repeats("\n\n".join(said), seen):
            heading = f"## {text_of(finding.get('task')).replace('_', ' ').capitalize()}"
            blocks += [heading, text] if len(findings) > 1 else [text]
    blocks += [f"No source answered this: {each}" for each in texts_of(facts.get("missing"))]
    late = objects_of(facts.get("unfinished"))
    blocks += [f"Not finished: {text_of(each.get('task'))}: {text_of(each.get('reason'))}" for each in late]
    return "\n\n".join([*(blocks or [UNANSWERED]), report.BYLINE])


# --- calls -----------------------------------------------------------------------------------------------------------


class Made(NamedTuple):
    """A call of the conversation, also one inside ``parallel_tool_call``, and what it returned."""

    tool: str
    args: dict[str, Any]
    said: Json

    @property
    def failed(self) -> str:
        """Why it failed; "" if it did not."""
        said = object_of(self.said)
        return (text_of(said.get("message")) or "it failed") if said.get("isError") is True else ""


def calls_made(messages: Sequence[Message]) -> Iterator[Made]:
    """Every call of a conversation that has a result, in order."""
    results = {each.call_id: each for each in messages if isinstance(each, ToolMessage)}
    for message in messages:
        for call in message.tool_calls if isinstance(message, AssistantMessage) else ():
            if (result := results.get(call.id)) is None:
                continue
            said, args = decoded(result.content), object_of(call.arguments)
            if call.name == PARALLEL:
                for inner, own in zip(objects_of(args.get("calls")), list_of(said), strict=False):
                    yield Made(text_of(inner.get("tool")), object_of(inner.get("args")), decoded(own))
            else:
                yield Made(call.name, args, said)


def together(calls: Sequence[Call], request: OfflineRequest) -> Call:
    """Return one call that makes all of them, if that tool is offered; else the first, and the others follow."""
    if len(calls) == 1 or all(tool.name != PARALLEL for tool in request.tools):
        return calls[0]
    return Call(PARALLEL, {"calls": [{"tool": call.tool, "args": call.args} for call in calls]})


def _searches(question: str, about: str, request: OfflineRequest) -> list[Call]:
    """Searches for the question; for a short part of another one, also with that; for a definition, in glossaries."""
    queries, defined = [question[:500]], _DEFINES.match(question)
    if about and (refers_back(question) or len(content(question)) <= FEW):
        queries.append(" ".join([*content(question), *content(about)])[:500])
    if defined is not None:
        queries.append(f"{defined['what'][:400]} glossary")
    calls = (report.search_call(query, request, max_results=MOST_RESULTS) for query in queries)
    return [call for call in calls if call is not None]


def _path(result: Made) -> str:
    return text_of(object_of(result.said).get("artifact_path")) if not result.failed else ""


# --- texts -----------------------------------------------------------------------------------------------------------


def _written(excerpts: Sequence[Excerpt]) -> str:
    """Return sentences as Markdown with citations: a paragraph for each passage, rows and commands as a list."""
    blocks: list[str] = []
    for excerpt in excerpts:
        for listed, sentences in groupby(excerpt.sentences, key=lambda each: each[1] in (Kind.ROW, Kind.CODE)):
            plain = (text.rstrip(".") if kind is Kind.CODE else text for text, kind in sentences)
            cited = [f"{'- ' * listed}{text} [{excerpt.passage.id}]" for text in plain]
            blocks.append(("\n" if listed else " ").join(cited))
    return "\n\n".join(blocks)


def _sources(chosen: Chosen) -> str:
    cited = {each.passage.id: each.passage for each in chosen.excerpts}
    return "\n".join(
        f"- [{key}] {each.title or each.source}{f', {each.url}' if each.url else ''}" for key, each in cited.items()
    )


def _heading(question: str) -> str:
    """A question as a heading or a todo: it cites nothing."""
    return line(question.translate(str.maketrans("[]", "()")), 200)


def _without_repeats(text: str, seen: set[str]) -> str:
    """Return a text without the cited sentences and lines that were seen before."""
    kept: list[str] = []
    for row in text.split("\n"):
        said = [each for each in re.split(r"(?<=\]) (?=\S)", row) if not each.strip() or each not in seen]
        seen.update(each for each in said if each.strip())
        kept.append(" ".join(said))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


RULES: Rules = {LEAD: lead, SUBAGENT: subagent, REVIEWER: report.review, WRITER: write}
