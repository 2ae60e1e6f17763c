"""What a report has so far: the values that its flow has received, for its workers, its answer and its document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import ValidationError

from leadhand.core.errors import FailureClass
from leadhand.core.run import Gap
from leadhand.core.value import Json, compact_json, is_list, list_of, object_of, text_of
from leadhand.flows.draft_rounds import DraftRounds, Remark
from leadhand.flows.passages import Passage
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.results import Result, sha

from .agents import BoundAgent
from .options import REVIEWER, WRITER, Stage
from .shapes import DraftReview, Finding, Plan, Research, Section, Verdict


class Review(NamedTuple):
    """What a stage says of a draft: no result while it is at work, no verdict if it gave none."""

    stage: str
    key: str
    result: Result | None = None
    verdict: Verdict | None = None
    remarks: tuple[Remark, ...] = ()


@dataclass
class Draft:
    """A draft, of the step ``key``; ``text`` is what the stages after the writer have made of it so far."""

    number: int
    key: str
    rounds: DraftRounds
    revises: Draft | None = None
    result: Result | None = None
    text: str = ""
    reviews: list[Review] = field(default_factory=list[Review])

    @property
    def remarks(self) -> list[Remark]:
        """What has to change, as the judge and the stages say so far."""
        return [*self.rounds.remarks(), *(remark for each in self.reviews for remark in each.remarks)]

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the draft, None while it has none. Free text never approves."""
        verdicts = [each.verdict for each in self.reviews]
        if Verdict.NEEDS_REVISION in verdicts or any(True for _ in self.rounds.remarks()):
            return Verdict.NEEDS_REVISION
        return Verdict.APPROVED if verdicts and None not in verdicts else None

    @property
    def unreviewed(self) -> list[Result]:
        """The reviews that are finished and gave no verdict."""
        return [each.result for each in self.reviews if each.result is not None and each.verdict is None]

    @property
    def ran_out(self) -> bool:
        """Whether a review ended because a limit of the run is used up."""
        failures = (each.failure for each in self.unreviewed)
        return any(each is not None and each.class_ is FailureClass.EXHAUSTED for each in failures)

    def digest(self) -> str:
        """Return what tells the draft as it is now from another one: its text, and what was said of it."""
        said = [[claim.n, entry.verdict.value] for claim, entry in self.rounds.verdicts(self.rounds.claims)]
        return sha([self.text, said, [[*each] for each in self.remarks]])

    def take(self, text: str) -> None:
        """Note another text of the draft, if there is one."""
        if text and text != self.text:
            self.text = text
            self.rounds.begin(self.number, text)


