"""The report flow: plan, research in parallel, write, review, revise.

::

    plan ─▶ research-1 … research-n in parallel ─▶ draft-1 ─▶ judge ─▶ review ─▶ final report
                                                      ▲                   │
                                                      └── draft-2 … ◀─────┘   NEEDS_REVISION, or contradicted claims:
                                                                              at most max_revisions
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, cast

from pydantic import Field

from leadhand.core.commands import FlowError
from leadhand.core.errors import Failure, FailureClass, UsageError
from leadhand.core.events import Entry
from leadhand.core.relations import is_gated
from leadhand.core.state import RunState, StepState
from leadhand.core.text import did_you_mean
from leadhand.core.value import object_of
from leadhand.core.worker import Worker
from leadhand.flows.draft_rounds import DraftRounds
from leadhand.flows.facts import earlier_facts, today
from leadhand.flows.flow import Desk
from leadhand.flows.plan_gate import DENIED, denial, made_again, page_id
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.details import Details
from leadhand.flows.seam.function import FunctionFlow
from leadhand.flows.seam.pending import Pending
from leadhand.flows.seam.results import Denied, FlowAnswer, Result
from leadhand.flows.seam.run import FunctionRun

from .agents import AgentResult, BoundAgent, worker_of
from .briefs import for_stage, for_writer, research_problems, review_checks, with_passages
from .offline import RULES
from .progress import Draft, Report, given_by
from .shapes import MOST_QUESTIONS, Plan, ReportTask, Research, Section, Verdict
from .stages import PLANNER, RESEARCHER, REVIEWER, Stage, stages_of
from .task import answer_of, not_done, report_task

Facts = Callable[[], dict[str, Any]]


class ReportFlow(FunctionFlow):
    """The report flow of a process with these ``agents``."""

    def __init__(self, agents: Mapping[str, BoundAgent] = MappingProxyType({})) -> None:
        super().__init__(self._write, "report", RULES, self._workers_of, unfinished=self._unfinished)
        self._agents = agents

    def _workers_of(self, options: Any) -> Sequence[Worker]:
        stages = stages_of(options.agents, review=options.review)
        return [worker_of(stage, self._agents.get(stage.agent or "")) for stage in stages]

    def prepared(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a run with what the agents of this process say about their stages."""

        def complete(stage: Any) -> Any:
            stage = {"name": stage} if isinstance(stage, str) else stage
            given = object_of(stage)
            named = given.get("agent") or (given.get("name") if given.get("instructions") is None else None)
            return self._agents[named].placed(given) if isinstance(named, str) and named in self._agents else stage

        stages = options.get("agents")
        if not isinstance(stages, list | tuple):
            return {**options}
        return {**options, "agents": [complete(each) for each in cast("Sequence[Any]", stages)]}

    def check_code(self, options: Any) -> None:
        for stage in stages_of(options.agents, review=options.review):
            if stage.agent:
                self._agent_of(stage)

    def _agent_of(self, stage: Stage) -> BoundAgent:
        """Return the agent of a stage. Raises UsageError if it is not in this process: nothing is imported by name."""
        if (agent := self._agents.get(stage.agent or "")) is None:
            how = f"The classes here are: {', '.join(self._agents) or 'none'}."
            how += did_you_mean(stage.agent or "", self._agents) or " Add it: --agent FILE, or Leadhand(agents=[…])."
            raise UsageError(f"the stage {stage.name} names the agent {stage.agent!r}, which is not here", how)
        return agent

    def task(self, state: RunState, options: Any, entries: Sequence[Entry]) -> ReportTask | None:
        report = self._report(state)
        return report and report_task(report, entries)

    def _unfinished(self, state: RunState) -> FlowAnswer:
        report = self._report(state)
        return answer_of(report) if report else FlowAnswer(uses=())

    def _report(self, state: RunState) -> Report | None:
        """Return what a report has so far: the values of a pass over its log."""
        run = FunctionRun(self, state.definition)
        now = run.advanced(state)
        now.close()
        return now.kept

    async def _write(
        self,
        run: FlowContext,
        max_revisions: Annotated[int, Field(ge=0, le=10)] = 1,
        review: bool = True,
        agents: tuple[Stage, ...] = (),
    ) -> FlowAnswer:
        """Write a report: plan, research in parallel, write with citations, review and revise."""
        report = run.of.kept = _Writing(run, stages_of(agents, review=review), max_revisions)
        report.agent_of = self._agent_of
        await report.prepare()
        draft = await report.draft() if report.passages else None
        while draft is not None and draft.rounds.text:
            await report.carry_out(report.rounds, draft)
            if draft.verdict is not Verdict.NEEDS_REVISION or len(report.drafts) > max_revisions:
                break
            draft = await report.draft(draft)
        if (last := report.last) is not None:
            await report.carry_out(report.after, last)
            await last.rounds.judge_again()
        return answer_of(report)


