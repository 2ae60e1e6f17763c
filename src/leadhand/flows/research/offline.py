"""The rules of the built-in rule-based model for research: it copies sentences of its sources and concludes nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from leadhand.domain.artifact import MEMORY
from leadhand.domain.conversation import ToolMessage
from leadhand.domain.passages import Passage, passages_in
from leadhand.domain.relevance import is_among, stems
from leadhand.domain.value import object_of, objects_of, text_of, texts_of
from leadhand.flows.offline.made import PARALLEL, Made, calls_made, together
from leadhand.flows.offline.rendering import short
from leadhand.flows.offline.rule import Call, OfflineRequest, Reply, Rules
from leadhand.flows.report import offline as report
from leadhand.flows.report.sentences import Kind

from .excerpts import Chosen, choose
from .options import LEAD, REVIEWER, SUBAGENT, WRITER
from .questions import NOTHING_ASKED, answer_at_once, content, names_nothing, parts, refers_back

TREE, READ, WRITE = "filesystem_tree", "filesystem_read", "filesystem_write"
TODOS, RUN = "todo_list_write", "subagent_run"
BUDGET = 6
"""Tool calls of a subagent: its searches, and its file."""
MOST_FILES = 4
"""Artifacts of earlier runs that are read."""
MOST_RESULTS = 10
LONGEST = 5_000
"""Characters of a question in the prompt of a subagent."""
FEW = 3
"""Words of a question that are too few to search for, if it is part of another one."""
NOT_FOUND = "Nothing was found about: "
KNOWN = "What is known about "
NO_SOURCE = "no source that was found answers: "
UNANSWERED = "No source that was found answers this."
UNFINISHED = "This was not finished: "
NOT_BEGUN = "This was not researched: the limit of subagents was reached."
_SOURCES = "\n\n## Sources\n"
_MARK = re.compile(r"\s*\[[0-9a-f]{8}\.\d{1,5}(?:, [0-9a-f]{8}\.\d{1,5})*\]")
_DEFINES = re.compile(r"(?:what|who) (?:is|are|was|were) (?:known about )?(?:an? |the )?(?P<what>[^?]+)", re.IGNORECASE)


def lead(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Plan the parts of a question, have each researched unless a file answers it, and join what was found."""
    question = text_of(facts.get("question"))
    if "question" not in facts or all(tool.name != RUN for tool in request.tools):
        return None
    at_once = answer_at_once(question)
    if at_once and not (at_once == NOTHING_ASKED and "earlier" in facts and question.rstrip().endswith("?")):
        return at_once
    if "earlier" not in facts and names_nothing(question):
        return request.give_up(f"the question does not say what it is about: {question}")
    research = _Research(facts, request)
    wanted = research.wanted()
    if wanted:
        return together(wanted, request)
    return research.answer() or request.give_up(f"{NO_SOURCE}{question}")


class _Part(NamedTuple):
    """A part of the question: the name of its task, the words of the part, and the prompt of its subagent."""

    name: str
    question: str
    prompt: str


