"""Answers of the roles of a report that are not what was asked for, and the advice about the models that gave them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leadhand import RunStatus
from leadhand.testing.scripted_model import says

from .reports import TOPIC, lead, model, plan, report, research, review


def test_keys_that_nobody_asked_for_are_ignored(home: Path) -> None:
    def more(of: Any) -> Any:
        def answer(request: Any) -> Any:
            said = of(request)
            return {**said, "confidence": 0.9} if isinstance(said, dict) else said

        return answer

    sections = {"sections": [{**each, "words": 200} for each in plan(None)["sections"]]}
    scripted = model(planner={**plan(None), **sections}, researcher=more(research), reviewer=more(review))
    answer = report(home, scripted)

    assert answer.status is RunStatus.SUCCEEDED
    assert len(scripted.requests) == 8, "nothing was asked again"


@pytest.mark.parametrize(
    ("assignment", "stage", "advice"),
    [
        ("research_1", {}, "choose a model that follows schemas (--worker-model)"),
        ("review_1", {}, "choose a model that follows schemas (--review-model)"),
        ("plan", {}, "choose a model that follows schemas (--lead-model)"),
        (
            "research_1",
            {"name": "researcher", "model": "strict"},
            "choose a model that follows schemas (the role researcher uses strict)",
        ),
    ],
)
def test_the_advice_names_what_chooses_the_model_of_the_role_that_failed(
    home: Path, assignment: str, stage: dict[str, str], advice: str
) -> None:
    answer = report(home, model(**{assignment: says("words")}), agents=[stage] if stage else [])

    failed = next(each for each in answer.document["assignments"] if each["id"] == assignment.replace("_", "-"))
    assert failed["failure"]["next_action"] == advice


def test_the_models_for_planning_working_and_reviewing_are_those_of_a_report(home: Path) -> None:
    scripted = model()
    lead(home, scripted, lead_model="large", worker_model="small", review_model="other").run_sync(TOPIC, flow="report")

    used = {request.role: request.model for request in scripted.requests}
    assert used == {"planner": "large", "researcher": "small", "writer": "large", "reviewer": "other"}
