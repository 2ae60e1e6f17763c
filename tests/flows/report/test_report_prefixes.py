"""Cut after any event, the log of a report has exactly the steps that its flow asks for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.judges import judge
from leadhand import RunStatus
from leadhand.app.project.source_files import workers_and_agents
from leadhand.core.events import Entry, StepIssued
from leadhand.core.evolve import replay
from leadhand.flows.closing import policy_of
from leadhand.flows.report.flow import ReportFlow
from leadhand.report import Agent, AgentResult, Task

from .reports import APPROVED, BROKEN, CONTRADICTED, REVISE, SOUND, TOPIC, WRONG, in_turn, lead, model, plan

POLISHER = {"name": "polisher", "after": "writer", "instructions": "Polish it.", "gives": ["draft"]}
CHECKER = {"name": "checker", "instructions": "Check it."}


class Scout(Agent):
    after = "researcher"
    gives = ("research",)

    async def run(self, task: Task) -> AgentResult:
        return AgentResult(updates={"research": [*task.research, "The cellar is dry."]})


def unlike(entries: list[Entry], flow: ReportFlow) -> Iterator[tuple[int, Any]]:
    """Yield each prefix of a log of which a new pass asks for other steps, with these."""
    run_id, issued = "run", {each.event.step.step_id for each in entries if isinstance(each.event, StepIssued)}
    for length in range(1, len(entries)):
        state = replay(run_id, entries[:length])
        run = policy_of(flow, state.definition)
        now = run.advanced(state)
        unknown = [key for key in now.steps if key not in issued and not key.startswith("?")]
        lost = [key for key, each in state.steps.items() if each.closed and key not in now.steps]
        if unknown or lost or now.strays:
            yield length, (unknown, lost, now.strays)
        now.close()


@pytest.mark.parametrize(
    ("answers", "stages", "options"),
    [
        ({"draft_1": WRONG, "review_2": REVISE, "review_3": APPROVED}, [], {"max_revisions": 2}),
        ({"writer": WRONG}, [], {"max_revisions": 0}),
        ({"draft_1": WRONG, "polisher": SOUND, "checker": in_turn(REVISE, APPROVED)}, [POLISHER, CHECKER], {}),
        ({"research_2": BROKEN, "draft_2": BROKEN, "review_1": REVISE}, [], {}),
        ({"writer": BROKEN}, ["scout"], {}),
        ({"planner": BROKEN}, [], {}),
    ],
    ids=["revised", "contradicted", "stages", "failing", "code", "no plan"],
)
async def test_every_prefix_of_a_report(home: Path, answers: Any, stages: list[Any], options: Any) -> None:
    scripted = model(**answers, judge=judge(CONTRADICTED))
    async with lead(home, scripted, check="judge", max_workers=4, agents=[Scout]) as opened:
        answer = await opened.run(TOPIC, flow="report", agents=stages, **options)
        entries = await (await opened.runtime()).store.read(answer.run_id)
    assert [*unlike(entries, ReportFlow(workers_and_agents([Scout])[1]))] == []


async def test_every_prefix_of_a_report_whose_plan_was_denied(home: Path) -> None:
    other = {**plan(None), "title": "Heat pumps"}
    async with lead(home, model(plan=plan, plan_2=other)) as opened:
        run = await opened.start(TOPIC, flow="report", approve_plan=True)
        await run.wait()
        await run.deny((await run.approvals())[0], reason="The title is too long.")
        await run.wait()
        await run.approve((await run.approvals())[0])
        answer = await run.answer()
        entries = await (await opened.runtime()).store.read(answer.run_id)
    assert answer.status is RunStatus.SUCCEEDED
    assert answer.document["task"]["plan"]["title"] == "Heat pumps"
    assert [*unlike(entries, ReportFlow())] == []
