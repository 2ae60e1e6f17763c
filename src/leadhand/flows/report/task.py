"""The task view of a report: plan, research, drafts, reviews and the final report, as a projection of the state."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import Any

from leadhand.core.state import StepState

from .final import final_report
from .judging import Judged, judged
from .options import Stage
from .progress import Item, Report, revises, stage_key, used_research
from .rendering import link_to


def task(report: Report) -> dict[str, Any]:
    """Return the task of a run. Passages are named by their ids, here and in the drafts."""
    drafts = report.drafts
    latest = report.last
    plan = report.plan
    return {
        "plan": None if plan is None else plan.model_dump(mode="json"),
        "research": _research(report),
        "draft": report.text(latest) or None,
        "feedback": _feedback(judged(report, latest)) if latest else None,
        "final_report": final_report(report) or None,
        "revisions": report.revisions,
        "stages": _stages(report),
        "drafts": [_draft(report, number, draft) for number, draft in enumerate(drafts, start=1)],
        "claims": _claims(report, latest) if latest else [],
        "passages": {
            passage.id: {**passage.model_dump(mode="json"), "link": link_to(passage)}
            for passage in report.passages(report.research).values()
        },
    }


def _research(report: Report) -> list[dict[str, Any]]:
    """Every question with its findings; also those of stages that users added."""
    found: dict[str, list[Item | None]] = {each.key: [None] for each in report.questions}
    for key, items in groupby(report.items(report.research), attrgetter("key")):
        found[key] = [*items]
    lines: list[dict[str, Any]] = []
    for key, item in ((key, item) for key, items in found.items() for item in items):
        step = report.state.steps[key]
        given = step.step.input
        lines.append(
            {
                "key": key,
                "heading": given.get("heading", key) if item is None else item.heading,
                "question": given.get("question", "") if item is None else item.question,
                "status": step.status.value,
                "summary": "" if item is None else item.summary,
                "findings": [] if item is None else [each.model_dump(mode="json") for each in item.findings],
                "passages": [] if item is None else [each.id for each in item.passages],
                "error": step.failure.message if step.failure is not None else None,
            }
        )
    return lines


def _draft(report: Report, number: int, draft: StepState) -> dict[str, Any]:
    verdict = judged(report, number)
    return {
        "key": draft.key,
        "number": number,
        "status": draft.status.value,
        "revises": revises(draft) or None,
        "research": list(used_research(draft)),
        "text": report.text(number) or None,
        "claims": _claims(report, number),
        "reviews": [line for stage in report.rounds if stage.judges for line in _reviews(report, stage, number)],
        **_feedback(verdict),
        "error": draft.failure.message if draft.failure is not None else None,
    }


def _reviews(report: Report, stage: Stage, number: int) -> list[dict[str, Any]]:
    found = [each for each in (report.of(stage_key(stage, number)),) if each is not None]
    return [
        {
            "key": each.key,
            "stage": stage.name,
            "status": each.status.value,
            "answer": each.value if each.ok else None,
            "error": each.failure.message if each.failure is not None else None,
        }
        for each in found
    ]


def _feedback(verdict: Judged) -> dict[str, Any]:
    return {
        "verdict": None if verdict.verdict is None else verdict.verdict.value,
        "findings": [
            {"by": each.by, "claim": each.n, "text": each.claim or None, "problem": each.problem}
            for each in verdict.remarks
        ],
        "unreviewed": [each.key for each in verdict.unreviewed],
    }


def _claims(report: Report, number: int) -> list[dict[str, Any]]:
    """Return every claim of a draft with its verdict, its passages, and why it is doubted."""
    judgement = report.judging(number).judgement(report.text(number))
    why: dict[int, list[str]] = {}
    for each in judgement.doubts:
        why.setdefault(each.n, []).append(each.why)
    return [
        {**each.model_dump(mode="json"), "why": " ".join(why[each.n]) if each.n in why else None}
        for each in judgement.claims
    ]


def _stages(report: Report) -> list[dict[str, Any]]:
    """Return the stages in order with the state of their latest steps."""
    found: list[dict[str, Any]] = []
    for stage in report.run.options.stages:
        of_stage = [each for each in report.state.steps.values() if each.step.worker == stage.name]
        status = "pending"
        if any(not each.closed for each in of_stage):
            status = "running"
        elif of_stage:
            status = of_stage[-1].status.value
        found.append({"name": stage.name, "status": status, "steps": [each.key for each in of_stage]})
    return found
