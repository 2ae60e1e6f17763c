"""The report flow: plan, research in parallel, write, review, revise.

::

    plan ─▶ research-1 … research-n in parallel ─▶ draft-1 ─▶ judge ─▶ review ─▶ final report
                                                      ▲                   │
                                                      └── draft-2 … ◀─────┘   NEEDS_REVISION, or contradicted claims:
                                                                              at most max_revisions
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, cast

from pydantic import Field
from pydantic_core import to_jsonable_python

from leadhand.core.errors import Failure, FailureClass, FlowError, UsageError
from leadhand.core.outcome import FlowAnswer
from leadhand.core.state import RunState, StepState
from leadhand.core.text import did_you_mean
from leadhand.core.value import is_object, object_of
from leadhand.core.worker import Worker
from leadhand.flows.flow import Desk
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.function import FunctionFlow
from leadhand.flows.seam.pending import Details, Pending
from leadhand.flows.seam.results import Denied, Result
from leadhand.flows.seam.run import FunctionRun
from leadhand.flows.seam.waits import denial

from .agents import BoundAgent, worker_of
from .briefs import research_problems, shown_to, with_passages
from .offline import RULES
from .report import Draft, Report
from .shapes import Plan, Research, Section, Task, Verdict
from .stages import PLANNER, RESEARCHER, WRITER, Stage, stages_of
from .task import answer_of, report_task

NOTHING: Mapping[str, Any] = MappingProxyType({})


class ReportFlow(FunctionFlow):
    """The report flow of a process with these ``agents``."""

    def __init__(self, agents: Mapping[str, BoundAgent] = NOTHING) -> None:
        super().__init__(self._write, "report", RULES, self._workers_of)
        self.agents = agents

    def _workers_of(self, options: Any) -> Sequence[Worker]:
        """Return the workers of the stages. Raises UsageError if the class of one is not in this process: nothing is
        imported by name."""
        stages = stages_of(options.agents, review=options.review)
        for stage in stages:
            if stage.agent and stage.agent not in self.agents:
                how = f"The classes here are: {', '.join(self.agents) or 'none'}."
                how += did_you_mean(stage.agent, self.agents) or " Add it: --agent FILE, or Leadhand(workers=[…])."
                raise UsageError(f"the stage {stage.name} names the agent {stage.agent!r}, which is not here", how)
        return [worker_of(stage, self.agents.get(stage.agent or "")) for stage in stages]

    def prepared(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a run with what the agents of this process say about their stages."""

        def complete(stage: Any) -> Mapping[str, Any]:
            given = object_of({"name": stage} if isinstance(stage, str) else stage)
            agent = given.get("agent") or (given.get("name") if given.get("instructions") is None else None)
            return self.agents[str(agent)].placed(given) if str(agent) in self.agents else given

        stages = options.get("agents")
        if not isinstance(stages, list | tuple):
            return {**options}
        return {**options, "agents": [complete(each) for each in cast("Sequence[Any]", stages)]}

    def task(self, state: RunState) -> Task | None:
        """Return the task of a run: the values of a pass over its log."""
        now = FunctionRun(self, state.definition).advanced(state)
        now.close()
        return now.kept and report_task(now.kept)

    async def _write(
        self,
        run: FlowContext,
        max_revisions: Annotated[int, Field(ge=0, le=10)] = 1,
        review: bool = True,
        agents: tuple[Stage, ...] = (),
    ) -> FlowAnswer:
        """Write a report: plan, research in parallel, write with citations, review and revise."""
        report = run.of.kept = Report(run, stages_of(agents, review=review), max_revisions)
        run.of.unfinished = partial(answer_of, report)
        await self._prepare(report)
        draft = await self._draft(report) if report.passages else None
        while draft is not None:
            await self._carry_out_all(report, report.rounds, draft)
            if draft.verdict is not Verdict.NEEDS_REVISION or len(report.drafts) > max_revisions:
                break
            draft = await self._draft(report, draft)
        if (last := report.last) is not None:
            await self._carry_out_all(report, report.after, last)
            await last.judge(again=True)
        return answer_of(report, run.state)

    async def _prepare(self, report: Report) -> None:
        """Carry out the stages before the writer: those that plan, until a person approves the plan if somebody has to,
        and those that research."""
        first = 1 + max(at for at, each in enumerate(report.before) if "plan" in each.gives)
        denied: list[dict[str, Any]] = []
        while True:
            for stage in report.before[:first]:
                await self._carry_out(report, stage, more={"denied": [*denied]} if denied else {})
            plan = to_jsonable_python(report.plan)
            plan = plan if is_object(plan) else {"plan": plan}
            said = await report.run.approve(plan, of=[*report.results.values()][-1])
            if not isinstance(said, Denied):
                break
            denied.append({"plan": plan, "reason": said.reason})
            if (failure := denial(said.reason, said.by, len(denied), late=said.late)) is not None:
                raise FlowError(failure)
            report.results, report.found, report.passages = {}, {}, {}
        for stage in report.before[first:]:
            await self._carry_out(report, stage)

    async def _carry_out_all(self, report: Report, stages: Sequence[Stage], draft: Draft) -> None:
        """Carry out stages on a draft, and have it judged once the stages before those that judge have changed it."""
        for stage in stages:
            if stage.judges:
                await draft.judge()
            await self._carry_out(report, stage, draft)
        await draft.judge()

    async def _draft(self, report: Report, revised: Draft | None = None) -> Draft | None:
        """Return a draft, None if its writer fails; ``revised`` is the one before it, which it revises."""
        number = 1 if revised is None else revised.number + 1
        written = await _result(report, self._asked(report, report.writer, report.writer.key(number), revised))
        report.take(report.writer, written)
        return report.last if report.last is not revised else None

    async def _carry_out(
        self, report: Report, stage: Stage, draft: Draft | None = None, more: Mapping[str, Any] = NOTHING
    ) -> None:
        """Carry out a stage other than the writer: on a draft, or before there is one."""
        if stage.name == RESEARCHER and not stage.agent:
            if not isinstance(report.plan, Plan):
                how = "Give it a title and sections, or research with a class of your own, too."
                what = "the plan has no title and sections, which the researcher needs"
                raise FlowError(Failure.of(what, "no_plan", FailureClass.INVALID, how))
            sections = enumerate(report.plan.sections, start=1)
            found: list[Result] = await report.run.gather([self._research(report, stage, *each) for each in sections])
            report.results |= {each.key: each for each in found}
            return
        step = self._asked(report, stage, stage.key(0 if draft is None else draft.number), draft, more)
        if draft is not None and stage.judges:
            draft.reviews[step.key] = None
        result = await (step if stage.name == PLANNER else _result(report, step))
        report.take(stage, result, draft)
        if draft is None or result.key in report.found:
            report.results[result.key] = result

    async def _research(self, report: Report, stage: Stage, number: int, section: Section) -> Result:
        """Have a question of the plan researched. What was found is shown before the others have ended."""
        given = section.model_dump(mode="json")
        step = self._asked(report, stage, stage.key(number), None, given)
        report.found[step.key] = Research(key=step.key, summary="", findings=(), **given)
        report.take(stage, result := await _result(report, step))
        failed = {} if result.failure is None else {"summary": f"its research failed: {result.failure.message}"}
        report.found[step.key] = report.found[step.key].evolve(**given, **failed)
        return result

    def _asked(
        self, report: Report, stage: Stage, key: str, draft: Draft | None = None, more: Mapping[str, Any] = NOTHING
    ) -> Pending[Result]:
        """Ask the worker of a stage. Its input is what a new result of it depends on."""
        given = {**more} if "question" in more else {"from": [*report.results.values()], **more}
        given |= {} if draft is None else {"draft": draft.written, "of": draft.digest}

        def shows(_: RunState, __: StepState) -> dict[str, Any]:
            if stage.agent:
                return {"task": report_task(report).model_dump(mode="json", exclude={"stages"})}
            return shown_to(report, stage, draft, more)

        async def code(desk: Desk) -> dict[str, Any]:
            return await self.agents[stage.agent or ""].carry_out(desk)

        title = key if stage.built_in is None else more.get("heading") or key.replace("-", " ")
        about: dict[str, Any] = {"judges": draft.written.key} if draft is not None and stage.judges else {}
        if "research" in stage.gives and not stage.agent:
            about |= {"checks": research_problems, "keeps": with_passages}
        details = Details(title=title, shows=shows, code=code, **about)
        worker, final = report.run.worker(stage.name), stage.name == WRITER
        return report.run.step(worker, key=key, input=given, details=details, final=final)


async def _result(report: Report, step: Pending[Result]) -> Result:
    """Return the result of a step, which may have failed."""
    return (await report.run.gather([step], return_failures=True))[0]
