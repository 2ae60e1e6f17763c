"""Answers of workers of a report that are not what was asked for, and the advice about the models that gave them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flows.judges import judge
from leadhand import RunStatus

from .reports import APPROVED, TOPIC, lead, model, plan, report, research


def test_keys_that_nobody_asked_for_are_ignored(home: Path) -> None:
    def researcher(request: Any) -> Any:
        said = research(request)
        return {**said, "confidence": 0.9} if isinstance(said, dict) else said

    sections = [{**each, "words": 200} for each in plan(None)["sections"]]
    planner, reviewer = {**plan(None), "sections": sections}, {**APPROVED, "confidence": 0.9}
    scripted = model(planner=planner, researcher=researcher, reviewer=reviewer)
    answer = report(home, scripted)

    assert answer.status is RunStatus.SUCCEEDED
    assert len(scripted.requests) == 7, "nothing was asked again"


def test_the_models_for_planning_working_and_reviewing_are_those_of_a_report(home: Path) -> None:
    scripted = model(judge=judge())
    models = {"lead_model": "large", "worker_model": "small", "review_model": "other"}
    lead(home, scripted, check="judge", **models).run_sync(TOPIC, flow="report")

    used = {request.worker: request.model for request in scripted.requests}
    assert used == {
        "planner": "large",
        "researcher": "small",
        "writer": "large",
        "reviewer": "other",
        "judge": "other",
    }
