"""The end of a report: its text, its sources and its gaps."""

from __future__ import annotations

from collections.abc import Iterator

from leadhand.core.commands import Cited
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.outcome import failure_gap, gap
from leadhand.core.run import Gap
from leadhand.core.state import RunState, StepState
from leadhand.flows.passages import of_passages
from leadhand.flows.seam.results import FlowAnswer
from leadhand.verify.judge import JUDGE
from leadhand.verify.material import Material

from .progress import Draft, Report
from .rendering import Numbered, body, findings_as_text, numbered, source_list
from .shapes import Verdict

LONGEST_NAME = 100


def answer_of(report: Report) -> FlowAnswer:
    """Return the answer of a run as it is now: its latest draft, or without one, its findings."""
    last, passages, sources = report.last, report.passages, _sources(report)
    text = body(_text(report), sources)
    found_by = {item.key: [*item.passages] for item in report.found if item.passages}
    finders = {(each.title, each.url): key for key in reversed(found_by) for each in found_by[key]}
    judges = report.run.state.definition.check != "off"

    def material(state: RunState) -> Material:
        return of_passages(state, passages)

    return FlowAnswer(
        text=text,
        uses=[each for each in report.results if each.key in found_by],
        gaps=[*_gaps(report)],
        sources=[Cited(each.title, each.url, finders.get(each[:2], "")) for each in sources],
        judgement=last.rounds.judgement(text) if last is not None and judges else None,
        material=material,
    )


def final_report(report: Report) -> str | None:
    """Return the final report with its list of sources; None while the run is not finished."""
    finished = report.run.state.finished
    if finished is None or not _text(report):
        return None
    listed = source_list(_sources(report), report.passages)
    return f"{finished.answer}\n\n{listed}" if listed else finished.answer


def _text(report: Report) -> str:
    if report.last is not None:
        return report.last.text
    title = report.outline.title if report.outline is not None else report.run.request
    return findings_as_text(title, report.found, report.passages)


def _sources(report: Report) -> list[Numbered]:
    return numbered(_text(report), report.passages)


def _gaps(report: Report) -> Iterator[Gap]:
    for item in report.found:
        if not item.findings:
            step = report.run.state.steps[item.key]
            said = f"; {step.step.worker}: {_short(item.summary)}" if item.summary else ""
            reason = f"no source answers it{said}"  # what the summary states has no source either
            yield gap(step, FailureClass.INSUFFICIENT, reason, "ask more precisely, or give sources of your own")
    yield from report.gaps
    if report.last is not None:
        yield from _review_gaps(report.last, report.max_revisions)


def _review_gaps(draft: Draft, max_revisions: int) -> Iterator[Gap]:
    """What stages still want to have changed, a gap for each stage, and the reviews that gave no verdict."""
    wanted: dict[str, list[str]] = {}
    for each in draft.remarks if draft.verdict is Verdict.NEEDS_REVISION else ():
        if each.by != JUDGE:
            problem = f"“{_short(each.claim)}”: {each.problem}" if each.claim else each.problem
            wanted.setdefault(each.by, []).append(problem)
    for stage, problems in wanted.items():
        yield Gap(
            name=f"what the {stage} asks for",
            class_=FailureClass.INSUFFICIENT,
            reason="; ".join(problems),
            next_action=f"allow more revisions (max_revisions was {max_revisions})",
        )
    yield from (not_done("the review of the draft", each.state) for each in draft.unreviewed)


def not_done(name: str, step: StepState, more: str = "") -> Gap:
    """Return the gap of what a step did not do."""
    failure = step.failure or Failure.of("it gave no verdict", "no_verdict", FailureClass.INVALID)
    return failure_gap(name, failure, f"{failure.message}{more}")


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME].rsplit(' ', 1)[0]} …"
