"""What doors get of a report: its answer with its sources and gaps, and its task in the run document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from leadhand.core.commands import Cited
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.events import Entry
from leadhand.core.outcome import failure_gap, gap
from leadhand.core.run import Gap, StepStatus
from leadhand.core.state import StepState
from leadhand.flows.passages import of_passages
from leadhand.flows.progress_lines import progress_lines
from leadhand.flows.seam.results import FlowAnswer
from leadhand.verify.judge import JUDGE

from . import shapes
from .progress import Draft, Report
from .rendering import Numbered, body, findings_as_text, link_to, numbered, shortened, source_list
from .shapes import Plan, Research, Verdict
from .stages import Stage


def answer_of(report: Report) -> FlowAnswer:
    """Return the answer of a run as it is now: its latest draft, or without one, its findings."""
    last, passages = report.last, report.passages
    written, sources = _written(report)
    found_by = {(each.title, each.url): item.key for item in reversed(report.research) for each in item.passages}
    judged = last is not None and report.run.state.definition.check != "off"
    text = body(written, sources)
    return FlowAnswer(
        text=text,
        uses=[each for key, each in report.results.items() if any(item.passages for item in report.found.get(key, ()))],
        gaps=[*_gaps(report)],
        sources=[Cited(each.title, each.url, found_by.get(each[:2], "")) for each in sources],
        judgement=last.rounds.judgement(text) if last is not None and judged else None,
        material=partial(of_passages, passages=passages),
    )


def _written(report: Report) -> tuple[str, list[Numbered]]:
    """Return the text of a report with the names of passages, and the sources that it cites."""
    title = report.plan.title if isinstance(report.plan, Plan) else report.run.request
    last, passages = report.last, report.passages
    text = last.rounds.text if last is not None else findings_as_text(title, report.research, passages)
    return text, numbered(text, passages)


def _gaps(report: Report) -> Iterator[Gap]:
    for item in (each for each in report.research if not each.findings):
        step = report.run.state.steps.get(item.key)
        if step is None or not step.ok:
            continue
        said = f"; {step.step.worker}: {shortened(item.summary)}" if item.summary else ""
        reason = f"no source answers it{said}"  # what the summary states has no source either
        yield gap(step, FailureClass.INSUFFICIENT, reason, "ask more precisely, or give sources of your own")
    yield from report.gaps
    if (last := report.last) is None:
        return
    findings = last.findings if last.verdict is Verdict.NEEDS_REVISION else []
    for stage in dict.fromkeys(each.by for each in findings if each.by != JUDGE):
        said = ((shortened(each.text or ""), each.problem) for each in findings if each.by == stage)
        yield Gap(
            name=f"what the {stage} asks for",
            class_=FailureClass.INSUFFICIENT,
            reason="; ".join(f"“{text}”: {problem}" if text else problem for text, problem in said),
            next_action=f"allow more revisions (max_revisions was {report.max_revisions})",
        )
    yield from (not_done("the review of the draft", each.state) for each in last.unreviewed)


def not_done(name: str, step: StepState, more: str = "") -> Gap:
    """Return the gap of what a step did not do."""
    failure = step.failure or Failure.of("it gave no verdict", "no_verdict", FailureClass.INVALID)
    return failure_gap(name, failure, f"{failure.message}{more}")


def report_task(report: Report, entries: Iterable[Entry] = ()) -> shapes.ReportTask:
    """Return the task of a run; ``entries`` are its log, from which its events are."""
    steps, passages, finished = report.run.state.steps, report.passages, report.run.state.finished
    text, sources = _written(report)
    final = None if finished is None or not text else f"{finished.answer}\n\n{source_list(sources, passages)}".strip()
    drafts = [_draft(report, each) for each in report.drafts]
    last = next((each for each in reversed(drafts) if each.text), None)
    feedback = last and shapes.ReportFeedback(verdict=last.verdict, findings=last.findings, unreviewed=last.unreviewed)
    events = progress_lines({key: each.step for key, each in steps.items()}, entries)
    return shapes.ReportTask(
        plan=report.plan,
        research=tuple(_question(report, each) for each in report.research),
        draft=last and last.text,
        feedback=feedback,
        final_report=final,
        revisions=max(len(drafts) - 1, 0),
        stages=tuple(_stage(stage, steps.values()) for stage in report.stages),
        drafts=tuple(drafts),
        claims=last.claims if last is not None else (),
        passages={each.id: shapes.CitedPassage(**dict(each), link=link_to(each)) for each in passages.values()},
        events=tuple(map(shapes.TaskEvent.model_validate, events)),
    )


def _step(report: Report, key: str) -> dict[str, Any]:
    """Return the status of a step and why it failed."""
    step = report.run.state.steps.get(key)
    error = step.failure.message if step is not None and step.failure is not None else None
    return {"key": key, "status": StepStatus.PENDING if step is None else step.status, "error": error}


def _question(report: Report, found: Research) -> shapes.ResearchedQuestion:
    fields = {**dict(found), "passages": [each.id for each in found.passages], **_step(report, found.key)}
    return shapes.ResearchedQuestion.model_validate(fields)


def _draft(report: Report, draft: Draft) -> shapes.ReportDraft:
    judgement, verdict = draft.rounds.judgement(draft.rounds.text), draft.verdict
    why = {each.n: " ".join(doubt.why for doubt in judgement.doubts if doubt.n == each.n) for each in judgement.claims}
    return shapes.ReportDraft(
        **_step(report, draft.step.key),
        verdict=None if verdict is None else verdict.value,
        findings=tuple(draft.findings),
        unreviewed=tuple(each.key for each in draft.unreviewed),
        number=report.drafts.index(draft) + 1,
        revises=draft.revises.step.key if draft.revises is not None else None,
        research=tuple(key for key in report.found if key in report.results and report.results[key].ok),
        text=draft.rounds.text or None,
        claims=tuple(shapes.ReportClaim(**dict(each), why=why[each.n] or None) for each in judgement.claims),
        reviews=tuple(
            shapes.StageReview(
                stage=each.recorded.name if each.recorded else each.key,
                answer=each.result.state.value if each.result and each.result.ok else None,
                **_step(report, each.key),
            )
            for each in draft.reviews
        ),
    )


def _stage(stage: Stage, steps: Iterable[StepState]) -> shapes.StageState:
    """Return a stage with the state of its latest step."""
    own = [each for each in steps if each.step.worker == stage.name]
    is_open = not all(each.closed for each in own)
    status = StepStatus.RUNNING if is_open else own[-1].status if own else StepStatus.PENDING
    return shapes.StageState(name=stage.name, status=status, steps=tuple(each.key for each in own))