class _Research:
    """What a lead has done so far, as its conversation shows it."""

    def __init__(self, facts: Mapping[str, Any], request: OfflineRequest) -> None:
        whole = " ".join(text_of(facts.get("question")).split())
        before = text_of(object_of(facts.get("earlier")).get("request")).strip()
        most = facts.get("max_subagents")
        self._most = most if isinstance(most, int) else MOST_FILES
        self._made = list(calls_made(request.messages))
        asked = parts(whole) if not (before and refers_back(whole)) else [whole]
        self._parts: list[_Part] = []
        for part in asked:
            is_rest = len(asked) > 1 and part.rstrip("?").casefold() in whole.casefold()
            context = [f"It is part of this question: {whole[:LONGEST]}"] if is_rest else []
            context += [f"The question before it was: {before[:LONGEST]}"] if before else []
            self._parts.append(
                _Part(_name(part, len(self._parts)), part, "\n\n".join([part[:LONGEST], "\n".join(context)]).strip())
            )

    def wanted(self) -> list[Call]:
        """Return the next calls; none when all is done that can be done."""
        if not self._of(TODOS):
            return [self._todos(), Call(TREE, {"max_depth": 3})]
        read = {text_of(call.args.get("path")) for call in self._of(READ)}
        files = [] if self._of(RUN) else [path for path in self._fitting() if path not in read]
        if files:
            return [Call(READ, {"path": path}) for path in files]
        written = [path for path in map(_path, self._results.values()) if path and path not in read]
        if written:
            return [*(Call(READ, {"path": path}) for path in written), *self._changed_todos()]
        open_ = [part for part in (*self._parts, *self._follow_ups) if part.name not in self._results]
        runs = [_run(part) for part in open_ if part not in self._answered]
        room = max(0, self._most - len(self._results))
        if runs and room:
            return [*self._changed_todos(running=True), *runs[:room]]
        return self._changed_todos()

    @cached_property
    def _results(self) -> dict[str, Made]:
        """The results of subagents by the name of their task."""
        return {text_of(object_of(call.args.get("task")).get("task_name")): call for call in self._of(RUN)}

    @cached_property
    def _files(self) -> dict[str, str]:
        """The text of the files that were read."""
        read = self._of(READ)
        return {text_of(call.args.get("path")): text_of(call.message) for call in read if not call.failed}

    @cached_property
    def _answered(self) -> dict[_Part, Chosen]:
        """The parts that files of earlier runs answer."""
        own = {_path(result) for result in self._results.values()}
        known = [_as_passage(path, text) for path, text in self._files.items() if path not in own]
        found = {part: choose(part.question, known, _about(part.prompt)) for part in self._parts}
        return {part: chosen for part, chosen in found.items() if chosen.excerpts and not chosen.missing}

    @cached_property
    def _follow_ups(self) -> list[_Part]:
        """One further task for each part of which the sources lack words."""
        further: list[_Part] = []
        for part in self._parts:
            words = self._missing(part)
            if words:
                question = f"{KNOWN}{', '.join(words)}?"
                prompt = f"{question}\n\nIt follows up on: {part.question}"
                further.append(_Part(_name(question, len(self._parts) + len(further)), question, prompt))
        return further

    def _missing(self, part: _Part) -> list[str]:
        """The words of a part that no source of its subagent has."""
        result = self._results.get(part.name)
        detail = text_of(object_of(result.said).get("detail")) if result is not None else ""
        said = detail.rpartition(NOT_FOUND)[2] if NOT_FOUND in detail else ""
        return [word for word in said.rstrip(".\n").split(", ") if word]

    def _fitting(self) -> list[str]:
        """The files of earlier runs whose names have words of the question, the best first."""
        listed = [each for call in self._of(TREE) for each in objects_of(call.message)]
        asked = [set(stems(" ".join(content(part.question)))) for part in self._parts]
        fits: dict[str, float] = {}
        for entry in listed:
            path = text_of(entry.get("path"))
            named = set(stems(re.sub(r"[\W_]+", " ", path.removeprefix(MEMORY).rpartition(".")[0])))
            shares = [sum(is_among(stem, named) for stem in words) / max(1, len(words)) for words in asked]
            if path.endswith((".md", ".txt")) and max(shares, default=0) >= 0.5:
                fits[path] = max(shares)
        return sorted(fits, key=lambda path: -fits[path])[:MOST_FILES]

    def _of(self, tool: str) -> list[Made]:
        return [call for call in self._made if call.tool == tool]

    def _todos(self, *, running: bool = False) -> Call:
        todos: list[dict[str, str]] = []
        for number, part in enumerate((*self._parts, *self._follow_ups), start=1):
            result = self._results.get(part.name)
            done = part in self._answered or (result is not None and not result.failed)
            status = "completed" if done else "in_progress" if running and result is None else "pending"
            todos.append({"id": str(number), "content": _heading(part.question), "status": status})
        return Call(TODOS, {"todos": todos})

    def _changed_todos(self, *, running: bool = False) -> list[Call]:
        todos = self._todos(running=running)
        return [todos] if self._of(TODOS)[-1].args != todos.args else []

    # --- the answer ---------------------------------------------------------------------------------------------------

    def answer(self) -> str:
        """Return what was found for each part, and what was not; "" if nothing was found at all."""
        seen = set[str]()
        texts = {part: _without_repeats(self._found(part), seen) for part in (*self._parts, *self._follow_ups)}
        if not any(texts.values()):
            return ""
        blocks: list[str] = []
        for part, text in texts.items():
            about = part.question.removeprefix(KNOWN).rstrip("?")
            if part in self._follow_ups:
                blocks += [f"## About: {about}", text] if text else [f"{NOT_FOUND}{about}."]
                continue
            blocks += [f"## {_heading(part.question)}"] if len(self._parts) > 1 else []
            blocks.append(text or ("See above." if self._found(part) else self._why_not(part)))
        return "\n\n".join([*blocks, report.BYLINE])

    def _why_not(self, part: _Part) -> str:
        """Why a part has no answer: no source has one, or a limit or an error stopped its subagent."""
        result = self._results.get(part.name)
        if result is None:
            return NOT_BEGUN
        failed = result.failed
        return f"{UNFINISHED}{failed}." if failed and not failed.startswith(NO_SOURCE) else UNANSWERED

    def _found(self, part: _Part) -> str:
        """What was found for a part, with citations: its file, else the result of its subagent."""
        if part in self._answered:
            return _written(self._answered[part])
        result = self._results.get(part.name)
        if result is None or result.failed:
            return ""
        said = object_of(result.said)
        text = self._files.get(_path(result), "").removeprefix("\ufeff")
        if text:
            return re.sub(r"\A# .*\n+", "", text).partition(_SOURCES)[0].strip()
        return "\n\n".join(
            filter(None, (text_of(said.get("summary")), text_of(said.get("detail")).partition(NOT_FOUND)[0].strip()))
        )


