"""The values of a report: what its workers answer, and its task in the run document."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from leadhand.core.run import StepStatus
from leadhand.core.value import Json, Value
from leadhand.core.work_result import JudgedClaim
from leadhand.flows.draft_rounds import ReportFinding
from leadhand.flows.passages import Passage

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


class Research(Answer):
    """Findings with the passages that they name, which code takes from the tool calls, for a question of the plan.

    ``key`` is the step that found them.
    """

    key: str = ""
    summary: str = ""
    heading: str = ""
    question: str = ""
    findings: tuple[Finding, ...]
    passages: tuple[Passage, ...] = ()


class DraftFinding(Answer):
    """A finding of a reviewer: what is wrong with a claim, by its number, or with the whole draft (null)."""

    claim: int | None = None
    problem: str = Field(min_length=1, max_length=1_000)

    @model_validator(mode="before")
    @classmethod
    def _about_the_draft(cls, given: Any) -> Any:
        return {"problem": given} if isinstance(given, str) else given


class DraftReview(Answer):
    """The review of a whole draft."""

    verdict: Verdict
    findings: tuple[DraftFinding, ...] = ()


# --- the task in the run document ------------------------------------------------------------------------------------


class TaskEvent(BaseModel):
    """A line that a stage reported."""

    model_config = ConfigDict(frozen=True)

    timestamp: str
    agent: str
    message: str


class ResearchedQuestion(Value):
    """A question with its findings; ``key`` is the step that answered it."""

    key: str
    heading: str
    question: str
    status: StepStatus
    summary: str = ""
    findings: tuple[Finding, ...] = ()
    passages: tuple[str, ...] = Field(default=(), description="The ids of the passages that were found.")
    error: str | None


class CitedPassage(Passage):
    """A passage that the report can cite."""

    link: str = Field(description="The address that opens the source at the passage.")


class ReportFeedback(Value):
    """The verdict on a draft."""

    verdict: Literal["APPROVED", "NEEDS_REVISION"] | None
    findings: tuple[ReportFinding, ...]
    unreviewed: tuple[str, ...] = Field(description="What no reviewer judged.")


class ReportClaim(JudgedClaim):
    """A claim of a draft, the passages that it cites by their ids, its verdict, and why it is doubted."""

    why: str | None = None


class StageReview(Value):
    """The answer of a stage that judges a draft."""

    key: str
    stage: str
    status: StepStatus
    answer: Json
    error: str | None


class ReportDraft(ReportFeedback):
    """A draft with the verdict on it."""

    key: str
    number: int
    status: StepStatus
    revises: str | None = Field(description="The draft that this one revises.")
    research: tuple[str, ...] = Field(description="The steps whose findings it uses.")
    text: str | None
    claims: tuple[ReportClaim, ...]
    reviews: tuple[StageReview, ...]
    error: str | None


class StageState(Value):
    """A stage, the status of its latest step, and all its steps."""

    name: str
    status: StepStatus
    steps: tuple[str, ...]


class ReportTask(Value):
    """The work on a report. ``draft``, ``feedback`` and ``claims`` are those of the latest of ``drafts``."""

    plan: Plan | Json
    research: tuple[ResearchedQuestion, ...]
    draft: str | None
    feedback: ReportFeedback | None
    final_report: str | None
    revisions: int
    stages: tuple[StageState, ...]
    drafts: tuple[ReportDraft, ...]
    claims: tuple[ReportClaim, ...]
    passages: dict[str, CitedPassage] = Field(description="By id.")
    events: tuple[TaskEvent, ...] = Field(description="What its stages reported.")
