"""The task of a report in the run document: plan, research, drafts, reviews and the final report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Literal

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
from .judging import judged
from .options import Stage
from .progress import Item, Report, revises, stage_key, used_research
from .rendering import link_to
from .shapes import Finding, Outline


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

    plan: Outline | None
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
    latest = report.last
    steps = {key: each.step for key, each in report.state.steps.items()}
    passages = report.passages(report.research).values()
    return ReportTask(
        plan=report.plan,
        research=tuple(_research(report)),
        draft=report.text(latest) or None,
        feedback=_feedback(report, latest) if latest else None,
        final_report=final_report(report) or None,
        revisions=report.revisions,
        stages=tuple(_stage(report, stage) for stage in report.run.options.stages),
        drafts=tuple(_draft(report, number, draft) for number, draft in enumerate(report.drafts, start=1)),
        claims=_claims(report, latest) if latest else (),
        passages={each.id: CitedPassage(**dict(each), link=link_to(each)) for each in passages},
        events=tuple(map(TaskEvent.model_validate, progress_lines(steps, entries))),
    )


def _research(report: Report) -> Iterator[ResearchedQuestion]:
    """Yield every question with its findings; also those of stages that users added."""
    found: dict[str, list[Item | None]] = {each.key: [None] for each in report.questions}
    for key, items in groupby(report.items(report.research), attrgetter("key")):
        found[key] = [*items]
    for key, items in found.items():
        step = report.state.steps[key]
        given = step.step.input
        for item in items:
            about = {"heading": given.get("heading", key), "question": given.get("question", "")}
            if item is not None:
                about = {**item._asdict(), "passages": [each.id for each in item.passages]}
            yield ResearchedQuestion.model_validate({**about, "key": key, "status": step.status, "error": _error(step)})


def _draft(report: Report, number: int, draft: StepState) -> ReportDraft:
    return ReportDraft(
        **dict(_feedback(report, number)),
        key=draft.key,
        number=number,
        status=draft.status,
        revises=revises(draft) or None,
        research=used_research(draft),
        text=report.text(number) or None,
        claims=_claims(report, number),
        reviews=tuple(_reviews(report, number)),
        error=_error(draft),
    )


def _reviews(report: Report, number: int) -> Iterator[StageReview]:
    for stage in (each for each in report.rounds if each.judges):
        if (step := report.of(stage_key(stage, number))) is not None:
            answer = step.value if step.ok else None
            yield StageReview(key=step.key, stage=stage.name, status=step.status, answer=answer, error=_error(step))


def _feedback(report: Report, number: int) -> ReportFeedback:
    verdict, remarks, unreviewed = judged(report, number)
    found = (ReportFinding(by=by, claim=n, text=claim or None, problem=problem) for by, n, claim, problem in remarks)
    decided = None if verdict is None else verdict.value
    return ReportFeedback(verdict=decided, findings=tuple(found), unreviewed=tuple(each.key for each in unreviewed))


def _claims(report: Report, number: int) -> tuple[ReportClaim, ...]:
    """Return every claim of a draft with its verdict, its passages, and why it is doubted."""
    judgement = report.judging(number).judgement(report.text(number))
    why: dict[int, list[str]] = {}
    for each in judgement.doubts:
        why.setdefault(each.n, []).append(each.why)
    return tuple(
        ReportClaim(**dict(each), why=" ".join(why[each.n]) if each.n in why else None) for each in judgement.claims
    )


def _stage(report: Report, stage: Stage) -> StageState:
    """Return a stage with the state of its latest step."""
    steps = [each for each in report.state.steps.values() if each.step.worker == stage.name]
    status = steps[-1].status if steps else StepStatus.PENDING
    if any(not each.closed for each in steps):
        status = StepStatus.RUNNING
    return StageState(name=stage.name, status=status, steps=tuple(each.key for each in steps))


def _error(step: StepState) -> str | None:
    return None if step.failure is None else step.failure.message
