"""Answers of workers of a report that are not what was asked for, and the advice about the models that gave them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flows.judges import judge
from leadhand import RunStatus
from leadhand.testing.scripted_model import says

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


@pytest.mark.parametrize(
    ("step", "stage", "named"),
    [
        ("research_1", {}, "worker_model"),
        ("review_1", {}, "review_model"),
        ("plan", {}, "lead_model"),
        ("research_1", {"name": "researcher", "model": "strict"}, "the worker researcher uses strict"),
    ],
)
def test_the_advice_names_what_chooses_the_model_of_the_worker_that_failed(
    home: Path, step: str, stage: dict[str, str], named: str
) -> None:
    answer = report(home, model(**{step: says("words")}), agents=[stage] if stage else [])

    failed = next(each for each in answer.document["steps"] if each["id"] == step.replace("_", "-"))
    assert named in failed["failure"]["next_action"]


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
