"""The end of a research run: the text of its answer, its sources and its gaps."""

from __future__ import annotations

from collections.abc import Iterator

from leadhand.core.decide.asks import NO_MORE_CHILDREN
from leadhand.core.errors import CHILD_FAILED, Failure, FailureClass
from leadhand.core.outcome import FlowAnswer, gap_of
from leadhand.core.run import Gap
from leadhand.core.state import RunState, StepState
from leadhand.flows.passages import body, numbered
from leadhand.flows.report.task import not_done
from leadhand.flows.seam.results import Result

from .findings import Findings
from .workers import LEAD, WRITER

MORE_SOURCES = "ask more precisely, or add sources: --documents DIR, or a tool that searches"


def answer(state: RunState, writer: StepState | None) -> FlowAnswer:
    """Return the answer of the lead, or that of the ``writer``; without one, what was found so far is listed."""
    if LEAD not in state.steps:
        return FlowAnswer(uses=())
    findings = Findings(state)
    written = next((each for each in (findings.lead, writer) if each is not None and each.ok), None)
    text, passages, gaps = findings.text(written), findings.passages, [*_gaps(state, findings, writer)]
    cited = numbered(text, passages)
    shown = body(text, cited)
    named = {name: each for name, each in passages.items() if all(name not in source.passages for source in cited)}
    for number, source in enumerate(cited, start=1):  # the text cites sources, each with what it says in all passages
        found = [passages[name] for name in source.passages]
        named[f"{number}"] = found[0].evolve(text="\n\n".join(each.text for each in found))
    rests_on = [each for each in findings.answered if findings.found[each.key].passages]
    rests_on += [findings.lead] if findings.files else []
    rests_on = rests_on or ([*findings.answered] if written is None else [written])
    return FlowAnswer(
        text=shown,
        uses=[Result(each) for each in rests_on],
        gaps=gaps,
        sources=[(each.title, each.url) for each in cited],
        passages=named or None,
        writer=WRITER,
    )


def _gaps(state: RunState, findings: Findings, writer: StepState | None) -> Iterator[Gap]:
    lead = findings.lead
    if lead.closed and not lead.ok:
        has_answer = writer is not None and writer.ok
        more = "; the answer is written from what was found until then" if has_answer else ""
        yield _advised(not_done("the research", lead, more), lead.failure)
    for each in findings.unanswered:
        yield _advised(gap_of(state, each), each.failure)
    if any(NO_MORE_CHILDREN in call.error for call in lead.made):
        most = state.definition.options["max_subagents"]
        reason = f"the lead wanted more than {most} subagents, which is the limit"
        action = f"raise the option max_subagents to {2 * most or 10}, and ask again"
        yield Gap(name="the research", class_=FailureClass.EXHAUSTED, reason=reason, next_action=action)
    if writer is not None and writer.closed and not writer.ok:
        yield not_done("the answer", writer, "; what the subagents found is listed instead")


def _advised(gap: Gap, failure: Failure | None) -> Gap:
    """Return a gap with advice on sources if its worker could not answer, and neither a limit nor an error stopped
    it."""
    is_open = failure is not None and failure.type in ("gave_up", CHILD_FAILED)
    return gap.evolve(next_action=MORE_SOURCES) if is_open and gap.class_ is FailureClass.INVALID else gap
