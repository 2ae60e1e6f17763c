"""The report flow: plan, research in parallel, write, review, revise.

::

    plan ─▶ research-1 … research-n in parallel ─▶ draft-1 ─▶ judge ─▶ review ─▶ final report
                                                      ▲                   │
                                                      └── draft-2 … ◀─────┘   NEEDS_REVISION, or contradicted claims:
                                                                              at most max_revisions
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from leadhand.core.commands import FlowError
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.events import Entry
from leadhand.core.plan_approval import is_gated
from leadhand.core.state import RunState
from leadhand.core.tool import Effect
from leadhand.core.worker import Worker
from leadhand.flows.draft_rounds import DraftRounds
from leadhand.flows.plan_gate import DENIED, denial, made_again, page_id
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.details import Details
from leadhand.flows.seam.function import FunctionFlow
from leadhand.flows.seam.pending import Pending
from leadhand.flows.seam.results import Denied, FlowAnswer, Result
from leadhand.flows.seam.run import FunctionRun

from . import briefs
from .agents import BoundAgent, agent_of, code_of, completed
from .checks import research_problems, review_checks, with_passages
from .final import answer_of, not_done
from .offline import RULES
from .options import PLANNER, RESEARCHER, REVIEWER, Options, Stage, ordered
from .progress import Draft, Report, Review, plan_in, review_in, text_in
from .shapes import Plan, Section, Verdict
from .task import ReportTask, report_task
from .workers import workers_of


class ReportFlow(FunctionFlow):
    """The report flow of a process with these ``agents``."""

    def __init__(self, agents: Mapping[str, BoundAgent] = MappingProxyType({})) -> None:
        def workers(options: Options) -> Sequence[Worker]:
            return workers_of(options.stages, agents)

        super().__init__(self._write, "report", RULES, workers, unfinished=self._unfinished)
        self.Options, self._agents = Options, agents

    def prepared(self, options: Mapping[str, Any]) -> dict[str, Any]:
        return completed(options, self._agents)

    def check_code(self, options: Options) -> None:
        for stage in options.stages:
            if stage.agent:
                agent_of(stage, self._agents)

    def task(self, state: RunState, options: Any, entries: Sequence[Entry]) -> ReportTask | None:
        report = self._report(state)
        return None if report is None else report_task(report, entries)

    def _unfinished(self, state: RunState) -> FlowAnswer:
        report = self._report(state)
        return FlowAnswer(uses=()) if report is None else answer_of(report)

    def _report(self, state: RunState) -> Report | None:
        """Return what a report has so far: the values of a pass over its log."""
        run = FunctionRun(self, state.definition)
        now = run.advanced(state)
        while now.missing:  # large data of tools, of which nothing is shown
            now.loaded |= {(key, each.attempts): {} for key, each in now.missing.items()}
            now.missing = {}
            now = run.advanced(state)
        now.close()
        return now.kept

    async def _write(
        self, run: FlowContext, max_revisions: int = 1, review: bool = True, agents: tuple[Stage, ...] = ()
    ) -> FlowAnswer:
        """Write a report: plan, research in parallel, write with citations, review and revise."""
        report = run.of.kept = Report(run, ordered(agents, review=review), max_revisions, self._agents)
        await prepare(report)
        if report.passages:
            await write(report)
        return answer_of(report)


# --- before the writer -----------------------------------------------------------------------------------------------


async def prepare(report: Report) -> None:
    """Carry out the stages before the writer: the plan, which a person may have to approve, and the research."""
    if not reading_tools(report.run.state) and not any(each.agent for each in report.before if each.name == RESEARCHER):
        how = "let it use web_search, or tools of your own that find sources"
        raise FlowError(Failure.of("the run has no tool for sources", "no_tools", FailureClass.UNAVAILABLE, how))
    planning: list[Stage] = []
    approved: Any = None
    for stage in report.before:
        if "plan" in stage.gives:
            planning.append(stage)
        elif planning and report.plan is None:
            raise no_plan(report)
        elif is_gated(report.run.state) and report.plan != approved:
            approved = await _approved(report, planning)
        elif is_gated(report.run.state) and not planning:
            continue  # nothing begins before there is a plan
        await (_research(report, stage) if stage.name == RESEARCHER and not stage.agent else _add(report, stage))


async def _add(report: Report, stage: Stage, denied: Sequence[Mapping[str, Any]] = ()) -> None:
    """Carry out a stage before the writer; ``denied`` are plans that a person denied, with the reasons."""
    key, shows = stage.key(), briefs.for_stage(report, stage, None)
    if stage.name == PLANNER:
        key, shows = page_id(1, len(denied) + 1), briefs.for_planner(denied)
    details = Details(title=stage.key(), shows=shows)
    given: dict[str, Any] = {"from": report.results} if report.results else {}
    if denied:
        more = f"{report.run.worker(stage.name).instructions}\n\n{DENIED}".strip()
        details = details.of(title=f"{stage.key()}, version {len(denied) + 1}", instructions=more)
        given["denied"] = denied
    result = report.given[stage.name] = await _carried_out(report, stage, asked(report, stage, key, given, details))
    if "plan" in stage.gives:
        report.plan = plan_in(stage, result) or report.plan
    if "research" in stage.gives:
        report.take_research(stage, result)


async def _approved(report: Report, planning: Sequence[Stage]) -> Any:
    """Return the plan that a person has approved. For each reason of a person who denies one, another is made."""
    denied: list[dict[str, Any]] = []
    while report.plan is not None:
        plan: Any = report.plan.model_dump(mode="json") if report.outline is not None else {"plan": report.plan}
        if any(each["plan"] == plan for each in denied):
            raise FlowError(made_again())
        made = report.given[planning[-1].name]
        said = await report.run.approve(plan if planning[-1].agent or not made.ok else Result(made.state, Plan))
        if not isinstance(said, Denied):
            return report.plan
        denied.append({"plan": plan, "reason": said.reason})
        if (failure := denial(said.reason, said.by, len(denied), late=said.late)) is not None:
            raise FlowError(failure)
        report.plan = None
        for stage in planning:
            await _add(report, stage, denied)
    raise no_plan(report)


async def _research(report: Report, stage: Stage) -> None:
    """Have the questions of the plan researched in parallel."""
    if report.outline is None:
        raise no_plan(report)
    before, sections = report.found, report.outline.sections

    async def researched(number: int, section: Section) -> Result:
        details = Details(title=section.heading, shows=briefs.for_researcher(section))
        step = asked(report, stage, f"research-{number}", section.model_dump(mode="json"), details)
        report.questions[step.key] = section
        result = await _carried_out(report, stage, step)
        report.take_research(stage, result, section)  # it is shown before the others have ended
        return result

    results: list[Result] = await report.run.gather(itertools.starmap(researched, enumerate(sections, start=1)))
    report.found = before
    for section, result in zip(sections, results, strict=True):
        report.given[result.key] = result
        report.take_research(stage, result, section)


# --- the rounds ------------------------------------------------------------------------------------------------------


async def write(report: Report) -> None:
    """Write the report, and revise it while its judges ask for that."""
    draft, closed = await _drafted(report), None
    while draft.text:
        if not await _wants_revision(report, draft, report.rounds):
            closed = draft
            if not await _wants_revision(report, draft, report.after):
                break
        draft = await _drafted(report, draft)
    if (last := report.last) is not None:
        if closed is not last:  # its revision failed
            await _wants_revision(report, last, report.after)
        await last.rounds.judge_again()


async def _wants_revision(report: Report, draft: Draft, stages: Sequence[Stage]) -> bool:
    """Carry out stages on a draft, and have it judged; return whether another draft follows."""
    for stage in stages:
        if stage.judges:
            await draft.rounds.judge(draft.number, draft.text)  # once the stages before have changed it
        await _in_round(report, stage, draft)
    await draft.rounds.judge(draft.number, draft.text)
    is_left = report.revisions < report.max_revisions and not draft.ran_out
    return is_left and draft.verdict is Verdict.NEEDS_REVISION


async def _drafted(report: Report, revised: Draft | None = None) -> Draft:
    """Return a draft, of which one that is ``revised`` is the one before."""
    number, stage = len(report.drafts) + 1, report.writer
    rounds = DraftRounds(report.run, report.passages) if revised is None else revised.rounds.following()
    draft = Draft(number, stage.key(number), rounds, revised)
    report.drafts.append(draft)
    title, what, instead = f"draft {number}", "the report", "the findings are listed instead"
    given: dict[str, Any] = {"number": number, "from": report.results}
    if revised is not None:
        title, what, instead = f"{title}, a revision", "the revision", "the draft before it is used"
        given |= {"revises": revised.result, "problems": revised.digest()}
    step = asked(report, stage, draft.key, given, Details(title=title, shows=briefs.for_writer(report, revised)))
    draft.key = step.key
    draft.result = await _carried_out(report, stage, step)
    draft.take(text_in(stage, draft.result))
    if not draft.result.ok:
        report.gaps.append(not_done(what, draft.result.state, f"; {instead}"))
    return draft


async def _in_round(report: Report, stage: Stage, draft: Draft) -> None:
    """Carry out a stage that follows the writer: it judges a draft, or changes it."""
    title = f"review of draft {draft.number}" if stage.name == REVIEWER else f"{stage.name}, draft {draft.number}"
    details = Details(title=title, shows=briefs.for_stage(report, stage, draft))
    claims = {each.n: each.text for each in draft.rounds.claims}
    if stage.judges:
        details = details.of(judges=draft.key, checks=review_checks(claims))
    given = {"number": draft.number, "draft": draft.result, "of": draft.digest(), "missing": report.missing}
    step = asked(report, stage, stage.key(draft.number), given, details)
    judges = stage.judges and stage in report.rounds
    draft.reviews += [Review(stage.name, step.key)] if judges else []
    result = await _carried_out(report, stage, step)
    if judges:
        draft.reviews[-1] = review_in(stage, result, claims)
    draft.take(text_in(stage, result))


# --- steps -----------------------------------------------------------------------------------------------------------


def asked(report: Report, stage: Stage, key: str, given: Mapping[str, Any], details: Details) -> Pending[Result]:
    """Ask the worker of a stage."""
    tools: Sequence[str] | None = None
    if stage.agent:
        details = details.of(shows=briefs.for_code(report), checks=None)
    elif "research" in stage.gives:
        tools = reading_tools(report.run.state) if stage.tools is None else None
        details = details.of(checks=research_problems, keeps=with_passages)
    worker, is_final = report.run.worker(stage.name), stage is report.writer
    return report.run.step(
        worker, key=key, input=given, details=details, tools=tools, final=is_final, code=code_of(stage, report.agents)
    )


async def _carried_out(report: Report, stage: Stage, step: Pending[Result]) -> Result:
    """Return the result of a step, which may have failed; a stage of the user that did not do its part is a gap."""
    result: Result = (await report.run.gather([step], return_failures=True))[0]
    if not result.ok and not stage.is_built_in and not result.state.counts:
        report.gaps.append(not_done(f"the stage {stage.name}", result.state))
    return result


def reading_tools(state: RunState) -> list[str]:
    """The tools of the run that only read: those for sources and those of users, without the other built-in ones."""
    tools = [tool for tool in state.definition.tools if tool.effect is Effect.PURE and not tool.delegate]
    chosen = [tool.name for tool in tools if "web" in tool.toolset or not tool.import_path.startswith("leadhand.")]
    return chosen or [tool.name for tool in tools]


def no_plan(report: Report) -> FlowError:
    """Return why a run ends without a plan that it can carry out."""
    planned = report.given.get(PLANNER)
    if planned is not None and planned.failure is not None:
        return FlowError(planned.failure)
    how = "correct the stage that gives the plan"
    return FlowError(Failure.of("no stage gave a plan with a title and sections", "no_plan", FailureClass.INVALID, how))