class _Writing(Report):
    """The steps of a report, which give it its values."""

    agent_of: Callable[[Stage], BoundAgent]

    # --- before the writer -------------------------------------------------------------------------------------------

    async def prepare(self) -> None:
        """Carry out the stages before the writer: the plan, which a person may have to approve, and the research."""
        stages = [*self.before]
        if is_gated(self.run.state):
            stages.sort(key=lambda each: "plan" not in each.gives)  # nothing else begins before a plan is approved
        planning = [each for each in stages if "plan" in each.gives]
        for stage in stages:
            await (self._research(stage) if stage.name == RESEARCHER and not stage.agent else self._add(stage))
            if stage is planning[-1]:
                await self._approve(planning)

    async def _add(self, stage: Stage, denied: Sequence[Mapping[str, Any]] = ()) -> None:
        """Carry out a stage before the writer; ``denied`` are plans that a person denied, with the reasons."""
        given: dict[str, Any] = {"from": [*self.results.values()]} if self.results else {}
        title, text = stage.key(), None
        if denied:
            given["denied"], title = denied, f"{title}, version {len(denied) + 1}"
            text = f"{self.run.worker(stage.name).instructions}\n\n{DENIED}".strip()

        def facts() -> dict[str, Any]:
            if stage.name != PLANNER:
                return for_stage(self, stage, None)
            shown = {"denied": [*denied]} if denied else {}
            return {**earlier_facts(self.run.state), **shown, "most": MOST_QUESTIONS}

        key = page_id(1, len(denied) + 1) if stage.name == PLANNER else stage.key()
        step = self._asked(stage, key, title, given, facts, instructions=text)
        result = self.results[step.key] = await (step if stage.name == PLANNER else self._result(stage, step))
        if "plan" in stage.gives:
            self.take_plan(stage, result)
        if "research" in stage.gives:
            self.take_research(stage, result)

    async def _approve(self, planning: Sequence[Stage]) -> None:
        """Have a person approve the plan, if they want to. For each reason of one who denies it, another is made."""
        denied = list[dict[str, Any]]()
        while True:
            plan = self.plan_shown if isinstance(self.plan, Plan) else {"plan": self.plan}
            if any(each["plan"] == plan for each in denied):
                raise FlowError(made_again())
            said = await self.run.approve(plan, of=[*self.results.values()][-1])
            if not isinstance(said, Denied):
                return
            denied = [*denied, {"plan": plan, "reason": said.reason}]
            if (failure := denial(said.reason, said.by, len(denied), late=said.late)) is not None:
                raise FlowError(failure)
            self.results.clear()
            for stage in planning:
                await self._add(stage, denied)

    async def _research(self, stage: Stage) -> None:
        """Have the questions of the plan researched in parallel."""
        if not isinstance(self.plan, Plan):
            why, how = "no stage gave a plan with a title and sections", "correct the stage that gives the plan"
            raise FlowError(Failure.of(why, "no_plan", FailureClass.INVALID, how))

        async def researched(number: int, section: Section) -> Result:
            given = section.model_dump(mode="json")
            key, facts = f"research-{number}", lambda: {"question": section.question}
            step = self._asked(stage, key, section.heading, given, facts)
            asked = Research(key=step.key, findings=(), **given)
            self.found[step.key] = [asked]
            result = await self._result(stage, step)
            self.take_research(stage, result, asked)  # it is shown before the others have ended
            return result

        sections = enumerate(self.plan.sections, start=1)
        found: list[Result] = await self.run.gather([researched(*each) for each in sections])
        self.results |= {each.key: each for each in found}

    # --- the rounds --------------------------------------------------------------------------------------------------

    async def carry_out(self, stages: Sequence[Stage], draft: Draft) -> None:
        """Carry out stages on a draft, and have it judged once the stages before those that judge have changed it."""
        for stage in stages:
            if stage.judges:
                await draft.rounds.judge()
            await self._in_round(stage, draft)
        await draft.rounds.judge()

    async def draft(self, revised: Draft | None = None) -> Draft:
        """Return a draft; ``revised`` is the one before it, which it revises."""
        number, stage = len(self.drafts) + 1, self.writer
        title, what, instead = f"draft {number}", "the report", "the findings are listed instead"
        given: dict[str, Any] = {"from": [*self.results.values()]}
        if revised is not None:
            title, what, instead = f"{title}, a revision", "the revision", "the draft before it is used"
            given |= {"revises": revised.step.result, "problems": revised.digest}
        step = self._asked(stage, stage.key(number), title, given, lambda: for_writer(self, revised))
        rounds = DraftRounds(self.run, self.passages, None if revised is None else revised.rounds)
        draft = Draft(step, rounds, revised)
        self.drafts.append(draft)
        result = await self._result(stage, step)
        rounds.begin(number, given_by(stage, result, "draft") or "")
        if not result.ok:
            self.gaps.append(not_done(what, result.state, f"; {instead}"))
        return draft

    async def _in_round(self, stage: Stage, draft: Draft) -> None:
        """Carry out a stage that follows the writer: it judges a draft, or changes it."""
        number = draft.rounds.number
        claims = {each.n: each.text for each in draft.rounds.claims}
        title = f"review of draft {number}" if stage.name == REVIEWER else f"{stage.name}, draft {number}"
        given = {"draft": draft.step.result, "of": draft.digest, "missing": self.missing}
        details = {"judges": draft.step.key, "checks": review_checks(claims)} if stage.judges else {}
        step = self._asked(stage, stage.key(number), title, given, lambda: for_stage(self, stage, draft), **details)
        draft.reviews += [step] if stage.judges else []
        result = await self._result(stage, step)
        if stage.judges:
            draft.take_review(stage, result, claims)
        text = given_by(stage, result, "draft") if {"draft", "final_report"} & {*stage.gives} else ""
        if text and text != draft.rounds.text:
            draft.rounds.begin(number, text)

    # --- steps -------------------------------------------------------------------------------------------------------

    def _asked(
        self, stage: Stage, key: str, title: str, given: Mapping[str, Any], facts: Facts, **details: Any
    ) -> Pending[Result]:
        """Ask the worker of a stage; ``facts`` are what it is shown besides the topic."""

        def shows(state: RunState, _: StepState) -> dict[str, Any]:
            topic = {"topic": state.definition.request}
            if stage.agent:
                known = report_task(self).model_dump(mode="json", exclude={"events", "stages"})
                return {"task": {**topic, **known}}
            return {**topic, **({} if stage.name == REVIEWER else today(state)), **facts()}

        async def code(desk: Desk) -> AgentResult:
            return await self.agent_of(stage).carry_out(stage, desk)

        if "research" in stage.gives:
            details |= {"checks": research_problems, "keeps": with_passages}
        if stage.agent:
            details = {name: each for name, each in details.items() if name not in ("checks", "keeps")}
        about, worker = Details(title=title, shows=shows, code=code, **details), self.run.worker(stage.name)
        return self.run.step(worker, key=key, input=given, details=about, final=stage is self.writer)

    async def _result(self, stage: Stage, step: Pending[Result]) -> Result:
        """Return the result of a step, which may have failed; a stage of the user that did not do its part is a gap."""
        result: Result = (await self.run.gather([step], return_failures=True))[0]
        if not result.ok and stage.built_in is None and not result.state.counts:
            self.gaps.append(not_done(f"the stage {stage.name}", result.state))
        return result
