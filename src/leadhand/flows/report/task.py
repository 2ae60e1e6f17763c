"""What doors get of a report: its answer with numbered sources and its gaps, and its task in the run document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

from leadhand.core.errors import Failure, FailureClass
from leadhand.core.outcome import FlowAnswer, failure_gap, gap, gap_of
from leadhand.core.run import Gap
from leadhand.core.state import RunState, StepState
from leadhand.core.text import line
from leadhand.flows.passages import Passage, body, numbered

from . import shapes
from .report import Draft, Report
from .shapes import Verdict

_HEADINGS = re.compile(r"\A(?:\s*#+ [^\n]*\n)+")
_WEB = ("https://", "http://")


def answer_of(report: Report, state: RunState) -> FlowAnswer:
    """Return the answer of a run in a state: its latest draft, or without one, its findings."""
    last, found = report.last, report.found.values()
    written = findings_as_text(report) if last is None else last.text
    sources = numbered(written, report.passages)
    judged, text = state.definition.check != "off", body(written, sources)
    return FlowAnswer(
        text=text,
        uses=[each for key, each in report.results.items() if any(item.findings for item in found if item.key == key)],
        gaps=[*_gaps(report, state)],
        sources=[(each.title, each.url) for each in sources],
        judgement=last.judgement(text) if last is not None and judged else None,
        passages=report.passages,
    )


def _gaps(report: Report, state: RunState) -> Iterator[Gap]:
    """Yield what the report lacks, besides research that failed."""
    steps, last = state.steps, report.last
    for item in (each for each in report.found.values() if not each.findings and each.key in steps):
        if (step := steps[item.key]).ok:
            said = f"; {step.step.worker}: {line(item.summary, 100)}" if item.summary else ""
            reason = f"no source answers it{said}"  # what the summary states has no source either
            yield gap(step, FailureClass.INSUFFICIENT, reason, "ask more precisely, or give sources of your own")
    failed = (steps[key] for key, each in report.run.of.steps.items() if key in steps and not each.optional)
    yield from (gap_of(state, each) for each in failed if each.closed and not each.ok and not each.counts)
    if last is None:
        return
    if last.said and last.verdict is Verdict.NEEDS_REVISION:
        said = ((line(each.text or "", 100), each.problem) for each in last.said)
        reason = "; ".join(f"“{text}”: {problem}" if text else problem for text, problem in said)
        action = f"allow more revisions (max_revisions was {report.max_revisions})"
        yield Gap(name="what the review asks for", class_=FailureClass.INSUFFICIENT, reason=reason, next_action=action)
    reviews = [steps[key] for key, verdict in last.reviews.items() if verdict is None and key in steps]
    yield from (not_done(each.step.name, each) for each in reviews if each.ok)


def not_done(name: str, step: StepState, more: str = "") -> Gap:
    """Return the gap of what a step did not do."""
    failure = step.failure or Failure.of("it gave no verdict", "no_verdict", FailureClass.INVALID)
    return failure_gap(name, failure, f"{failure.message}{more}")


def report_task(report: Report) -> shapes.Task:
    """Return the task of a run, without the lines of its stages."""
    finished, drafts = report.run.state.finished, [_draft(each) for each in report.drafts]
    task = shapes.Task(
        topic=report.run.request,
        final_report=(finished and finished.answer) or None,
        plan=report.plan,
        research=tuple(report.found.values()),
        revisions=max(len(drafts) - 1, 0),
        stages=tuple(report.stages),
        drafts=tuple(drafts),
        passages={
            each.id: shapes.CitedPassage(**dict(each), name=name, link=link_to(each))
            for name, each in report.passages.items()
        },
    )
    if drafts:
        task.draft, task.claims, task.feedback = drafts[-1].text, drafts[-1].claims, drafts[-1]
    return task


def _draft(draft: Draft) -> shapes.ReportDraft:
    judgement = draft.judgement(draft.text)
    return shapes.ReportDraft(
        key=draft.written.key,
        number=draft.number,
        text=draft.text,
        claims=judgement.claims,
        doubts=judgement.doubts,
        verdict=draft.verdict,
        findings=tuple(draft.problems),
    )


def findings_as_text(report: Report) -> str:
    """Return what was found as a draft, for a report that no model could write; "" without findings."""
    parts: list[str] = []
    for item in (each for each in report.found.values() if each.findings):
        lines = (f"- {each.statement} [{', '.join(report.cited(each))}]" for each in item.findings)
        parts += [f"## {item.heading}", "\n".join(lines)]
    return "\n\n".join([f"# {report.title}", *parts]) if parts else ""


def link_to(passage: Passage) -> str:
    """Return the address of a passage: of a web page with a text fragment, so that it opens at the passage."""
    if not passage.url.startswith(_WEB):
        return passage.url
    words = (_HEADINGS.sub("", passage.text).strip() or passage.text).split()
    ends = [words] if len(words) <= 10 else [words[:5], words[-5:]]
    text = ",".join(quote(" ".join(each), safe="").replace("-", "%2D") for each in ends)
    return f"{passage.url}{'' if '#' in passage.url else '#'}:~:text={text}"