def subagent(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Search, choose the sentences that answer the task, write them into a file, and return the first ones."""
    task = object_of(facts.get("task"))
    prompt = text_of(task.get("prompt")).strip()
    if not prompt or "task_name" not in task:
        return None
    question, about = prompt.partition("\n\n")[0], _about(prompt)
    made = [call for call in calls_made(request.messages) if call.tool != PARALLEL]
    searched = [call for call in made if call.tool != WRITE]
    if not searched:
        calls = list(_searches(question, about, request))
        return together(calls, request) if calls else request.give_up("no tool takes a query")
    passages = [passage for call in searched for passage in _passages(call)]
    chosen = choose(question, passages, about)
    if not chosen.excerpts:
        failed = [call.failed for call in searched if call.failed]
        why = failed[0] if len(failed) == len(searched) else f"{NO_SOURCE}{question}"
        return request.give_up(why)
    text, path = _written(chosen), f"{MEMORY}{text_of(task['task_name']).replace('_', '-')}.md"
    missing = NOT_FOUND + ", ".join(chosen.missing) + "." if chosen.missing else ""
    tried = [call for call in made if call.tool == WRITE]
    if not tried and any(tool.name == WRITE for tool in request.tools):
        return Call(WRITE, {"path": path, "content": f"# {question}\n\n{text}{_SOURCES}\n{_sources(chosen)}\n"})
    stored = any(not call.failed for call in tried)
    excerpt = chosen.excerpts[0]
    summary = _written(Chosen((excerpt._replace(sentences=excerpt.sentences[:2]),), ()))
    detail = missing if stored else "\n\n".join(filter(None, (text, missing)))
    given = {"summary": summary, "detail": detail or None, "artifact_path": path if stored else None}
    return {name: value for name, value in given.items() if value is not None}


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
        text = _without_repeats("\n\n".join(said), seen)
        if text and len(findings) > 1:
            blocks.append(f"## {text_of(finding.get('task')).replace('_', ' ').capitalize()}")
        blocks += [text] if text else []
    missing = texts_of(facts.get("missing"))
    blocks += [f"No source answered this: {each}" for each in missing]
    unfinished = objects_of(facts.get("unfinished"))
    blocks += [f"Not finished: {text_of(each.get('task'))}: {text_of(each.get('reason'))}" for each in unfinished]
    return "\n\n".join([*(blocks or [UNANSWERED]), report.BYLINE])


# --- calls -----------------------------------------------------------------------------------------------------------


def _searches(question: str, about: str, request: OfflineRequest) -> Iterator[Call]:
    """Searches for the question; for a short part of another one, also with that; for a definition, in glossaries."""
    call = report.search_call(question[:500], request)
    if call is None:
        return
    tool = next(tool for tool in request.tools if tool.name == call.tool)
    more = {"max_results": MOST_RESULTS} if "max_results" in object_of(tool.parameters.get("properties")) else {}
    yield Call(call.tool, {**call.args, **more})
    (name,) = call.args
    if any(tool.name == PARALLEL for tool in request.tools):
        if about and (refers_back(question) or len(content(question)) <= FEW):
            yield Call(call.tool, {name: " ".join([*content(question), *content(about)])[:500], **more})
        defined = _DEFINES.match(question)
        if defined is not None:
            yield Call(call.tool, {name: f"{defined['what'][:400]} glossary"})


def _run(part: _Part) -> Call:
    task = {
        "task_name": part.name,
        "prompt": part.prompt,
        "description": f"Find sentences of sources that answer: {part.question}"[:2_000],
        "tool_budget": BUDGET,
    }
    return Call(RUN, {"task": task})


def _passages(call: Made) -> list[Passage]:
    content = call.said if isinstance(call.said, str) else json.dumps(call.said)
    message = ToolMessage(call_id="", name=call.tool, content=content, ok=not call.failed)
    return passages_in(report.result_of(message))


def _path(result: Made) -> str:
    return text_of(object_of(result.said).get("artifact_path")) if not result.failed else ""


def _about(prompt: str) -> str:
    """What a task is part of: the text behind its first paragraph, without the words that introduce it."""
    lines = prompt.partition("\n\n")[2].splitlines()
    return " ".join(line.partition(": ")[2] or line for line in lines)


def _name(question: str, number: int) -> str:
    return "_".join(content(question)[:6])[:60] or f"part_{number + 1}"


# --- texts -----------------------------------------------------------------------------------------------------------


def _written(chosen: Chosen) -> str:
    """Return sentences as Markdown with citations: a paragraph for each passage, rows and commands as a list."""
    blocks: list[str] = []
    for excerpt in chosen.excerpts:
        last = ""
        for sentence, kind in excerpt.sentences:
            cited = f"{sentence.rstrip('.') if kind is Kind.CODE else sentence} [{excerpt.passage.id}]"
            form = "\n- " if kind in (Kind.ROW, Kind.CODE) else " "
            if form == last:
                blocks[-1] += f"{form}{cited}"
            else:
                blocks.append(f"{form.strip()} {cited}".strip())
            last = form
    return "\n\n".join(blocks)


def _sources(chosen: Chosen) -> str:
    cited = {each.passage.id: each.passage for each in chosen.excerpts}
    return "\n".join(
        f"- [{key}] {each.title or each.source}{f', {each.url}' if each.url else ''}" for key, each in cited.items()
    )


def _heading(question: str) -> str:
    """A question as a heading or a todo: it cites nothing."""
    return short(question.translate(str.maketrans("[]", "()")), 200)


def _as_passage(path: str, text: str) -> Passage:
    """Return a file of an earlier run as one passage, which is cited by its path, without its own citations."""
    return Passage(id=path, text=_MARK.sub("\n\n", text.partition(_SOURCES)[0]))


def _without_repeats(text: str, seen: set[str]) -> str:
    """Return a text without the cited sentences and lines that were seen before."""
    kept: list[str] = []
    for line in text.split("\n"):
        said = [each for each in re.split(r"(?<=\]) (?=\S)", line) if not each.strip() or each not in seen]
        seen.update(each for each in said if each.strip())
        kept.append(" ".join(said))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


RULES: Rules = {LEAD: lead, SUBAGENT: subagent, REVIEWER: report.review, WRITER: write}
