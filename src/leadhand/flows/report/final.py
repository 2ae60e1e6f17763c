"""The end of a report: its text, its sources and its gaps."""

from __future__ import annotations

from collections.abc import Iterator

from leadhand.core.commands import Cited, Outcome
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.outcome import failure_gap, gap
from leadhand.core.run import Gap
from leadhand.core.state import StepState
from leadhand.verify.judge import JUDGE

from .judging import judged
from .progress import Report, draft_key, revises, stage_key, used_research
from .rendering import Numbered, body, findings_as_text, numbered, source_list
from .shapes import Verdict

LONGEST_NAME = 100


def outcome(report: Report) -> Outcome:
    """Return the outcome of a run as it is now."""
    keys = _keys(report)
    cited = _cited(report)
    answer = body(_draft(report), cited)
    judges = report.last and report.state.definition.check != "off"
    return Outcome(
        answer=answer,
        uses=keys,
        gaps=list(_gaps(report)),
        sources=[Cited(source.title, source.url, _finder(report, keys, source)) for source in cited],
        judgement=report.judging(report.last).judgement(answer) if judges else None,
    )


def final_report(report: Report) -> str:
    """Return the final report with its list of sources; "" while the run is not finished."""
    finished = report.state.finished
    if finished is None or not _draft(report):
        return ""
    listed = source_list(_cited(report), report.passages(_keys(report)))
    return f"{finished.answer}\n\n{listed}" if listed else finished.answer


def _keys(report: Report) -> list[str]:
    """The steps whose findings the report uses."""
    draft = report.of(draft_key(report.last))
    keys = report.research if draft is None else used_research(draft)
    return [item.key for item in report.items(keys) if item.passages]


def _draft(report: Report) -> str:
    """The latest draft; without one, the findings as they are."""
    if report.last:
        return report.text(report.last)
    items = report.items(report.research)
    if report.plan is None or not any(item.findings for item in items):
        return ""
    return findings_as_text(report.plan.title, items, report.passages(report.research))


def _cited(report: Report) -> list[Numbered]:
    passages = report.citable(report.last) if report.last else report.passages(report.research)
    return numbered(_draft(report), passages)


def _finder(report: Report, keys: list[str], source: Numbered) -> str:
    """Return the step that found a source."""
    found = (item.key for item in report.items(keys) for each in item.passages if (each.title, each.url) == source[:2])
    return next(found, "")


# --- gaps ------------------------------------------------------------------------------------------------------------


def _gaps(report: Report) -> Iterator[Gap]:
    state = report.state
    for item in report.items(report.research):
        if not item.findings:
            said = f"; {state.steps[item.key].step.worker}: {_short(item.summary)}" if item.summary else ""
            reason = f"no source answers it{said}"  # what the summary states has no source either
            action = "ask more precisely, or give sources of your own"
            yield gap(state.steps[item.key], FailureClass.INSUFFICIENT, reason, action)
    yield from _writing_gaps(report)
    if report.last:
        yield from _review_gaps(report, report.last)
    for stage in (*report.before, *report.rounds, *report.after):
        if not stage.is_built_in:
            found = report.of(stage_key(stage, 0 if stage in report.before else report.last))
            if found is not None and found.closed and not found.ok and not found.counts:
                yield not_done(f"the stage {stage.name}", found)


def _writing_gaps(report: Report) -> Iterator[Gap]:
    drafts = report.drafts
    if not drafts or not drafts[-1].closed or drafts[-1].ok:
        return
    what = "the revision" if revises(drafts[-1]) and report.last else "the report"
    instead = "the draft before it is used" if report.last else "the findings are listed instead"
    yield not_done(what, drafts[-1], f"; {instead}")


def _review_gaps(report: Report, number: int) -> Iterator[Gap]:
    """What stages still want to have changed, a gap for each stage, and the reviews that gave no verdict."""
    found = judged(report, number)
    wanted: dict[str, list[str]] = {}
    for each in found.remarks:
        if each.by != JUDGE:
            wanted.setdefault(each.by, []).append(
                f"“{_short(each.claim)}”: {each.problem}" if each.claim else each.problem
            )
    for stage, problems in wanted.items() if found.verdict is Verdict.NEEDS_REVISION else ():
        yield Gap(
            name=f"what the {stage} asks for",
            class_=FailureClass.INSUFFICIENT,
            reason="; ".join(problems),
            next_action=f"allow more revisions (max_revisions was {report.run.options.max_revisions})",
        )
    for review in found.unreviewed:
        yield not_done("the review of the draft", review)


def not_done(name: str, step: StepState, more: str = "") -> Gap:
    """Return the gap of what a step did not do."""
    failure = step.failure or Failure.of("it gave no verdict", "no_verdict", FailureClass.INVALID)
    return failure_gap(name, failure, f"{failure.message}{more}")


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME].rsplit(' ', 1)[0]} …"
