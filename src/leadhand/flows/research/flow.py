"""The research flow: a lead that plans, dispatches subagents and answers, in a loop that it ends itself.

::

    lead ─▶ todos, files, subagents (its children, in parallel) ─▶ answer ─▶ judge ─▶ end
      │                                                                 ▲         │
      └── a limit ends it ─▶ answer-1, from what was found              └─────────┘  contradicted: answer-n,
                                                                                     at most max_revisions
"""

from __future__ import annotations

from itertools import count
from typing import Annotated, Any

from pydantic import Field

from leadhand.core.outcome import FlowAnswer
from leadhand.core.run import Gap
from leadhand.flows.draft_rounds import DraftRounds
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.details import Details
from leadhand.flows.seam.function import FunctionFlow
from leadhand.flows.seam.results import Result

from .answer import answer, unfinished
from .findings import Findings, Shows, for_answer, for_lead, for_revision, for_subagent
from .offline import RULES
from .replies import subagent_problems, with_files, with_passages
from .workers import LEAD, WRITER, workers

SUBAGENTS = Details(shows=for_subagent, checks=subagent_problems, keeps=with_passages)


async def _research(
    run: FlowContext,
    max_turns: Annotated[int, Field(ge=1, le=1_000)] = 60,
    max_subagents: Annotated[int, Field(ge=0, le=1_000)] = 40,
    max_revisions: Annotated[int, Field(ge=0, le=10)] = 1,
) -> FlowAnswer:
    """Answer a question by research: a lead with todos and files dispatches subagents that search."""
    details = Details(title=LEAD, shows=for_lead, keeps=with_files, children=SUBAGENTS)
    lead = await run.step(run.worker(LEAD), key=LEAD, input={}, details=details, optional=True, final=True)
    findings, judging, answers = Findings(run.state, lead.state), None, [lead]
    if not lead.ok and findings.found:
        given = {"research": lead, "attempt": lead.attempt}  # one that continued may have found more
        answers.append(await _written(run, 1, "answer from what was found", given, for_answer(findings)))
    if answers[-1].ok and findings.passages:
        judging = DraftRounds(run, findings.passages)
        for revision in count(1):
            before, text = answers[-1], findings.text(answers[-1].state)
            judging.begin(len(answers) - 1, text)
            judging.gaps = [*map(Gap.shown, answer(run.state, findings, [each.state for each in answers]).gaps)]
            await judging.judge()
            problems = [{"statement": each.text, "problem": each.problem} for each in judging.findings()]
            if not problems or revision > max_revisions:
                break
            title, given = f"revision {revision} of the answer", {"revises": before, "problems": problems}
            answers.append(await _written(run, len(answers), title, given, for_revision(findings, text, problems)))
            if not answers[-1].ok:
                break
        await judging.judge(again=True)
    return answer(run.state, findings, [each.state for each in answers], judging)


async def _written(run: FlowContext, number: int, title: str, given: dict[str, Any], shows: Shows) -> Result:
    """Return what the writer writes as an answer of this number; it can fail."""
    details, given = Details(title=title, shows=shows), {"number": number, **given}
    return await run.step(
        run.worker(WRITER), key=f"answer-{number}", input=given, details=details, optional=True, final=True
    )


research = FunctionFlow(_research, "research", RULES, workers, plans=False, reads_artifacts=True, unfinished=unfinished)
