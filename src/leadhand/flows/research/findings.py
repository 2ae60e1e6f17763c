"""What a lead and its subagents found: everything that an answer can cite.

All of it is settled when the lead has ended, and is then read from the lead's step and those of its subagents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from leadhand.core.relations import descendants
from leadhand.core.state import RunState, StepState
from leadhand.core.value import object_of, objects_of, text_of
from leadhand.flows.facts import context_budget, earlier_facts, most_words, today, tokens
from leadhand.flows.passages import Passage, WrittenFile, digest_of
from leadhand.flows.report.briefs import in_turns, shown_passages
from leadhand.flows.seam.results import unfenced

from .replies import written_out
from .workers import LEAD, SUBAGENT, WRITER, Found

MOST_FILES = 50
"""Paths of earlier files in the brief of a lead; filesystem_tree lists all of them."""

Shows = Callable[[RunState, StepState], dict[str, Any]]


class Findings:
    """What a run has found out: the ``passages`` by what a text cites them by, their ids and the paths of files."""

    def __init__(self, state: RunState) -> None:
        self.lead = lead = state.steps[LEAD]
        below = [state.steps[key] for key in descendants(state, LEAD)]
        self.subagents = [each for each in below if each.step.worker == SUBAGENT]
        """In the order in which they were started."""
        self.answered = [each for each in self.subagents if each.ok]
        self.found = {each.key: Found.model_validate(each.value) for each in self.answered}
        self.files: dict[str, Passage] = {}
        """The files that workers wrote and the answer of the lead cites, by path."""
        for each in objects_of(object_of(lead.value).get("files")) if lead.ok else []:
            source, path = digest_of(text := text_of(each.get("text"))), text_of(each.get("path"))
            self.files[path] = WrittenFile(id=f"{source}.0", text=text, title=path, source=source)
        self.passages: Mapping[str, Passage] = {
            passage.id: passage for each in self.found.values() for passage in each.passages
        } | self.files

    @property
    def unanswered(self) -> Iterator[StepState]:
        """The subagents that failed, and whose task no other one carried out."""
        done = {name for each in self.answered for name in _names(each)}
        for each in self.subagents:
            if each.closed and not each.ok and done.isdisjoint(_names(each)):
                yield each

    def text(self, written: StepState | None) -> str:
        """Return an answer; without one, what was found, as a list."""
        if written is not None and written.data is not None:
            return unfenced(written.data.summary)
        return "\n\n".join(f"## {each.step.name}\n\n{self.found[each.key].summary}" for each in self.answered)


def _names(subagent: StepState) -> tuple[str, str]:
    """Return what names the task of a subagent; another one with one of these names has the same task."""
    return subagent.step.title.strip().casefold(), subagent.step.key


# --- what the workers are shown --------------------------------------------------------------------------------------


def for_lead(state: RunState, _: StepState) -> dict[str, Any]:
    """Return the question, and what earlier runs left: their answer and the paths of their files."""
    most = state.definition.options["max_subagents"]
    facts = {**_asked(state), "max_subagents": most, **earlier_facts(state)}
    files = [each.path for each in state.definition.earlier]
    return {**facts, "files": files[:MOST_FILES]} if files else facts


def for_subagent(state: RunState, step: StepState) -> dict[str, Any]:
    return {"task": dict(step.step.input), **today(state)}


def for_answer(findings: Findings) -> Shows:
    """Return what shows a writer what an answer is written from, with as many passages as fit."""

    def shows(state: RunState, _: StepState) -> dict[str, Any]:
        room = context_budget(state, WRITER)
        found = [(each.step.name, findings.found[each.key]) for each in findings.answered]
        facts: dict[str, Any] = {
            **_asked(state),
            "most_words": most_words(state),
            "findings": [
                {"task": name, "summary": each.summary}
                | ({} if each.detail is None else {"detail": written_out(each.detail)})
                for name, each in found
            ],
        }
        if 2 * tokens(facts) > room:  # the other half is for passages
            facts["findings"] = [{"task": name, "summary": each.summary} for name, each in found]
        failed = ((each.step.name, each.failure) for each in findings.unanswered)
        if missing := [{"task": name, "reason": why.message} for name, why in failed if why is not None]:
            facts["missing"] = missing
        order = in_turns([passage.id for passage in each.passages] for _, each in found)
        return {**facts, "passages": shown_passages(findings.passages, order, room - tokens(facts))}

    return shows


def _asked(state: RunState) -> dict[str, Any]:
    return {"question": state.definition.request, **today(state)}
