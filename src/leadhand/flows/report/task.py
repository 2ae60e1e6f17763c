"""What doors get of a report: its answer with its sources and gaps, and its task in the run document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from leadhand.core.commands import Cited
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.events import Entry
from leadhand.core.lifecycle import StepStatus
from leadhand.core.outcome import failure_gap, gap
from leadhand.core.run import Gap
from leadhand.core.state import StepState
from leadhand.flows.passages import of_passages
from leadhand.flows.progress_lines import progress_lines
from leadhand.flows.seam.results import FlowAnswer

from . import shapes
from .progress import Draft, Report
from .rendering import Numbered, body, findings_as_text, link_to, numbered, shortened, source_list


def answer_of(report: Report) -> FlowAnswer:
    """Return the answer of a run as it is now: its latest draft, or without one, its findings."""
    last, (written, sources) = report.last, _written(report)
    found_by = {(each.title, each.url): item.key for item in reversed(report.research) for each in item.passages}
    judged, text = report.run.state.definition.check != "off", body(written, sources)
    return FlowAnswer(
        text=text,
        uses=[each for key, each in report.results.items() if any(item.passages for item in report.found.get(key, ()))],
        gaps=[*_gaps(report)],
        sources=[Cited(each.title, each.url, found_by.get(each[:2], "")) for each in sources],
        judgement=last.judgement(text) if last is not None and judged else None,
        material=partial(of_passages, passages=report.passages),
    )


def _written(report: Report) -> tuple[str, list[Numbered]]:
    """Return the text of a report with the names of passages, and the sources that it cites."""
    last, passages = report.last, report.passages
    text = last.text if last is not None else findings_as_text(report.title, report.research, passages)
    return text, numbered(text, passages)


def _gaps(report: Report) -> Iterator[Gap]:
    steps, last = report.run.state.steps, report.last
    for item in (each for each in report.research if not each.findings and each.key in steps):
        if (step := steps[item.key]).ok:
            said = f"; {step.step.worker}: {shortened(item.summary)}" if item.summary else ""
            reason = f"no source answers it{said}"  # what the summary states has no source either
            yield gap(step, FailureClass.INSUFFICIENT, reason, "ask more precisely, or give sources of your own")
    yield from report.gaps
    if last is None:
        return
    open_ = last.said if last.verdict is shapes.Verdict.NEEDS_REVISION else []
    for stage in dict.fromkeys(each.by for each in open_):
        said = ((shortened(each.text or ""), each.problem) for each in open_ if each.by == stage)
        yield Gap(
            name=f"what the {stage} asks for",
            class_=FailureClass.INSUFFICIENT,
            reason="; ".join(f"“{text}”: {problem}" if text else problem for text, problem in said),
            next_action=f"allow more revisions (max_revisions was {report.max_revisions})",
        )
    yield from (not_done("the review of the draft", steps[key]) for key in _unreviewed(report, last))


def _unreviewed(report: Report, draft: Draft) -> list[str]:
    """Return the reviews of a draft that are finished and gave no verdict."""
    steps = report.run.state.steps
    return [key for key, said in draft.reviews.items() if said is None and key in steps and steps[key].closed]


def not_done(name: str, step: StepState, more: str = "") -> Gap:
    """Return the gap of what a step did not do."""
    failure = step.failure or Failure.of("it gave no verdict", "no_verdict", FailureClass.INVALID)
    return failure_gap(name, failure, f"{failure.message}{more}")


def report_task(report: Report, entries: Iterable[Entry] = ()) -> shapes.ReportTask:
    """Return the task of a run; ``entries`` are its log, from which its events are."""
    steps, passages, finished = report.run.state.steps, report.passages, report.run.state.finished
    text, sources = _written(report)
    drafts = [_draft(report, number, each) for number, each in enumerate(report.drafts, start=1)]
    last = next((each for each in reversed(drafts) if each.text), None)
    events = progress_lines({key: each.step for key, each in steps.items()}, entries)
    return shapes.ReportTask(
        plan=report.plan,
        research=tuple(
            shapes.ResearchedQuestion(
                **{**dict(each), "passages": [one.id for one in each.passages], **_step(report, each.key)}
            )
            for each in report.research
        ),
        draft=last and last.text,
        feedback=last
        and shapes.ReportFeedback(verdict=last.verdict, findings=last.findings, unreviewed=last.unreviewed),
        final_report=f"{finished.answer}\n\n{source_list(sources, passages)}".strip() if finished and text else None,
        revisions=max(len(drafts) - 1, 0),
        stages=tuple(report.stages),
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


def _draft(report: Report, number: int, draft: Draft) -> shapes.ReportDraft:
    judgement = draft.judgement(draft.text)
    why = {each.n: " ".join(doubt.why for doubt in judgement.doubts if doubt.n == each.n) for each in judgement.claims}
    return shapes.ReportDraft(
        **_step(report, draft.step.key),
        verdict=draft.verdict,
        findings=tuple(draft.problems),
        unreviewed=tuple(_unreviewed(report, draft)),
        number=number,
        revises=report.drafts[number - 2].step.key if number > 1 else None,
        research=tuple(key for key in report.found if key in report.results and report.results[key].ok),
        text=draft.text or None,
        claims=tuple(shapes.ReportClaim(**dict(each), why=why[each.n] or None) for each in judgement.claims),
    )
