"""The task of a report in the run document: plan, research, drafts, reviews and the final report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from pydantic import Field

from leadhand.core.events import Entry
from leadhand.core.judgement import JudgedClaim
from leadhand.core.lifecycle import StepStatus
from leadhand.core.state import StepState
from leadhand.core.value import Json, Value
from leadhand.flows.passages import Passage
from leadhand.flows.progress_lines import progress_lines

from .agents import TaskEvent
from .final import final_report
from .options import Stage
from .progress import Draft, Report
from .rendering import link_to
from .shapes import Finding, Plan


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


def report_task(report: Report, entries: Iterable[Entry] = ()) -> ReportTask:
    """Return the task of a run; ``entries`` are its log, from which its events are."""
    last, steps = report.last, report.run.state.steps
    events = progress_lines({key: each.step for key, each in steps.items()}, entries)
    return ReportTask(
        plan=report.plan,
        research=tuple(_research(report)),
        draft=last.text if last is not None else None,
        feedback=_feedback(last) if last is not None else None,
        final_report=final_report(report),
        revisions=report.revisions,
        stages=tuple(_stage(stage, steps.values()) for stage in report.stages),
        drafts=tuple(_draft(report, draft) for draft in report.drafts),
        claims=_claims(last) if last is not None else (),
        passages={each.id: CitedPassage(**dict(each), link=link_to(each)) for each in report.passages.values()},
        events=tuple(map(TaskEvent.model_validate, events)),
    )


def _step(report: Report, key: str) -> dict[str, Any]:
    """Return the status of a step and why it failed."""
    step = report.run.state.steps.get(key)
    error = step.failure.message if step is not None and step.failure is not None else None
    return {"key": key, "status": StepStatus.PENDING if step is None else step.status, "error": error}


def _research(report: Report) -> Iterator[ResearchedQuestion]:
    """Yield every question with its findings; also those of stages that users added."""
    for key in dict.fromkeys([*report.questions, *report.found_by]):
        section = report.questions.get(key)
        about = {"heading": key, "question": ""} if section is None else section.model_dump()
        for item in [dict(each) for each in report.found if each.key == key] or [about]:
            passages = [each.id for each in item.get("passages", ())]
            yield ResearchedQuestion.model_validate({**item, "passages": passages, **_step(report, key)})


def _draft(report: Report, draft: Draft) -> ReportDraft:
    answers = {each.key: each.state.value for each in (review.result for review in draft.reviews) if each and each.ok}
    return ReportDraft(
        **dict(_feedback(draft)),
        **_step(report, draft.key),
        number=draft.number,
        revises=draft.revises.key if draft.revises is not None else None,
        research=tuple(report.found_by),
        text=draft.text or None,
        claims=_claims(draft),
        reviews=tuple(
            StageReview(stage=each.stage, answer=answers.get(each.key), **_step(report, each.key))
            for each in draft.reviews
        ),
    )


def _feedback(draft: Draft) -> ReportFeedback:
    found = [ReportFinding(by=by, claim=n, text=text or None, problem=why) for by, n, text, why in draft.remarks]
    verdict = None if draft.verdict is None else draft.verdict.value
    unreviewed = tuple(each.key for each in draft.unreviewed)
    return ReportFeedback(verdict=verdict, findings=tuple(found), unreviewed=unreviewed)


def _claims(draft: Draft) -> tuple[ReportClaim, ...]:
    """Return every claim of a draft with its verdict, its passages, and why it is doubted."""
    judgement = draft.rounds.judgement(draft.text)
    why = {each.n: " ".join(doubt.why for doubt in judgement.doubts if doubt.n == each.n) for each in judgement.claims}
    return tuple(ReportClaim(**dict(each), why=why[each.n] or None) for each in judgement.claims)


def _stage(stage: Stage, steps: Iterable[StepState]) -> StageState:
    """Return a stage with the state of its latest step."""
    own = [each for each in steps if each.step.worker == stage.name]
    status = own[-1].status if own else StepStatus.PENDING
    status = status if all(each.closed for each in own) else StepStatus.RUNNING
    return StageState(name=stage.name, status=status, steps=tuple(each.key for each in own))
