"""The task of a report run, as its document has it: plan, research, drafts, reviews and the final report."""

from typing import Literal

from pydantic import Field

from leadhand.core.judgement import JudgedClaim
from leadhand.core.lifecycle import StepStatus
from leadhand.core.passages import Passage
from leadhand.core.value import Json, Value


class PlannedSection(Value):
    """A section of the report, and the question that a researcher answers for it."""

    heading: str
    question: str


class ReportPlan(Value):
    """The outline of a report."""

    title: str
    sections: tuple[PlannedSection, ...]


class ResearchFinding(Value):
    """A statement, and the ids of the passages that support it."""

    statement: str
    passages: tuple[str, ...]


class ResearchedQuestion(Value):
    """A question with its findings; ``key`` is the step that answered it."""

    key: str
    heading: str
    question: str
    status: StepStatus
    summary: str
    findings: tuple[ResearchFinding, ...]
    passages: tuple[str, ...] = Field(description="The ids of the passages that were found.")
    error: str | None


class CitedPassage(Passage):
    """A passage that the report can cite."""

    link: str = Field(description="The address that opens the source at the passage.")


class ReportFinding(Value):
    """What is wrong with a claim of a draft, or with the whole draft."""

    by: str = Field(description="A stage, or `judge`.")
    claim: int | None = Field(description="The number of a claim; null for the whole draft.")
    text: str | None
    problem: str


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


class ProgressLine(Value):
    """A line that a stage reported."""

    timestamp: str
    agent: str
    message: str


class ReportTask(Value):
    """The work on a report. ``draft``, ``feedback`` and ``claims`` are those of the latest of ``drafts``."""

    plan: ReportPlan | None
    research: tuple[ResearchedQuestion, ...]
    draft: str | None
    feedback: ReportFeedback | None
    final_report: str | None
    revisions: int
    stages: tuple[StageState, ...]
    drafts: tuple[ReportDraft, ...]
    claims: tuple[ReportClaim, ...]
    passages: dict[str, CitedPassage] = Field(description="By id.")
    events: tuple[ProgressLine, ...]
