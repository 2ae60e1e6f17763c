"""The rules of the built-in rule-based model for research: it copies sentences of its sources and concludes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from leadhand.core.artifact import MEMORY
from leadhand.core.conversation import AssistantMessage, Message, ToolMessage
from leadhand.core.text import line
from leadhand.core.value import Json, list_of, object_of, objects_of, text_of, texts_of
from leadhand.flows.offline.rendering import decoded
from leadhand.flows.offline.rule import Call, OfflineRequest, Reply, Rules
from leadhand.flows.offline.words import FUNCTION, GREETINGS
from leadhand.flows.passages import Passage
from leadhand.flows.report import offline as report

from .options import LEAD, SUBAGENT, WRITER

READ, WRITE = "filesystem_read", "filesystem_write"
TODOS, RUN, PARALLEL = "todo_list_write", "subagent_run", "parallel_tool_call"
BUDGET = 6  # tool calls of a subagent: its searches, and its file
MOST_RESULTS, MOST_SENTENCES, MOST_PARTS = 10, 6, 12
LONGEST = 5_000  # characters of a question in the prompt of a subagent
NO_SOURCE = "no source that was found answers: "
UNANSWERED = "No source that was found answers this."
UNFINISHED = "This was not finished: "
NOTHING_ASKED = (
    "This is Leadhand's built-in rule-based model (offline, no LLM). It answers questions with sentences of documents:"
    " Leadhand's own documentation, sample documents, and your own with `--documents DIR`. Ask a question that names"
    " what it is about."
)
_SOURCES = "\n\n## Sources\n"
_WORD = re.compile(r"\w{3,}")
_PART = re.compile(r"(?<=[?!;])\s+|\n+")


def lead(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Have each part of a question researched, and join what was found."""
    question = text_of(facts.get("question"))
    if "question" not in facts or all(tool.name != RUN for tool in request.tools):
        return None
    if not _content(question) and "earlier" not in facts:
        return NOTHING_ASKED
    research = _Research(facts, request)
    if wanted := research.wanted():
        return together(wanted, request)
    return research.answer() or request.give_up(f"{NO_SOURCE}{question}")


def _content(text: str) -> set[str]:
    """Return the words of a text that say what it is about."""
    return {word for word in map(str.casefold, _WORD.findall(text)) if word not in FUNCTION | GREETINGS}


class _Research:
    """What a lead has done so far, as its conversation shows it."""

    def __init__(self, facts: Mapping[str, Any], request: OfflineRequest) -> None:
        whole = " ".join(text_of(facts.get("question")).split())
        before = text_of(object_of(facts.get("earlier")).get("request")).strip()
        made = list(calls_made(request.messages))
        self._results = {
            text_of(object_of(each.args.get("task")).get("task_name")): each for each in made if each.tool == RUN
        }
        self._files = {
            text_of(each.args.get("path")): text_of(decoded(object_of(each.said).get("message")))
            for each in made
            if each.tool == READ
        }
        self._todos = next((each.args for each in reversed(made) if each.tool == TODOS), None)
        parts = [part for part in _PART.split(text_of(facts.get("question")).strip()) if _content(part)][:MOST_PARTS]
        self._tasks: dict[str, dict[str, Any]] = {}
        for part in parts or [whole]:
            name = "_".join(sorted(_content(part), key=part.casefold().find)[:6])[:60] or f"part_{len(self._tasks) + 1}"
            prompt = "\n\n".join([part[:LONGEST], *([f"About: {before[:LONGEST]}"] if before else [])])
            description = f"Find sentences of sources that answer: {part}"[:2_000]
            self._tasks[name] = {"task_name": name, "prompt": prompt, "tool_budget": BUDGET, "description": description}

    def wanted(self) -> list[Call]:
        """Return the next calls; none when all is done that can be done."""
        written = [path for path in map(_path, self._results.values()) if path]
        if files := [Call(READ, {"path": path}) for path in written if path not in self._files]:
            return [*files, *self._changed_todos()]
        runs = [Call(RUN, {"task": task}) for name, task in self._tasks.items() if name not in self._results]
        return [*self._changed_todos(running=bool(runs)), *runs]

    def _changed_todos(self, *, running: bool = False) -> list[Call]:
        todos: list[dict[str, str]] = []
        for number, (name, task) in enumerate(self._tasks.items(), start=1):
            result = self._results.get(name)
            done = result is not None and not result.failed
            status = "completed" if done else "in_progress" if running and result is None else "pending"
            todos.append({"id": str(number), "content": _heading(task), "status": status})
        return [Call(TODOS, {"todos": todos})] if self._todos != {"todos": todos} else []

    def answer(self) -> str:
        """Return what was found for each part, and what was not; "" if nothing was found at all."""
        blocks, anything = list[str](), False
        for name, task in self._tasks.items():
            result = self._results.get(name)
            text = self._found(result) if result is not None and not result.failed else ""
            why = UNANSWERED
            if result is not None and result.failed and not result.failed.startswith(NO_SOURCE):
                why = f"{UNFINISHED}{result.failed}."
            blocks += [f"## {_heading(task)}"] if len(self._tasks) > 1 else []
            blocks.append(text or why)
            anything = anything or bool(text)
        return "\n\n".join([*blocks, report.BYLINE]) if anything else ""

    def _found(self, result: Made) -> str:
        """What a subagent found, with citations, in its file or its result."""
        said = object_of(result.said)
        if text := self._files.get(_path(result), "").removeprefix("\ufeff"):
            return re.sub(r"\A# .*\n+", "", text).partition(_SOURCES)[0].strip()
        return "\n\n".join(filter(None, (text_of(said.get("summary")), text_of(said.get("detail")).strip())))


