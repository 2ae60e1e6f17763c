"""The research flow: a lead that plans, dispatches subagents and answers, in a loop that it ends itself.

::

    lead ─▶ todos, files, subagents (its children, in parallel) ─▶ answer ─▶ the end of every flow: judge, correct once
      └── a limit ends it ─▶ answer, from what was found ──────────────────▶
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from leadhand.core.outcome import FlowAnswer
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.function import FunctionFlow
from leadhand.flows.seam.pending import Details, Pending
from leadhand.flows.seam.results import Result

from .answer import answer
from .findings import Findings, for_answer, for_lead, for_subagent
from .offline import RULES
from .replies import subagent_problems, with_files, with_passages
from .workers import LEAD, WRITER, workers

SUBAGENTS = Details(shows=for_subagent, checks=subagent_problems, keeps=with_passages)


async def _research(
    run: FlowContext,
    max_turns: Annotated[int, Field(ge=1, le=1_000)] = 60,
    max_subagents: Annotated[int, Field(ge=0, le=1_000)] = 40,
) -> FlowAnswer:
    """Answer a question by research: a lead with todos and files dispatches subagents that search."""
    details = Details(title=LEAD, shows=for_lead, keeps=with_files, children=SUBAGENTS)
    writer: Pending[Result] | None = None
    run.of.unfinished = lambda state: answer(state, writer and state.steps.get(writer.key))
    lead = await run.step(run.worker(LEAD), key=LEAD, input={}, details=details, optional=True, final=True)
    if not lead.ok and (findings := Findings(run.state)).found:
        given = {"research": lead, "attempt": lead.attempt}  # one that continued may have found more
        details = Details(title="Answer from what was found", shows=for_answer(findings))
        writer = run.step(run.worker(WRITER), key="answer", input=given, details=details, optional=True, final=True)
        await writer
    return run.of.unfinished(run.state)


research = FunctionFlow(_research, "research", RULES, workers, plans=False, reads_artifacts=True)
