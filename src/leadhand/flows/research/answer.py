"""The end of a research run: the text of its answer, its sources and its gaps."""

from __future__ import annotations

from collections.abc import Iterator

from leadhand.core.commands import Cited, Outcome
from leadhand.core.decide.asks import NO_MORE_CHILDREN
from leadhand.core.errors import CHILD_FAILED, Failure, FailureClass
from leadhand.core.outcome import gap_of
from leadhand.core.run import Gap
from leadhand.core.state import StepState
from leadhand.flows.report.final import not_done
from leadhand.flows.report.rendering import Numbered, body, numbered

from .options import LEAD
from .progress import GAVE_UP, LISTED, Research, answer_key

MORE_SOURCES = "ask more precisely, or add sources: --documents DIR, or a tool that searches"


def outcome(research: Research) -> Outcome:
    """Return the outcome of a run as it is now."""
    number = LISTED if research.last is None else research.last
    text = research.text(number)
    cited = numbered(text, research.passages)
    answer = body(text, cited)
    judges = research.state.definition.check != "off" and number != LISTED and not research.direct
    return Outcome(
        answer=answer,
        uses=_keys(research),
        gaps=list(_gaps(research)),
        sources=[Cited(source.title, source.url, _finder(research, source)) for source in cited],
        judgement=research.judging(number).judgement(answer) if judges else None,
    )


def _keys(research: Research) -> list[str]:
    """The steps that the answer rests on; of one that rests on no source, the one that wrote it."""
    keys = [key for key, found in research.found.items() if found.passages]
    keys += [LEAD] if research.files else []
    if keys:
        return keys
    return [answer_key(research.last)] if research.last is not None else list(research.found)


def _finder(research: Research, source: Numbered) -> str:
    """Return the step that found a source."""
    found = (key for key, each in research.found.items() for at in each.passages if (at.title, at.url) == source[:2])
    return next(found, LEAD)


# --- gaps ------------------------------------------------------------------------------------------------------------


def _gaps(research: Research) -> Iterator[Gap]:
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
    for each in research.answers.values():
        if each.closed and not each.ok:
            revises = "revises" in each.step.input
            instead = "; the answer before it is used" if revises else "; what the subagents found is listed instead"
            yield not_done("the revision" if revises else "the answer", each, instead)


def _ended_early(research: Research, lead: StepState) -> Gap:
    failure = lead.failure or Failure.of("it gave no answer", "no_answer", FailureClass.INVALID)
    more = "; the answer is written from what was found until then" if research.last is not None else ""
    found = not_done("the research", lead, more)
    return found.evolve(next_action=advised(research, failure).next_action)


def advised(research: Research, found: Failure) -> Failure:
    """Return a failure of the lead or a subagent with the advice of this flow."""
    action = found.next_action
    if found.type == GAVE_UP and "another model" in action:
        action = MORE_SOURCES
    elif found.type == CHILD_FAILED:
        failed = (each.failure for each in research.subagents if each.failure is not None)
        cause = next((each for each in failed if each.message == found.message), None)
        action = action if cause is None else advised(research, cause).next_action
    return found.evolve(next_action=action)
