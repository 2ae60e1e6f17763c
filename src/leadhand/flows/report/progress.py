"""What a report has so far: the values that its flow has received, for its workers, its answer and its document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from leadhand.core.value import compact_json, is_list, list_of, object_of
from leadhand.flows.draft_rounds import DraftRounds, ReportFinding
from leadhand.flows.passages import Passage, unfenced
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.pending import Pending
from leadhand.flows.seam.results import Result, sha

from .shapes import DraftFinding, DraftReview, Finding, Plan, Research, Verdict
from .stages import Stage


class Draft(DraftRounds):
    """A draft, which its writer's ``step`` gives, as the stages after the writer left it, with what is said of it."""

    def __init__(self, report: Report, step: Pending[Result], revises: Draft | None) -> None:
        super().__init__(report.run, report.passages, revises)
        self.step = step
        self.reviews: dict[str, Verdict | None] = {}
        """The verdicts of stages, by the steps of their reviews; None for one that has given none."""
        self.said: list[ReportFinding] = []

    @property
    def problems(self) -> list[ReportFinding]:
        """What has to change, as the judge and the stages say so far."""
        return [*self.findings(), *self.said]

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the draft, None while it has none."""
        if Verdict.NEEDS_REVISION in self.reviews.values() or self.findings():
            return Verdict.NEEDS_REVISION
        return Verdict.APPROVED if self.reviews and all(self.reviews.values()) else None

    @property
    def digest(self) -> str:
        """What tells the draft as it is now from another one: its text, and what was said of it."""
        said = [[claim.n, entry.verdict.value] for claim, entry in self.verdicts()]
        return sha([self.text, said, [each.model_dump() for each in self.problems]])

    def take_review(self, by: str, key: str, given: Any) -> None:
        """Note what a stage says of the draft, if it gives a verdict. Free text never approves."""
        try:
            review = DraftReview.model_validate(given)
        except ValidationError:
            return
        self.reviews[key], found = review.verdict, [*review.findings]
        if review.verdict is Verdict.NEEDS_REVISION and not found:
            found = [DraftFinding(problem=f"the {by} asks for a revision")]
        texts = {each.n: each.text for each in self.claims}
        for each in found:
            claim = each.claim if each.claim in texts else None
            self.said.append(ReportFinding(by=by, claim=claim, text=texts.get(claim or 0), problem=each.problem))


class Report:
    """The values of one pass of the flow."""

    def __init__(self, run: FlowContext, stages: Sequence[Stage], max_revisions: int) -> None:
        self.run, self.stages, self.max_revisions = run, stages, max_revisions
        self.plan: Any = None
        """A Plan, or what a class of the user gave instead."""
        self.results: dict[str, Result] = {}
        """What the stages before the writer gave, by step, and those that researched."""
        self.found: dict[str, Research] = {}
        """What was found so far: nothing for a question that is being researched, or whose research failed."""
        self.drafts: list[Draft] = []

    @property
    def title(self) -> str:
        return self.plan.title if isinstance(self.plan, Plan) else self.run.request

    @property
    def passages(self) -> dict[str, Passage]:
        """What a draft can cite, as ``p1``, ``p2``, …; the same passage has one number."""
        by_id = {passage.id: passage for item in self.found.values() for passage in item.passages}
        return {f"p{number}": passage for number, passage in enumerate(by_id.values(), start=1)}

    @property
    def missing(self) -> list[str]:
        """The questions for which there is no finding, with the reasons."""
        lacking = (each for each in self.found.values() if each.question and not each.findings)
        return [f"{each.question} ({each.summary or 'no source answers it'})" for each in lacking]

    @property
    def last(self) -> Draft | None:
        """The latest draft that has a text."""
        return next((each for each in reversed(self.drafts) if each.text), None)

    def take(self, stage: Stage, result: Result, draft: Draft | None = None) -> None:
        """Note what a stage gives. The research that a class gives replaces what was found before."""
        given = given_by(stage, result)
        if "plan" in given:
            try:
                self.plan = Plan.model_validate(given["plan"])
            except ValidationError:
                self.plan = given["plan"]
        if research := given.get("research"):
            known = {each.id: each for each in self.passages.values()}
            found = _researched(research, result.key, result.state.by or stage.name, known)
            self.found = found if stage.agent else self.found | found
        if draft is not None and stage.judges:
            draft.take_review(stage.name, result.key, given.get("feedback"))
        text = given.get("final_report") or given.get("draft")
        if draft is not None and text and (text := unfenced(text)) != draft.text:
            draft.begin(self.drafts.index(draft) + 1, text)


def given_by(stage: Stage, result: Result) -> Mapping[str, Any]:
    """Return what a stage gives, by the field of the task; nothing if it failed."""
    if not result.ok:
        return {}
    if not stage.agent:
        return {stage.gives[0]: result.text if stage.gives == ("draft",) else result.value or result.text}
    value = object_of(result.value)
    updates, said = object_of(value.get("updates")), {name: value.get(name) for name in ("verdict", "findings")}
    return {**updates, "feedback": {**object_of(updates.get("feedback")), **{k: v for k, v in said.items() if v}}}


def _researched(given: Any, key: str, by: str, known: Mapping[str, Passage]) -> dict[str, Research]:
    """Return what a step found, one entry or several. What has another shape is one passage, and its text the finding.

    A passage can be named by its id if it is ``known``.
    """
    found: dict[str, Research] = {}
    for number, each in enumerate(given if is_list(given) else [given], start=1):
        named = [
            known.get(one, one) if isinstance(one, str) else one for one in list_of(object_of(each).get("passages"))
        ]
        try:
            one = Research.model_validate({**object_of(each), "key": key, "passages": named})
        except ValidationError:
            text = each if isinstance(each, str) else compact_json(each)
            passage = Passage(id=f"{key}.{number}", text=text, title=by, source=key)
            finding = Finding(statement=text, passages=(passage.id,))
            one = Research(key=key, summary=text, findings=(finding,), passages=(passage,))
        found[key if number == 1 else f"{key}.{number}"] = one.evolve(heading=one.heading or one.question or key)
    return found