class Report:
    """The values of one pass of the flow."""

    def __init__(
        self, run: FlowContext, stages: Sequence[Stage], max_revisions: int, agents: Mapping[str, BoundAgent]
    ) -> None:
        self.run, self.stages, self.max_revisions, self.agents = run, stages, max_revisions, agents
        names = [stage.name for stage in stages]
        start = names.index(WRITER)
        end = max(place for place, each in enumerate(stages) if place == start or each.judges)
        end = names.index(REVIEWER) if REVIEWER in names else end
        self.before, self.writer, self.after = stages[:start], stages[start], stages[end + 1 :]
        self.rounds = stages[start + 1 : end + 1]
        """The stages that follow the writer in every round."""
        self.plan: Any = None
        """A Plan, or what a class of the user gave in its place."""
        self.questions: dict[str, Section] = {}
        """What researchers were asked, by step."""
        self.given: dict[str, Result] = {}
        """What the stages before the writer gave, by step."""
        self.found: list[Research] = []
        self.drafts: list[Draft] = []
        self.gaps: list[Gap] = []

    @property
    def results(self) -> list[Result]:
        """What the stages before the writer gave."""
        return [*self.given.values()]

    @property
    def found_by(self) -> list[str]:
        """The steps that found something."""
        giving = {stage.name for stage in self.before if "research" in stage.gives}
        return [each.key for each in self.results if each.ok and each.state.step.worker in giving]

    @property
    def outline(self) -> Plan | None:
        """The plan, if it has a title and sections."""
        return self.plan if isinstance(self.plan, Plan) else None

    @property
    def passages(self) -> dict[str, Passage]:
        """What a draft can cite, as ``p1``, ``p2``, …; the same passage has one number."""
        by_id = {passage.id: passage for item in self.found for passage in item.passages}
        return {f"p{number}": passage for number, passage in enumerate(by_id.values(), start=1)}

    @property
    def missing(self) -> list[str]:
        """The questions for which there is no finding, with the reasons."""
        why = {item.question: item.summary for item in self.found}
        for key, section in self.questions.items():
            if key in self.given and (failure := self.given[key].failure) is not None:
                why[section.question] = f"its research failed: {failure.message}"
        answered = {item.question for item in self.found if item.findings}
        asked = (each.question for each in self.outline.sections) if self.outline is not None else ()
        return [f"{each} ({why.get(each) or 'no source answers it'})" for each in asked if each not in answered]

    @property
    def last(self) -> Draft | None:
        """The latest draft that has a text."""
        return next((each for each in reversed(self.drafts) if each.text), None)

    @property
    def revisions(self) -> int:
        return max(len(self.drafts) - 1, 0)

    def take_research(self, stage: Stage, result: Result, section: Section | None = None) -> None:
        """Note what a stage found. What a class of the user gives replaces what was found before it."""
        given = _updates(result).get("research") if stage.agent else result.value or result.text
        if not result.ok or given is None:
            return
        known = {each.id: each for each in self.passages.values()}
        by = f"supplied by {result.state.by}" if result.state.by else stage.name
        entries = given if stage.agent and is_list(given) else [given]
        found = [_research(result.key, n, each, by, known) for n, each in enumerate(entries, start=1) if each]
        if section is not None:
            found = [each.evolve(**section.model_dump()) for each in found]
        self.found = [*(() if stage.agent else self.found), *found]


# --- values of results -----------------------------------------------------------------------------------------------


def _updates(result: Result) -> dict[str, Any]:
    """Return the fields of the task that a stage of code gives."""
    return object_of(object_of(result.value).get("updates"))


def text_in(stage: Stage, result: Result) -> str:
    """Return the draft that a stage gives; "" if it gives none."""
    if not result.ok or not {"draft", "final_report"} & {*stage.gives}:
        return ""
    given = _updates(result)
    return text_of(given.get("final_report") or given.get("draft")) if stage.agent else result.text


def plan_in(stage: Stage, result: Result) -> Any:
    """Return the plan that a stage gives; None if it gives none."""
    given = None if not result.ok else _updates(result).get("plan") if stage.agent else result.value
    try:
        return Plan.model_validate(given)
    except ValidationError:
        return given if stage.agent else None


def _research(key: str, number: int, given: Json, by: str, known: Mapping[str, Passage]) -> Research:
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


def review_in(stage: Stage, result: Result, claims: Mapping[int, str]) -> Review:
    """Return what a stage says of a draft; ``claims`` are those that it was shown."""
    given: Any = result.value if result.ok else None
    if stage.agent and result.ok:
        feedback = object_of(_updates(result).get("feedback"))
        given = {name: given.get(name) or feedback.get(name) or () for name in ("verdict", "findings")}
    try:
        review = DraftReview.model_validate(given)
    except ValidationError:
        return Review(stage.name, result.key, result)
    found = [Remark(stage.name, each.claim, claims.get(each.claim or 0, ""), each.problem) for each in review.findings]
    if review.verdict is Verdict.NEEDS_REVISION and not found:
        found = [Remark(stage.name, None, "", f"the {stage.name} asks for a revision")]
    return Review(stage.name, result.key, result, review.verdict, tuple(found))
