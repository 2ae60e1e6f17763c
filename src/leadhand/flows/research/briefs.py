"""The briefs of the roles of a research run: each contains only what the role uses."""

from __future__ import annotations

from typing import Any

from leadhand.core.state import StepState
from leadhand.core.value import compact_json
from leadhand.flows.context_budget import context_budget, tokens
from leadhand.flows.facts import earlier_facts, today
from leadhand.flows.judging import judge_brief
from leadhand.flows.report.briefs import TOKENS_PER_WORD, in_turns, shown_passages
from leadhand.verify.judge import JUDGE

from .options import LEAD, SUBAGENT, WRITER
from .progress import Research, found_nothing, renumbered

MOST_FILES = 50
"""Paths of earlier files in the brief of a lead; filesystem_tree lists all of them."""


def brief(research: Research, step: StepState) -> dict[str, Any]:
    """Return what the worker of a step receives."""
    given, state = step.step.input, research.state
    asked = {"question": research.run.request, **today(state)}
    match step.step.worker:
        case role if role == LEAD:
            return {**asked, "max_subagents": research.run.options.max_subagents, **_earlier(research)}
        case role if role == SUBAGENT:
            return {"task": dict(given), **today(state)}
        case role if role == JUDGE:
            judging = research.judging(given["of"])
            return judge_brief(state, given, judging.claims, judging.material)
        case _:
            most = state.definition.limits.max_output_tokens // TOKENS_PER_WORD
            return {**asked, "most_words": most, **_writing(research, given)}


def _earlier(research: Research) -> dict[str, Any]:
    """Return what earlier runs left: their answer and sources for a follow-up, and the paths of their files."""
    facts = earlier_facts(research.state)
    if files := [each.path for each in research.state.definition.earlier]:
        facts["files"] = files[:MOST_FILES]
    return facts


def _writing(research: Research, given: Any) -> dict[str, Any]:
    """Return what an answer is written from; of a revision, the answer before it and what has to change in it."""
    room = context_budget(research.state, WRITER)
    if "revises" in given:
        remarks = research.judging(given["revises"]).remarks()
        problems = [{"statement": each.claim or None, "problem": each.problem} for each in remarks]
        facts: dict[str, Any] = {"draft": research.text(given["revises"]), "problems": problems}
    else:
        findings = _findings(research, with_details=True)
        if 2 * tokens(findings) > room:  # the other half is for passages
            findings = _findings(research, with_details=False)
        facts = {"findings": findings}
        failed = [(each, each.failure.message) for each in research.unanswered if each.failure is not None]
        if missing := [each.step.name for each, _ in failed if found_nothing(each)]:
            facts["missing"] = missing
        stopped = [{"task": each.step.name, "reason": why} for each, why in failed if not found_nothing(each)]
        if stopped:
            facts["unfinished"] = stopped
    found = in_turns(research.passages, [each.passages for each in research.found.values()])
    return {**facts, "passages": shown_passages(research.passages, found, room - tokens(facts))}


def _findings(research: Research, *, with_details: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for key, each in research.found.items():
        facts = {"task": research.state.steps[key].step.name}
        facts["summary"] = renumbered(each.summary, research.names)
        if with_details and each.detail is not None:
            detail = each.detail if isinstance(each.detail, str) else compact_json(each.detail)
            facts["detail"] = renumbered(detail, research.names)
        found.append(facts)
    return found
