"""What the workers of a research run are shown: each only what it uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from leadhand.core.state import RunState, StepState
from leadhand.core.value import Json
from leadhand.flows.context_budget import context_budget, tokens
from leadhand.flows.facts import earlier_facts, today
from leadhand.flows.report.briefs import TOKENS_PER_WORD, in_turns, shown_passages

from .findings import Findings, found_nothing, renumbered
from .options import WRITER
from .shapes import written_out

MOST_FILES = 50
"""Paths of earlier files in the brief of a lead; filesystem_tree lists all of them."""

Shows = Callable[[RunState, StepState], dict[str, Any]]


def for_lead(state: RunState, _: StepState) -> dict[str, Any]:
    """Return the question, and what earlier runs left: their answer and the paths of their files."""
    most = state.definition.options["max_subagents"]
    facts = {**_asked(state), "max_subagents": most, **earlier_facts(state)}
    files = [each.path for each in state.definition.earlier]
    return {**facts, "files": files[:MOST_FILES]} if files else facts


def for_subagent(state: RunState, step: StepState) -> dict[str, Any]:
    return {"task": dict(step.step.input), **today(state)}


def for_answer(findings: Findings) -> Shows:
    """Return what shows a writer what an answer is written from."""

    def shows(state: RunState, _: StepState) -> dict[str, Any]:
        facts: dict[str, Any] = {"findings": _findings(findings, with_details=True)}
        if 2 * tokens(facts) > context_budget(state, WRITER):  # the other half is for passages
            facts = {"findings": _findings(findings, with_details=False)}
        failed = [(each.step.name, each.failure) for each in findings.unanswered if each.failure is not None]
        if missing := [name for name, why in failed if found_nothing(why)]:
            facts["missing"] = missing
        if stopped := [{"task": name, "reason": why.message} for name, why in failed if not found_nothing(why)]:
            facts["unfinished"] = stopped
        return _writing(state, findings, facts)

    return shows


def for_revision(findings: Findings, draft: str, problems: Sequence[Json]) -> Shows:
    """Return what shows a writer an answer, and what has to change in it."""
    return lambda state, _: _writing(state, findings, {"draft": draft, "problems": [*problems]})


def _asked(state: RunState) -> dict[str, Any]:
    return {"question": state.definition.request, **today(state)}


def _writing(state: RunState, findings: Findings, facts: dict[str, Any]) -> dict[str, Any]:
    """Return what a writer is shown, with as many passages as fit."""
    most = state.definition.limits.max_output_tokens // TOKENS_PER_WORD
    found = in_turns(findings.passages, [each.passages for each in findings.found.values()])
    passages = shown_passages(findings.passages, found, context_budget(state, WRITER) - tokens(facts))
    return {**_asked(state), "most_words": most, **facts, "passages": passages}


def _findings(findings: Findings, *, with_details: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for subagent in findings.answered:
        each = findings.found[subagent.key]
        facts = {"task": subagent.step.name, "summary": renumbered(each.summary, findings.names)}
        if with_details and each.detail is not None:
            facts["detail"] = renumbered(written_out(each.detail), findings.names)
        found.append(facts)
    return found
