"""The values of a report: what its workers answer, and its task in the run document."""

from __future__ import annotations

import operator
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from leadhand.core.value import Json, Value
from leadhand.core.work_result import Claim, Doubt
from leadhand.flows.passages import Passage

from .stages import Stage

MOST_QUESTIONS = 12


class Answer(Value):
    """A part of an answer. Keys that nobody asked for are ignored: they cannot change what the others mean."""

    model_config = ConfigDict(extra="ignore")


class Verdict(StrEnum):
    """What a reviewer decides about a draft."""

    APPROVED = "APPROVED"
    NEEDS_REVISION = "NEEDS_REVISION"


class Section(Answer):
    """A section of the report, and the question that a researcher answers for it."""

    heading: str = Field(min_length=1, max_length=200)
    question: str = Field(min_length=1, max_length=1_000)


class Plan(Answer):
    """The plan of a report."""

    title: str = Field(min_length=1, max_length=300)
    sections: tuple[Section, ...] = Field(min_length=1, max_length=MOST_QUESTIONS)


class Finding(Answer):
    """A statement and the ids of the passages that support it."""

    statement: str = Field(min_length=1)
    passages: tuple[str, ...] = Field(min_length=1)


class Findings(Answer):
    """What a researcher found: nothing, if its tools found nothing."""

    summary: str
    findings: tuple[Finding, ...] = ()


class Research(Findings):
    """What was found for a question; ``key`` is the step that found it.

    ``passages`` are those that the findings name, unless the task has them already.
    """

    key: str = ""
    heading: str = ""
    question: str = ""
    passages: tuple[Passage, ...] = Field(default=(), exclude_if=operator.not_)


class DraftFinding(Answer):
    """A finding of a reviewer: what is wrong with a claim, by its number, or with the whole draft (null)."""

    claim: int | None = None
    problem: str = Field(min_length=1, max_length=1_000)

    @model_validator(mode="before")
    @classmethod
    def _about_the_draft(cls, given: Any) -> Any:
        return {"problem": given} if isinstance(given, str) else given


class ReportFinding(Value):
    """What is wrong with a claim of a draft, or with the whole draft."""

    by: str = Field(description="A stage, or `judge`.")
    claim: int | None = Field(description="The number of a claim; null for the whole draft.")
    text: str | None
    problem: str


class DraftReview(Answer):
    """The review of a whole draft."""

    verdict: Verdict
    findings: tuple[DraftFinding, ...] = ()


# --- the task --------------------------------------------------------------------------------------------------------


class TaskEvent(Value):
    """A line that a stage reported."""

    timestamp: str
    agent: str
    message: str


class CitedPassage(Passage):
    """A passage that the report can cite."""

    name: str = Field(description="What a draft cites it by: p1, p2, …")
    link: str = Field(description="The address that opens the source at the passage.")


class ReportFeedback(Value):
    """The verdict on a draft."""

    verdict: Verdict | None = Field(description="Null before the first review, and if a review gave no verdict.")
    findings: tuple[ReportFinding, ...]


class ReportDraft(ReportFeedback):
    """A draft with the verdict on it; ``key`` is the step that wrote it."""

    key: str
    number: int = Field(description="The first draft is 1; each one after it revises the one before it.")
    text: str
    claims: tuple[Claim, ...] = Field(description="They cite passages by their ids.")
    doubts: tuple[Doubt, ...]


class Task(BaseModel):
    """The work on a report. A stage gets its own copy when it begins; which of the fields it changes is recorded.

    ``plan`` has a title and sections, ``research`` what was found for each question; those of your own stages can be
    text or any JSON. ``draft`` is the latest text with its citations (``[p1]``), ``feedback`` the verdict on it and its
    findings. ``claims`` are the claims of the draft with their verdicts, ``passages`` what they can cite, by id.
    ``events`` are the lines that the stages reported before this one began; the document of a run has none.
    """

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    topic: str = ""
    plan: Plan | Json = Field(default=None, union_mode="left_to_right")
    research: tuple[Research, ...] = ()
    draft: str | None = None
    feedback: ReportFeedback | None = None
    final_report: str | None = None
    events: tuple[TaskEvent, ...] = Field(default=(), exclude=True)
    revisions: int = 0
    stages: tuple[Stage, ...] = ()
    drafts: tuple[ReportDraft, ...] = ()
    claims: tuple[Claim, ...] = ()
    passages: dict[str, CitedPassage] = {}
