"""What a report has so far: the values that its flow has received, for its workers, its answer and its document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from leadhand.core.run import Gap
from leadhand.core.value import compact_json, is_list, list_of, object_of, text_of
from leadhand.flows.draft_rounds import DraftRounds, ReportFinding
from leadhand.flows.passages import Passage
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.pending import Pending
from leadhand.flows.seam.results import Result, sha

from .shapes import DraftFinding, DraftReview, Finding, Plan, Research, Verdict
from .stages import WRITER, Stage


@dataclass(eq=False)
class Draft:
    """A draft, which its writer's ``step`` gives; ``rounds`` have its text, as the stages after the writer left it."""

    step: Pending[Result]
    rounds: DraftRounds
    revises: Draft | None = None
    reviews: list[Pending[Result]] = field(default_factory=list[Pending[Result]])
    verdicts: dict[str, Verdict] = field(default_factory=dict[str, Verdict])
    """The verdicts of stages, by the steps of their reviews."""
    said: list[ReportFinding] = field(default_factory=list[ReportFinding])
    """What stages find."""

    @property
    def findings(self) -> list[ReportFinding]:
        """What has to change, as the judge and the stages say so far."""
        return [*self.rounds.findings(), *self.said]

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the draft, None while it has none."""
        if Verdict.NEEDS_REVISION in self.verdicts.values() or self.rounds.findings():
            return Verdict.NEEDS_REVISION
        return Verdict.APPROVED if self.reviews and len(self.verdicts) == len(self.reviews) else None

    @property
    def unreviewed(self) -> list[Result]:
        """The reviews that are finished and gave no verdict."""
        return [each.result for each in self.reviews if each.result is not None and each.key not in self.verdicts]

    @property
    def digest(self) -> str:
        """What tells the draft as it is now from another one: its text, and what was said of it."""
        said = [[claim.n, entry.verdict.value] for claim, entry in self.rounds.verdicts()]
        return sha([self.rounds.text, said, [each.model_dump() for each in self.findings]])

    def take_review(self, stage: Stage, result: Result, claims: Mapping[int, str]) -> None:
        """Note what a stage says of the draft, of which it was shown these claims. Free text never approves."""
        try:
            review = DraftReview.model_validate(given_by(stage, result, "feedback"))
        except ValidationError:
            return
        self.verdicts[result.key], by = review.verdict, stage.name
        found = [*review.findings]
        if review.verdict is Verdict.NEEDS_REVISION and not found:
            found = [DraftFinding(problem=f"the {by} asks for a revision")]
        for n, problem in ((each.claim, each.problem) for each in found):
            self.said.append(ReportFinding(by=by, claim=n, text=claims.get(n or 0), problem=problem))


class Report:
    """The values of one pass of the flow."""

    def __init__(self, run: FlowContext, stages: Sequence[Stage], max_revisions: int) -> None:
        self.run, self.stages, self.max_revisions = run, stages, max_revisions
        start = [stage.name for stage in stages].index(WRITER)
        end = 1 + max(at for at, each in enumerate(stages) if at == start or each.judges)
        self.before, self.writer = stages[:start], stages[start]
        self.rounds, self.after = stages[start + 1 : end], stages[end:]
        """Those that follow the writer in every round, the last of which judges; and those that follow once."""
        self.plan: Any = None
        """A Plan, or what a class of the user gave in its place."""
        self.results: dict[str, Result] = {}
        """What the stages before the writer gave, by step."""
        self.found: dict[str, list[Research]] = {}
        """What was found so far, by step; nothing for a question that is being researched."""
        self.drafts: list[Draft] = []
        self.gaps: list[Gap] = []

    @property
    def plan_shown(self) -> Any:
        """The plan as JSON."""
        return self.plan.model_dump(mode="json") if isinstance(self.plan, Plan) else self.plan

    @property
    def research(self) -> list[Research]:
        return [item for found in self.found.values() for item in found]

    @property
    def passages(self) -> dict[str, Passage]:
        """What a draft can cite, as ``p1``, ``p2``, …; the same passage has one number."""
        by_id = {passage.id: passage for item in self.research for passage in item.passages}
        return {f"p{number}": passage for number, passage in enumerate(by_id.values(), start=1)}

    @property
    def missing(self) -> list[str]:
        """The questions for which there is no finding, with the reasons."""
        lacking: list[str] = []
        for item in (each for each in self.research if each.question and not each.findings):
            failure = self.results[item.key].failure if item.key in self.results else None
            why = f"its research failed: {failure.message}" if failure is not None else item.summary
            lacking.append(f"{item.question} ({why or 'no source answers it'})")
        return lacking

    @property
    def last(self) -> Draft | None:
        """The latest draft that has a text."""
        return next((each for each in reversed(self.drafts) if each.rounds.text), None)

    def take_plan(self, stage: Stage, result: Result) -> None:
        """Note the plan that a stage gives, if it gives one."""
        given = given_by(stage, result, "plan")
        try:
            self.plan = Plan.model_validate(given)
        except ValidationError:
            self.plan = given or self.plan

    def take_research(self, stage: Stage, result: Result, asked: Research | None = None) -> None:
        """Note what a stage found that was ``asked`` this. What a class gives replaces what was found before."""
        given = given_by(stage, result, "research")
        entries = given if stage.agent and is_list(given) else [given]
        by = f"supplied by {result.state.by}" if result.state.by else stage.name
        known = {each.id: each for each in self.passages.values()}
        found = [_research(result.key, n, each, by, known) for n, each in enumerate(entries, start=1) if each]
        if stage.agent and found:
            self.found.clear()
        if asked is not None:
            found = [each.evolve(heading=asked.heading, question=asked.question) for each in found] or [asked]
        self.found[result.key] = found


def given_by(stage: Stage, result: Result | None, field: str) -> Any:
    """Return what a stage gives for a field of the task; None for nothing."""
    if result is None or not result.ok:
        return None
    if not stage.agent:
        return result.text if field == "draft" else result.value or result.text
    value = object_of(result.value)
    updates = object_of(value.get("updates"))
    if field == "feedback":
        return {
            **object_of(updates.get(field)),
            **{name: value[name] for name in ("verdict", "findings") if value.get(name)},
        }
    return text_of(updates.get("final_report") or updates.get(field)) if field == "draft" else updates.get(field)


def _research(key: str, number: int, given: Any, by: str, known: Mapping[str, Passage]) -> Research:
    """Return one entry of the research. What has another shape is one passage, and its text the finding."""
    fields = object_of(given)
    passages = [known.get(each, each) if isinstance(each, str) else each for each in list_of(fields.get("passages"))]
    try:
        found = Research.model_validate({**fields, "key": key, "passages": passages})
    except ValidationError:
        text = given if isinstance(given, str) else compact_json(given)
        passage = Passage(id=f"{key}.{number}", text=text, title=by, source=key)
        finding = Finding(statement=text, passages=(passage.id,))
        found = Research(key=key, summary=text, findings=(finding,), passages=(passage,))
    return found.evolve(heading=found.heading or found.question or key)
