"""What doors get of a report: its answer with its sources and gaps, and its task in the run document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from leadhand.core.commands import Cited
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.events import Entry
from leadhand.core.outcome import failure_gap, gap, gap_of
from leadhand.core.run import Gap, StepStatus
from leadhand.core.state import StepState
from leadhand.flows.passages import of_passages
from leadhand.flows.progress_lines import progress_lines
from leadhand.flows.seam.results import FlowAnswer

from . import shapes
from .progress import Draft, Report
from .rendering import Numbered, body, findings_as_text, link_to, numbered, shortened, source_list
from .shapes import Verdict


def answer_of(report: Report) -> FlowAnswer:
    """Return the answer of a run as it is now: its latest draft, or without one, its findings."""
    last, (written, sources), found = report.last, _written(report), report.found.values()
    found_by = {(each.title, each.url): item.key for item in reversed(found) for each in item.passages}
    judged, text = report.run.state.definition.check != "off", body(written, sources)
    return FlowAnswer(
        text=text,
        uses=[each for key, each in report.results.items() if any(item.passages for item in found if item.key == key)],
        gaps=[*_gaps(report)],
        sources=[Cited(each.title, each.url, found_by.get(each[:2], "")) for each in sources],
        judgement=last.judgement(text) if last is not None and judged else None,
        material=partial(of_passages, passages=report.passages),
    )


def _written(report: Report) -> tuple[str, list[Numbered]]:
    """Return the text of a report with the names of passages, and the sources that it cites."""
    last, passages = report.last, report.passages
    text = last.text if last is not None else findings_as_text(report.title, report.found.values(), passages)
    return text, numbered(text, passages)


def _gaps(report: Report) -> Iterator[Gap]:
    """Yield what the report lacks, besides research that failed."""
    steps, last = report.run.state.steps, report.last
    for item in (each for each in report.found.values() if not each.findings and each.key in steps):
        if (step := steps[item.key]).ok:
            said = f"; {step.step.worker}: {shortened(item.summary)}" if item.summary else ""
            reason = f"no source answers it{said}"  # what the summary states has no source either
            yield gap(step, FailureClass.INSUFFICIENT, reason, "ask more precisely, or give sources of your own")
    failed = (steps[key] for key, each in report.run.of.steps.items() if key in steps and not each.optional)
    yield from (gap_of(report.run.state, each) for each in failed if each.closed and not each.ok and not each.counts)
    if last is None:
        return
    if last.said and last.verdict is Verdict.NEEDS_REVISION:
        said = ((shortened(each.text or ""), each.problem) for each in last.said)
        reason = "; ".join(f"“{text}”: {problem}" if text else problem for text, problem in said)
        action = f"allow more revisions (max_revisions was {report.max_revisions})"
        yield Gap(name="what the review asks for", class_=FailureClass.INSUFFICIENT, reason=reason, next_action=action)
    yield from (not_done(steps[key].step.name, steps[key]) for key in _unreviewed(report, last) if steps[key].ok)


def _unreviewed(report: Report, draft: Draft) -> list[str]:
    """Return the reviews of a draft that are finished and gave no verdict."""
    steps = report.run.state.steps
    return [key for key, said in draft.reviews.items() if said is None and key in steps and steps[key].closed]


def not_done(name: str, step: StepState, more: str = "") -> Gap:
    """Return the gap of what a step did not do."""
    failure = step.failure or Failure.of("it gave no verdict", "no_verdict", FailureClass.INVALID)
    return failure_gap(name, failure, f"{failure.message}{more}")


def report_task(report: Report, entries: Iterable[Entry] = ()) -> shapes.Task:
    """Return the task of a run; ``entries`` are its log, from which its events are."""
    steps, passages, finished = report.run.state.steps, report.passages, report.run.state.finished
    text, sources = _written(report)
    drafts = [_draft(report, number, each) for number, each in enumerate(report.drafts, start=1)]
    last = next((each for each in reversed(drafts) if each.text), None)
    lines = progress_lines({key: each.step for key, each in steps.items()}, entries)
    task = shapes.Task(topic=report.run.request, plan=report.plan, drafts=tuple(drafts), stages=tuple(report.stages))
    task.research = tuple(
        shapes.ResearchedQuestion.model_validate(
            {**dict(each), "passages": [one.id for one in each.passages], **_step(report, each.key)}
        )
        for each in report.found.values()
    )
    task.revisions = max(len(drafts) - 1, 0)
    task.passages = {each.id: shapes.CitedPassage(**dict(each), link=link_to(each)) for each in passages.values()}
    task.events = tuple(map(shapes.TaskEvent.model_validate, lines))
    if last is not None:
        task.draft, task.claims = last.text, last.claims
        task.feedback = shapes.ReportFeedback(verdict=last.verdict, findings=last.findings, unreviewed=last.unreviewed)
    if finished is not None and text:
        task.final_report = f"{finished.answer}\n\n{source_list(sources, passages)}".strip()
    return task


def _step(report: Report, key: str) -> dict[str, Any]:
    """Return the status of a step and why it failed."""
    step = report.run.state.steps.get(key)
    error = step.failure.message if step is not None and step.failure is not None else None
    return {"key": key, "status": StepStatus.PENDING if step is None else step.status, "error": error}


def _draft(report: Report, number: int, draft: Draft) -> shapes.ReportDraft:
    judgement = draft.judgement(draft.text)
    return shapes.ReportDraft(
        **_step(report, draft.step.key),
        verdict=draft.verdict,
        findings=tuple(draft.problems),
        unreviewed=tuple(_unreviewed(report, draft)),
        number=number,
        revises=report.drafts[number - 2].step.key if number > 1 else None,
        research=tuple(key for key, each in report.results.items() if key in report.found and each.ok),
        text=draft.text or None,
        claims=judgement.claims,
        doubts=judgement.doubts,
    )