def subagent(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Search, choose the sentences that answer the task, write them into a file, and return the first ones."""
    task = object_of(facts.get("task"))
    prompt = text_of(task.get("prompt")).strip()
    if not prompt or "task_name" not in task:
        return None
    question = prompt.partition("\n\n")[0]
    made = [call for call in calls_made(request.messages) if call.tool != PARALLEL]
    searched = [call for call in made if call.tool != WRITE]
    if not searched:
        call = report.search_call(" ".join(prompt.split())[:500], request, max_results=MOST_RESULTS)
        return call or request.give_up("no tool takes a query")
    passages = [each for call in searched for each in report.passages_from(call.tool, call.said) if not call.failed]
    chosen = _chosen(prompt, passages)
    if not chosen:
        failed = [call.failed for call in searched if call.failed]
        return request.give_up(failed[0] if len(failed) == len(searched) else f"{NO_SOURCE}{question}")
    text = "\n\n".join(f"{sentence} [{passage.id}]" for sentence, passage in chosen)
    path = f"{MEMORY}{text_of(task['task_name']).replace('_', '-')}.md"
    tried = [call for call in made if call.tool == WRITE]
    if not tried and any(tool.name == WRITE for tool in request.tools):
        listed = "\n".join(f"- [{each.id}] {each.title or each.source}" for _, each in chosen)
        return Call(WRITE, {"path": path, "content": f"# {question}\n\n{text}{_SOURCES}\n{listed}\n"})
    summary = " ".join(f"{sentence} [{passage.id}]" for sentence, passage in chosen[:2])
    stored = any(not call.failed for call in tried)
    return {"summary": summary, **({"artifact_path": path} if stored else {"detail": text})}


def _chosen(question: str, passages: Sequence[Passage]) -> list[tuple[str, Passage]]:
    """Return the sentences that share most words with a question, at least half of them with their passage."""
    asked = _content(question)
    known = {sentence: passage for passage in passages for sentence in report.sentences(passage.text)}
    near = {sentence: _content(f"{sentence} {each.title} {each.text}") & asked for sentence, each in known.items()}
    fitting = [sentence for sentence in known if 2 * len(near[sentence]) > len(asked)]
    best = sorted(fitting, key=lambda each: -2 * len(_content(each) & asked) - len(near[each]))
    return [(sentence, known[sentence]) for sentence in best[:MOST_SENTENCES] if _content(sentence) & asked]


def write(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Join what subagents found; a draft stays as it is."""
    if "draft" in facts:
        return report.write(facts, request)
    if "question" not in facts or "findings" not in facts:
        return None
    blocks: list[str] = []
    findings = objects_of(facts["findings"])
    for finding in findings:
        text = "\n\n".join(filter(None, (text_of(finding.get("summary")), text_of(finding.get("detail")))))
        heading = f"## {text_of(finding.get('task')).replace('_', ' ').capitalize()}"
        blocks += [heading, text] if len(findings) > 1 else [text]
    blocks += [f"No source answered this: {each}" for each in texts_of(facts.get("missing"))]
    late = objects_of(facts.get("unfinished"))
    blocks += [f"Not finished: {text_of(each.get('task'))}: {text_of(each.get('reason'))}" for each in late]
    return "\n\n".join([*(blocks or [UNANSWERED]), report.BYLINE])


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


def _path(result: Made) -> str:
    return text_of(object_of(result.said).get("artifact_path")) if not result.failed else ""


def _heading(task: Mapping[str, Any]) -> str:
    """The question of a task as a heading or a todo: it cites nothing."""
    question = text_of(task["prompt"]).partition("\n\n")[0]
    return line(question.translate(str.maketrans("[]", "()")), 200)


RULES: Rules = {LEAD: lead, SUBAGENT: subagent, WRITER: write}
