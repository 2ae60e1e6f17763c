"""The end of a research run: the text of its answer, its sources and its gaps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from leadhand.domain.advice import next_action
from leadhand.domain.commands import Cited, Outcome
from leadhand.domain.decide.asks import NO_MORE_CHILDREN
from leadhand.domain.errors import Failure, FailureClass
from leadhand.domain.evolve.calls import CHILD_FAILED
from leadhand.domain.outcome import CHECK, gap_of
from leadhand.domain.run import Gap
from leadhand.domain.state import AssignmentState
from leadhand.flows.report.final import failure_gap, verdict_gaps
from leadhand.flows.report.rendering import Numbered, body, numbered

from .options import LEAD
from .progress import GAVE_UP, LISTED, Research, answer_key
from .questions import needs_no_source

_FILE_MARK = re.compile(r"[ \t]*\[memory/[^\[\]\n]*\](?!\()")
MORE_SOURCES = "ask more precisely, or add sources: --documents DIR, or a tool that searches"
ALONE = "it rests on no source: the model wrote it without research"


def outcome(research: Research) -> Outcome:
    """Return the outcome of a run as it is now."""
    number = LISTED if research.last is None else research.last
    text = research.text(number)
    cited = numbered(text, research.passages)
    whole = body(text, research.statements(number), research.judged(number).refuted, cited)
    return Outcome(
        answer=_FILE_MARK.sub("", whole),
        uses=_keys(research),
        gaps=[
            *_unchecked(research, cited),
            *_gaps(research, number),
        ],
        sources=[Cited(source.title, source.url, _finder(research, source)) for source in cited],
    )


def _keys(research: Research) -> list[str]:
    """The assignments that the answer rests on; of one that rests on no source, the one that wrote it."""
    keys = [key for key, found in research.found.items() if found.passages]
    keys += [LEAD] if research.files else []
    if keys:
        return keys
    return [answer_key(research.last)] if research.last is not None else list(research.found)


def _finder(research: Research, source: Numbered) -> str:
    """Return the assignment that found a source."""
    found = (key for key, each in research.found.items() for at in each.passages if (at.title, at.url) == source[:2])
    return next(found, LEAD)


# --- gaps ------------------------------------------------------------------------------------------------------------


def _unchecked(research: Research, cited: Iterable[Numbered]) -> Iterator[Gap]:
    """The files of earlier runs that the answer cites: models wrote them, and this run has not seen their sources."""
    earlier = {each.path: each for each in research.state.definition.earlier}
    for source in cited:
        if not source.url and (file := earlier.get(source.title)) is not None:
            reason = f"the run {file.run_id} wrote it on {file.at:%Y-%m-%d}, and it was not checked again"
            how = "check it, or delete that run and ask again"
            yield Gap(name=file.path, class_=FailureClass.INSUFFICIENT, reason=reason, next_action=how)


def _gaps(research: Research, number: int) -> Iterator[Gap]:
    state, lead = research.state, research.lead
    if lead is not None and lead.closed and not lead.ok:
        yield _ended_early(research, lead)
    for each in research.unanswered:
        found = gap_of(state, each)
        action = "" if each.failure is None else advised(research, each.failure).next_action
        if lead is not None and lead.stopped is None:  # a lead that has answered does not continue
            action = action.replace("and resume the run", "and ask again")
        yield found.evolve(next_action=action or found.next_action)
    if lead is not None and any(NO_MORE_CHILDREN in call.error for call in lead.made):
        most = research.run.options.max_subagents
        reason = f"the lead wanted more than {most} subagents, which is the limit"
        action = f"raise it with --option max_subagents={2 * most or 10}, and ask again"
        yield Gap(name="the research", class_=FailureClass.EXHAUSTED, reason=reason, next_action=action)
    if research.direct and research.text(number):
        if research.run.earlier is not None or not needs_no_source(research.run.request, research.text(number)):
            yield Gap(name="the answer", class_=FailureClass.INSUFFICIENT, reason=ALONE, next_action=CHECK)
        for name in research.invented:
            reason = f"it cites {name}, which does not exist"
            yield Gap(name="the answer", class_=FailureClass.INSUFFICIENT, reason=reason, next_action=CHECK)
    yield from verdict_gaps(state, research.judged(number), research.passages, "the answer")
    for each in research.answers.values():
        if each.closed and not each.ok:
            revises = "revises" in each.assignment.input
            instead = "; the answer before it is used" if revises else "; what the subagents found is listed instead"
            yield failure_gap(state, "the revision" if revises else "the answer", each, instead)


def _ended_early(research: Research, lead: AssignmentState) -> Gap:
    failure = lead.failure or Failure.of("it gave no answer", "no_answer", FailureClass.INVALID)
    more = "; the answer is written from what was found until then" if research.last is not None else ""
    found = failure_gap(research.state, "the research", lead, more)
    return found.evolve(next_action=advised(research, failure).next_action)


def advised(research: Research, found: Failure) -> Failure:
    """Return a failure of the lead or a subagent with the advice of this flow."""
    action = next_action(research.state, found)
    if found.type == GAVE_UP and "another model" in action:
        action = MORE_SOURCES
    elif found.type == CHILD_FAILED:
        failed = (each.failure for each in research.subagents if each.failure is not None)
        cause = next((each for each in failed if each.message == found.message), None)
        action = action if cause is None else advised(research, cause).next_action
    return found.evolve(next_action=action)
