"""What a report has so far: the values that its flow has received, for its workers, its answer and its document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import ValidationError

from leadhand.core.errors import FailureClass
from leadhand.core.run import Gap
from leadhand.core.value import Json, is_list, is_object, object_of, text_of
from leadhand.flows.draft_judging import Remark
from leadhand.flows.draft_rounds import DraftRounds
from leadhand.flows.passages import Passage
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.identity import sha
from leadhand.flows.seam.results import Result

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
    """A draft: ``key`` is its step, ``text`` what the stages after the writer have made of it so far."""

    number: int
    key: str
    rounds: DraftRounds
    judges: int
    """How many stages judge it."""
    revises: Draft | None = None
    result: Result | None = None
    text: str = ""
    judged: str = ""
    """The text that was judged."""
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
        return Verdict.APPROVED if verdicts and None not in verdicts and len(verdicts) == self.judges else None

    @property
    def unreviewed(self) -> list[Review]:
        """The reviews that are finished and gave no verdict."""
        return [each for each in self.reviews if each.result is not None and each.verdict is None]

    @property
    def ran_out(self) -> bool:
        """Whether a review ended because a limit of the run is used up."""
        failures = (each.result.failure for each in self.reviews if each.result is not None)
        return any(each is not None and each.class_ is FailureClass.EXHAUSTED for each in failures)

    def digest(self) -> str:
        """Return what tells the draft as it is now from another one: its text, and what was said of it."""
        said = [[claim.n, entry.verdict.value] for claim, entry in self.rounds.verdicts(self.rounds.claims)]
        return sha([self.text, said, [[*each] for each in self.remarks]])

    async def judge(self) -> None:
        """Have the text judged, unless it was."""
        if self.text != self.judged:
            self.judged = self.text
            await self.rounds.judge(self.number, self.text)

    def take(self, text: str) -> None:
        """Note another text of the draft."""
        if text:
            self.text = text
            self.rounds.begin(self.number, text)


class Report:
    """The values of one pass of the flow."""

    def __init__(
        self, run: FlowContext, stages: Sequence[Stage], max_revisions: int, agents: Mapping[str, BoundAgent]
    ) -> None:
        self.run, self.stages, self.max_revisions, self.agents = run, stages, max_revisions, agents
        self.named = {stage.name: stage for stage in stages}
        names = [stage.name for stage in stages]
        start = names.index(WRITER)
        judging = [place for place, stage in enumerate(stages) if stage.judges]
        end = names.index(REVIEWER) if REVIEWER in names else max([start, *judging])
        self.before, self.writer, self.after = stages[:start], stages[start], stages[end + 1 :]
        self.rounds: Sequence[Stage] = stages[start + 1 : end + 1]
        """The stages that follow the writer in every round."""
        self.plan: Any = None
        """A Plan, or what a stage of the user gave in its place."""
        self.planned: Result | None = None
        self.questions: dict[str, Section] = {}
        """What researchers were asked, by step."""
        self.unanswered: dict[str, str] = {}
        """Why a question has no findings."""
        self.given: dict[str, Result] = {}
        """What the stages before the writer gave, by stage or step."""
        self.found: list[Research] = []
        self.found_by: list[str] = []
        """The steps that found something."""
        self.drafts: list[Draft] = []
        self.gaps: list[Gap] = []

    @property
    def outline(self) -> Plan | None:
        return self.plan if isinstance(self.plan, Plan) else None

    @property
    def results(self) -> list[Result]:
        """What the stages before the writer gave."""
        return [*self.given.values()]

    def by_code(self, result: Result) -> bool:
        """Whether a class of the user gave a result."""
        return bool(self.named[result.state.step.worker].agent)

    @property
    def passages(self) -> dict[str, Passage]:
        """What a draft can cite, as ``p1``, ``p2``, …; the same passage has one number."""
        by_id = {passage.id: passage for item in self.found for passage in item.passages}
        return {f"p{number}": passage for number, passage in enumerate(by_id.values(), start=1)}

    @property
    def missing(self) -> list[str]:
        """The questions for which there is no finding, with the reasons."""
        answered = {item.question for item in self.found if item.findings}
        sections = self.outline.sections if self.outline is not None else ()
        open_ = (each.question for each in sections if each.question not in answered)
        return [f"{each} ({self.unanswered.get(each, 'no source answers it')})" for each in open_]

    @property
    def last(self) -> Draft | None:
        """The latest draft that has a text."""
        return next((each for each in reversed(self.drafts) if each.text), None)

    @property
    def revisions(self) -> int:
        return max(len(self.drafts) - 1, 0)


# --- values of results -----------------------------------------------------------------------------------------------


def updates(result: Result) -> dict[str, Any]:
    """Return the fields of the task that a stage of code gives."""
    return object_of(object_of(result.value).get("updates"))


def text_in(stage: Stage, result: Result) -> str:
    """Return the draft that a stage gives; "" if it gives none."""
    if not result.ok or not {"draft", "final_report"} & {*stage.gives}:
        return ""
    given = updates(result)
    return text_of(given.get("final_report") or given.get("draft")) if stage.agent else result.text


def plan_in(stage: Stage, result: Result) -> Any:
    """Return the plan that a stage gives; None if it gives none."""
    given = None if not result.ok else updates(result).get("plan") if stage.agent else result.value
    try:
        return Plan.model_validate(given)
    except ValidationError:
        return given if stage.agent else None


def research_in(stage: Stage, result: Result, section: Section | None = None) -> list[Research] | None:
    """Return what a stage found; None if it changes nothing."""
    if not result.ok:
        return None
    if stage.agent:
        given = updates(result)
        if "research" not in given:
            return None
        found = given["research"]
        return [_research(result.key, each, stage.name) for each in (found if is_list(found) else [found])]
    about = {} if section is None else section.model_dump()
    by = f"supplied by {result.state.by}"
    value = result.text if result.state.by and result.state.value is None else {**about, **object_of(result.value)}
    return [_research(result.key, value, by, about)]


def _research(key: str, given: Json, by: str, about: Mapping[str, Any] = {}) -> Research:
    """Return one entry of the research; what has no shape of findings is one passage, and its text the finding."""
    if not is_object(given):
        text = given if isinstance(given, str) else str(given)
        passage = {"id": f"{key}.1", "text": text, "title": by, "source": key}
        finding = {"statement": text, "passages": [passage["id"]]}
        given = {**about, "summary": text, "findings": [finding], "passages": [passage]} if text else {**about}
    heading, question = text_of(given.get("heading")), text_of(given.get("question"))
    return Research(
        key=key,
        heading=heading or question or key,
        question=question,
        summary=text_of(given.get("summary")),
        findings=tuple(_valid(Finding, given.get("findings"))),
        passages=tuple(_valid(Passage, given.get("passages"))),
    )


def _valid(shape: Any, values: Any) -> Iterator[Any]:
    for value in values if is_list(values) else ():
        try:
            yield shape.model_validate(value)
        except ValidationError:
            continue


def review_in(stage: Stage, result: Result, claims: Mapping[int, str]) -> Review:
    """Return what a stage says of a draft; ``claims`` are those that it was shown."""
    given: Any = result.value if result.ok else None
    if stage.agent and result.ok:
        feedback = object_of(updates(result).get("feedback"))
        given = {name: given.get(name) or feedback.get(name) or () for name in ("verdict", "findings")}
    try:
        review = DraftReview.model_validate(given)
    except ValidationError:
        return Review(stage.name, result.key, result)
    found = [Remark(stage.name, each.claim, claims.get(each.claim or 0, ""), each.problem) for each in review.findings]
    if review.verdict is Verdict.NEEDS_REVISION and not found:
        found = [Remark(stage.name, None, "", f"the {stage.name} asks for a revision")]
    return Review(stage.name, result.key, result, review.verdict, tuple(found))
