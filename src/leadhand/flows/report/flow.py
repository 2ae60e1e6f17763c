"""The report flow: plan, research in parallel, write, review, revise.

::

    plan ─▶ research-1 … research-n in parallel ─▶ draft-1 ─▶ judge ─▶ review ─▶ final report
                                                      ▲                   │
                                                      └── draft-2 … ◀─────┘   NEEDS_REVISION, or contradicted claims:
                                                                              at most max_revisions
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from leadhand.core.blob import blob_of
from leadhand.core.commands import Command, Finish, IssueStep, Outcome
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.events import Entry
from leadhand.core.plan_approval import is_gated
from leadhand.core.state import StepState
from leadhand.core.tool import Effect
from leadhand.core.value import Json, object_of, objects_of
from leadhand.core.worker import Worker
from leadhand.flows.desk import Code
from leadhand.flows.flow import Flow, Result
from leadhand.flows.judging import Round, judge_reply
from leadhand.flows.passages import of_passages, passages_in
from leadhand.flows.plan_gate import DENIED, held, page_id, plan_number, plan_refused
from leadhand.flows.run_view import RunView, StepView
from leadhand.verify.judge import JUDGE, reply_schema
from leadhand.verify.material import Material

from . import judging
from .agents import BoundAgent, check_agents, completed
from .briefs import brief
from .final import outcome
from .offline import RULES
from .options import PLANNER, RESEARCHER, REVIEWER, WRITER, Options, Stage
from .progress import Report, draft_key, stage_key, used_research
from .roles import roles
from .shapes import Evidence, Findings, Verdict
from .task import ReportTask, report_task

MOST_PASSAGES = 24
"""Passages that one researcher can name."""


class ReportFlow(Flow):
    """Plan a report, research its questions in parallel, write it from cited passages, review and revise it."""

    name = "report"
    version = 1
    plans = True
    description = "Write a report: plan, research in parallel, write with citations, review and revise."
    offline = RULES
    Options = Options

    def __init__(self, agents: Mapping[str, BoundAgent] = MappingProxyType({})) -> None:
        self._agents = agents

    def prepared(self, options: Mapping[str, Any]) -> dict[str, Any]:
        return completed(options, self._agents)

    def check_code(self, options: Options) -> None:
        check_agents(options.stages, self._agents)

    def roles(self, options: Options) -> Sequence[Worker]:
        return roles(options, self._agents)

    def code(self, run: RunView[Options], step: StepView) -> Code:
        check_agents(run.options.stages, self._agents)
        stage = Report(run).stages[step.worker]
        return self._agents[stage.agent or ""].code(stage, run.request)

    def next(self, run: RunView[Options]) -> Sequence[Command]:
        return _next(Report(run))

    def brief(self, run: RunView[Options], step: StepState) -> dict[str, Any]:
        return brief(Report(run), step)

    def schema(self, run: RunView[Options], step: StepState) -> dict[str, Any] | None:
        given = step.step
        return reply_schema(given.input["claims"]) if given.worker == JUDGE else None

    def problems(self, run: RunView[Options], step: StepView, result: Result) -> list[str]:
        report = Report(run)
        stage = report.stages.get(step.worker)
        if stage is None or stage.agent:
            return []
        if "research" in stage.gives:
            return _research_problems(result)
        if stage.judges:
            claims = report.claims(step.input["number"], stage.name)
            return judging.problems(result.value, [each.n for each in claims])
        return []

    def accepted(self, run: RunView[Options], step: StepView, result: Result) -> Json:
        if step.worker == JUDGE:
            claims = Report(run).judging(step.input["of"]).claims
            return judge_reply(run.state, step.input, claims, result.value, result.brief)
        stage = run.options.stages
        if any("research" in each.gives and not each.agent for each in stage if each.name == step.worker):
            return _with_passages(result)
        return result.value

    def outcome(self, run: RunView[Options]) -> Outcome:
        return outcome(Report(run))

    def material(self, run: RunView[Options]) -> Material:
        report = Report(run)
        return of_passages(run.state, report.passages(report.research))

    def task(self, run: RunView[Options], entries: Sequence[Entry]) -> ReportTask:
        return report_task(Report(run), entries)


# --- what happens next -----------------------------------------------------------------------------------------------


def _next(report: Report) -> Sequence[Command]:
    if not report.state.steps and not _reading_tools(report) and not report.stages[RESEARCHER].agent:
        how, message = (
            "let it use web_search, or tools of your own that find sources",
            "the run has no tool for sources",
        )
        return [Finish(failure=Failure.of(message, "no_tools", FailureClass.UNAVAILABLE, how))]
    refused, gated = plan_refused(report.state), is_gated(report.state)
    if refused is not None:
        return [Finish(failure=refused)]
    for stage in report.before:
        if gated and "plan" not in stage.gives:
            if report.plan is None:
                continue  # nothing begins before there is a plan
            gate = held(report.state, report.plan.model_dump(mode="json"), report.planner)
            if gate is not None:
                return gate
        wanted = _before_writing(report, stage)
        if wanted is not None:
            return wanted
    if report.plan is None:
        return [Finish(failure=_plan_failure(report))]
    if not report.passages(report.research):
        return [Finish()]
    return _rounds(report)


def _before_writing(report: Report, stage: Stage) -> Sequence[Command] | None:
    """Return the next commands of a stage before the writer; None when it is done."""
    if stage.name == RESEARCHER and not stage.agent:
        return _research(report)
    if (stage.name == RESEARCHER or "plan" in stage.needs) and report.plan is None:
        return None
    if "research" in stage.needs and not report.research:
        return None
    if stage.name == PLANNER:
        return _carried_out(report, [_plan(report, stage)])
    return _carried_out(report, [_assign(stage, stage_key(stage), report)])


def _plan(report: Report, stage: Stage) -> IssueStep:
    """Return the step of the planner; after its plan was denied, it plans again."""
    given, number = _assign(stage, stage_key(stage), report), plan_number(report.state)
    if number == 1:
        return given
    role = report.state.worker(stage.name)
    more = "\n\n".join(filter(None, [role.instructions if role is not None else "", DENIED]))
    return given._replace(id=page_id(1, number), title=f"plan, version {number}", instructions=more)


def _research(report: Report) -> Sequence[Command] | None:
    if report.plan is None:
        return None
    tools = _reading_tools(report) if report.stages[RESEARCHER].tools is None else None
    wanted = [
        IssueStep(
            id=f"research-{number}",
            worker=RESEARCHER,
            title=section.heading,
            input=section.model_dump(mode="json"),
            tools=tools,
        )
        for number, section in enumerate(report.plan.sections, start=1)
    ]
    return _carried_out(report, wanted)


def _rounds(report: Report) -> Sequence[Command]:
    drafts, number = report.drafts, len(report.drafts)
    if not drafts or (drafts[-1].closed and used_research(drafts[-1]) != report.research):
        return [_draft(report, number + 1)]  # also if a person added to the research of a finished report
    if not drafts[-1].closed:
        return []
    if report.text(number):
        for stage in (*report.rounds, None):
            judge = report.judging(number).round if stage is None or stage.judges else Round()
            if judge.wanted or judge.is_open:
                return judge.wanted  # once the stages before have changed the draft
            wanted = None if stage is None else _in_round(report, stage, number)
            if wanted is not None:
                return wanted
        verdict = judging.judged(report, number).verdict
        again = report.revisions < report.run.options.max_revisions and not judging.ran_out(report, number)
        if again and verdict is Verdict.NEEDS_REVISION:
            return [_draft(report, number + 1, revised=draft_key(number))]
    if report.last:
        judge = report.judging(report.last).again
        if judge.wanted or judge.is_open:
            return judge.wanted
        for stage in report.after:
            wanted = _in_round(report, stage, report.last)
            if wanted is not None:
                return wanted
    return [Finish(failure=None if report.last else drafts[-1].failure)]


def _in_round(report: Report, stage: Stage, number: int) -> Sequence[Command] | None:
    return _carried_out(report, [_assign(stage, stage_key(stage, number), report, number)])


def _carried_out(report: Report, wanted: Sequence[IssueStep]) -> Sequence[Command] | None:
    """Return those that are not assigned yet, nothing while some are open, None once all are settled."""
    missing = [each for each in wanted if report.of(each.id) is None]
    if missing:
        return missing
    return [] if any(not found.closed for each in wanted if (found := report.of(each.id)) is not None) else None


def _assign(stage: Stage, key: str, report: Report, number: int = 0) -> IssueStep:
    titles = {PLANNER: "plan", RESEARCHER: "research", REVIEWER: f"review of draft {number}"}
    return IssueStep(
        id=key,
        worker=stage.name,
        title=titles.get(stage.name, f"{stage.name}, draft {number}" if number else stage.name),
        input={"number": number} if number else {},
        tools=_reading_tools(report) if "research" in stage.gives and not stage.agent and stage.tools is None else None,
        judges=draft_key(number) if stage.judges and number else "",
    )


def _draft(report: Report, number: int, revised: str = "") -> IssueStep:
    given: dict[str, Any] = {"number": number, "research": list(report.research)}
    if revised:
        given["revises"] = revised
    title = f"draft {number}" if not revised else f"draft {number}, a revision"
    return IssueStep(id=draft_key(number), worker=WRITER, title=title, input=given, final=True)


def _plan_failure(report: Report) -> Failure:
    plan = report.of(page_id(1, plan_number(report.state)))
    if plan is not None and plan.failure is not None:
        return plan.failure
    how = "correct the stage that gives the plan"
    return Failure.of("no stage gave a plan with a title and sections", "no_plan", FailureClass.INVALID, how)


def _reading_tools(report: Report) -> list[str]:
    """The tools of the run that only read: those for sources and those of users, without the other built-in ones."""
    tools = [tool for tool in report.state.definition.tools if tool.effect is Effect.PURE and not tool.delegate]
    chosen = [tool.name for tool in tools if "web" in tool.toolset or not tool.import_path.startswith("leadhand.")]
    return chosen or [tool.name for tool in tools]


# --- what researchers found ------------------------------------------------------------------------------------------


def _research_problems(result: Result) -> list[str]:
    """Return why findings are not accepted.

    Accepted findings have the ids of their passages, in place of calls whose data is a reference: only these are read.
    """
    try:
        findings = Findings.model_validate(result.value)
    except ValidationError as error:
        fault = error.errors()[0]
        return [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"]
    known = {passage.id for call in result.calls for passage in passages_in(call)}
    if any(blob_of(call.raw) for call in result.calls):
        known |= {each["id"] for each in objects_of(object_of(result.value).get("passages"))}
    found = [
        f"finding {number} names the passage {name}, which no tool returned"
        for number, finding in enumerate(findings.findings, start=1)
        for name in finding.passages
        if name not in known
    ]
    named = {name for finding in findings.findings for name in finding.passages}
    if not findings.findings and not result.calls:
        found.append("the answer says that nothing was found, and no tool was called")
    if len(named) > MOST_PASSAGES:
        found.append(f"the findings name {len(named)} passages, and the limit is {MOST_PASSAGES}")
    return found[:8]


def _with_passages(result: Result) -> Json:
    """Return findings with the text of the passages that they name, as the tools returned it."""
    findings = Findings.model_validate(result.value)
    named = dict.fromkeys(name for finding in findings.findings for name in finding.passages)
    returned = {passage.id: passage for call in result.calls for passage in passages_in(call)}
    passages = tuple(returned[name] for name in named)
    return Evidence(summary=findings.summary, findings=findings.findings, passages=passages).model_dump(mode="json")
