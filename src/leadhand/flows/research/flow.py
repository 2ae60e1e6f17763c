"""The research flow: a lead that plans, dispatches subagents and answers, in a loop that it ends itself.

::

    lead ─▶ todos, files, subagents (its children, in parallel) ─▶ answer ─▶ judge ─▶ end
      │                                                                 ▲         │
      └── a limit ends it ─▶ answer-1, from what was found              └─────────┘  contradicted: answer-n,
                                                                                     at most max_revisions
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leadhand.core.artifact import MEMORY
from leadhand.core.commands import Command, Finish, IssueStep, Outcome
from leadhand.core.errors import UsageError
from leadhand.core.state import StepState
from leadhand.core.tool import CallState
from leadhand.core.value import Json, compact_json, object_of, text_of
from leadhand.core.worker import Worker
from leadhand.flows.flow import Flow, Result
from leadhand.flows.judging import judge_reply
from leadhand.flows.passages import message_of, of_passages, passages_in
from leadhand.flows.run_view import RunView, StepView
from leadhand.verify.claims import citations_in
from leadhand.verify.judge import JUDGE, reply_schema
from leadhand.verify.material import Material

from .answer import advised, outcome
from .briefs import brief
from .offline import RULES
from .options import LEAD, SUBAGENT, WRITER, Options
from .progress import Research, answer_key
from .roles import roles
from .shapes import Found, memory_path

MOST_PASSAGES = 40
"""Passages that are recorded of one subagent."""
LONGEST_FILE = 20_000
"""Characters of a file of an earlier run that are kept as what an answer cites."""
MORE = "\n\n[… "
"""How the note begins with which filesystem_read ends a part of a long file."""


class ResearchFlow(Flow):
    """Answer a question by research: a lead plans and dispatches subagents, which search; the answer cites passages."""

    name = "research"
    version = 1
    description = "Answer a question by research: a lead with todos and files dispatches subagents that search."
    offline = RULES
    Options = Options
    reads_artifacts = True

    def roles(self, options: Options) -> Sequence[Worker]:
        return roles(options)

    def next(self, run: RunView[Options]) -> Sequence[Command]:
        return _next(Research(run))

    def brief(self, run: RunView[Options], step: StepState) -> dict[str, Any]:
        return brief(Research(run), step)

    def problems(self, run: RunView[Options], step: StepView, result: Result) -> list[str]:
        return _subagent_problems(result) if step.worker == SUBAGENT else []

    def accepted(self, run: RunView[Options], step: StepView, result: Result) -> Json:
        if step.worker == SUBAGENT:
            return _with_passages(result)
        if step.worker == LEAD:
            return _with_files(result)
        if step.worker == JUDGE:
            claims = Research(run).judging(step.input["of"]).claims
            return judge_reply(run.state, step.input, claims, result.value, result.brief)
        return result.value

    def schema(self, run: RunView[Options], step: StepState) -> dict[str, Any] | None:
        given = step.step
        return reply_schema(given.input["claims"]) if given.worker == JUDGE else None

    def material(self, run: RunView[Options]) -> Material | None:
        research = Research(run)
        return None if research.direct else of_passages(run.state, research.passages)

    def outcome(self, run: RunView[Options]) -> Outcome:
        return outcome(Research(run))


# --- what happens next -----------------------------------------------------------------------------------------------


def _next(research: Research) -> Sequence[Command]:
    lead = research.lead
    if lead is None:
        return [IssueStep(id=LEAD, worker=LEAD, title="lead", final=True)]
    if research.run.open:
        return []
    number = research.last
    if number is None:
        if research.answers or not research.found:
            return [Finish(failure=advised(research, lead.failure) if lead.failure is not None else None)]
        return [_answer(research, "answer from what was found", {})]
    if research.direct:
        return [Finish()]
    judging = research.judging(number)
    if judging.round.wanted or judging.round.is_open:
        return judging.round.wanted
    refused = any(later > number for later in research.answers)  # the revision of this answer failed
    if research.revisions < research.run.options.max_revisions and not refused and any(judging.remarks()):
        return [_answer(research, f"revision {research.revisions + 1} of the answer", {"revises": number})]
    again = judging.again
    return again.wanted if again.wanted or again.is_open else [Finish()]


def _answer(research: Research, title: str, given: dict[str, Any]) -> IssueStep:
    number = len(research.written) + 1
    return IssueStep(id=answer_key(number), worker=WRITER, title=title, input={"number": number, **given}, final=True)


# --- what subagents and the lead found -------------------------------------------------------------------------------


def _subagent_problems(result: Result) -> list[str]:
    value = object_of(result.value)
    recorded = value.get("passages")
    known = {each["id"] for each in recorded} if recorded is not None else _returned(result).keys()
    named = _cited_ids(_said(value))
    found = [f"it names the passage {name}, which no tool returned" for name in named if name not in known]
    if len(named) > MOST_PASSAGES:
        found.append(f"it names {len(named)} passages, and the limit is {MOST_PASSAGES}")
    if path := text_of(value.get("artifact_path")):
        written = [name for name, _ in _written(result.calls)]
        if _path(path) not in written:
            there = f"it wrote {', '.join(written)}" if written else "it wrote no file"
            found.append(f"artifact_path names {path}, which this subagent did not write: {there}")
    return found[:8]


def _with_passages(result: Result) -> Json:
    """Return the result of a subagent with the passages that it and its files name, as the tools returned them."""
    value = object_of(result.value)
    returned = _returned(result)
    named = _cited_ids("\n".join([_said(value), *(content for _, content in _written(result.calls))]))
    passages = [returned[name] for name in named if name in returned][:MOST_PASSAGES]
    path = text_of(value.get("artifact_path"))
    found = Found(
        summary=text_of(value.get("summary")),
        detail=value.get("detail"),
        artifact_path=_path(path) if path else None,
        passages=tuple(passages),
    )
    return found.model_dump(mode="json")


def _cited_ids(text: str) -> list[str]:
    """Return the ids of passages that a text cites, each once, in their order."""
    names = (name for citation in citations_in(text) for name in citation.ids)
    return list(dict.fromkeys(name for name in names if not name.startswith(MEMORY)))


def _said(value: dict[str, Any]) -> str:
    detail = value.get("detail")
    return f"{text_of(value.get('summary'))}\n{detail if isinstance(detail, str) else compact_json(detail)}"


def _returned(result: Result) -> dict[str, Any]:
    return {passage.id: passage for call in result.calls for passage in passages_in(call)}


def _written(calls: Sequence[CallState]) -> list[tuple[str, str]]:
    """Return the files that a subagent wrote, each with its content."""
    return [
        (_path(text_of(call.args.get("path"))), text_of(call.args.get("content")))
        for call in calls
        if call.tool == "filesystem_write" and call.ok
    ]


def _path(given: str) -> str:
    try:
        return memory_path(given)
    except UsageError:
        return given


def _with_files(result: Result) -> Json:
    """Return the files that an answer cites, as the lead read them; None without any."""
    cited = {name for citation in citations_in(result.text) for name in citation.ids}
    read: dict[str, str] = {}
    for call in result.calls:
        path = _path(text_of(call.args.get("path")))
        if call.tool == "filesystem_read" and call.ok and path in cited:
            said = message_of(call.raw)
            text = said if isinstance(said, str) else compact_json(said)
            text = text.rpartition(MORE)[0] if MORE in text and text.endswith("]") else text
            read[path] = read.get(path, "") + text
    files = [{"path": path, "text": text[:LONGEST_FILE]} for path, text in read.items()]
    return {"files": files} if files else None
