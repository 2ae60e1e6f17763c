"""What a report has so far: the values that its flow has received, and its drafts with what is said of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from leadhand.core.state import RunState
from leadhand.core.value import Json, compact_json, is_list, object_of
from leadhand.core.work_result import Claim, Judgement
from leadhand.flows.judging import Entry, Record, Round, contradictions, judge_round, judgement_of, verdicts_of
from leadhand.flows.passages import Passage, of_passages
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.results import Result, sha, unfenced
from leadhand.verify.claims import claims_of
from leadhand.verify.judge import JUDGE
from leadhand.verify.material import Material

from .shapes import DraftFinding, DraftReview, Finding, Plan, ReportFinding, Research, Task, Verdict
from .stages import WRITER, Stage


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
        self.passages: dict[str, Passage] = {}
        """What drafts can cite, as ``p1``, ``p2``, …; once there is a draft, a passage keeps its number."""
        self._known: dict[str, Passage] = {}
        self.drafts: list[Draft] = []
        start = [stage.name for stage in stages].index(WRITER)
        end = 1 + max(at for at, each in enumerate(stages) if at == start or each.judges)
        self.before, self.writer = stages[:start], stages[start]
        self.rounds, self.after = stages[start + 1 : end], stages[end:]
        """Those that follow the writer in every round, the last of which judges; and those that follow once."""

    @property
    def title(self) -> str:
        return self.plan.title if isinstance(self.plan, Plan) else self.run.request

    @property
    def names(self) -> dict[str, str]:
        """The names of the passages by their ids."""
        return {passage.id: name for name, passage in self.passages.items()}

    def cited(self, *findings: Finding) -> list[str]:
        """Return the names of the passages that findings name."""
        names = self.names
        return [names[id_] for finding in findings for id_ in finding.passages if id_ in names]

    @property
    def missing(self) -> list[str]:
        """The questions for which there is no finding, with the reasons."""
        lacking = (each for each in self.found.values() if each.question and not each.findings)
        return [f"{each.question} ({each.summary or 'no source answers it'})" for each in lacking]

    @property
    def last(self) -> Draft | None:
        """The latest draft."""
        return self.drafts[-1] if self.drafts else None

    def take(self, stage: Stage, result: Result, draft: Draft | None = None) -> None:
        """Note what a stage gives; nothing if it failed. The research that a class gives replaces what was found
        before."""
        given: dict[str, Any] = (
            object_of(result.value) if stage.agent else {stage.gives[0]: result.value or result.text}
        )
        given = given if result.ok else {}
        if "plan" in given:
            self.plan = Task(plan=given["plan"]).plan
        if research := given.get("research"):
            found = self._researched(research, result.key, result.state.by or stage.name)
            self.found = found if stage.agent else self.found | found
            findings = [each for item in self.found.values() for each in item.findings]
            named = dict.fromkeys(id_ for each in findings for id_ in each.passages if id_ in self._known)
            ids = (self.names if self.drafts else {}) | named
            self.passages = {f"p{number}": self._known[id_] for number, id_ in enumerate(ids, start=1)}
        text = unfenced(given.get("final_report") or given.get("draft") or "")
        if stage.name == WRITER and text:
            self.drafts.append(draft := Draft(self, result, self.last))
        if draft is not None:
            draft.text = text or draft.text
            draft.take_review(stage.name, result.key, given.get("feedback"))

    def _researched(self, given: Any, key: str, by: str) -> dict[str, Research]:
        """Return what a step found, one entry or several. What has another shape is one passage, and its text the
        finding."""
        found: dict[str, Research] = {}
        for number, each in enumerate(given if is_list(given) else [given], start=1):
            try:
                one = Research.model_validate(each)
            except ValidationError:
                text = each if isinstance(each, str) else compact_json(each)
                passage = Passage(id=f"{key}.{number}", text=text, title=by, source=key)
                finding = Finding(statement=text, passages=(passage.id,))
                one = Research(summary=text, findings=(finding,), passages=(passage,))
            self._known |= {each.id: each for each in one.passages}
            name = key if number == 1 else f"{key}.{number}"
            found[name] = one.evolve(key=key, heading=one.heading or one.question or key, passages=())
        return found


class Draft:
    """A draft, as the stages after the writer left it, with what is said of it."""

    def __init__(self, report: Report, written: Result, before: Draft | None) -> None:
        """``written`` is the result of the step that wrote it, ``before`` the draft that it revises."""
        self._report, self._run, self.written = report, report.run, written
        self._rounds: list[Round] = [] if before is None else [*before._rounds]
        self._judged = self.text = ""
        self.number: int = 1 if before is None else before.number + 1
        self.reviews: dict[str, Verdict | None] = {}
        """The verdicts of stages, by the steps of their reviews; None for one that has given none."""
        self.said: list[ReportFinding] = []
        """What has to change, as the stages say."""

    def _material(self, state: RunState) -> Material:
        return of_passages(state, self._report.passages, self._report.missing)

    @property
    def claims(self) -> Sequence[Claim]:
        return claims_of(self.text)

    @property
    def missing(self) -> Sequence[Json]:
        """What the judge says the draft leaves out."""
        return [each.model_dump() for each in self._rounds[-1].missing if not each.admitted] if self._judged else []

    async def judge(self, *, again: bool = False) -> None:
        """Judge the claims that are new in the text; ``again``, a second time, what was contradicted once."""
        if self._run.state.definition.check != "judge" or (self._judged == self.text and not again):
            return
        name = f"judge-{self.number}-{sha(self.text)[:8]}{'-again' if again else ''}"  # another text has other rounds
        self._rounds.append(
            await judge_round(self._run, name, self.claims, self._material, self._records, of=self.number)
        )
        self._judged = self.text

    @property
    def _records(self) -> list[Record]:
        return [each.record for each in self._rounds]

    def verdicts(self) -> list[tuple[Claim, Entry]]:
        """Return the claims of the text with what the judge says of them so far."""
        return verdicts_of(self.claims, self._records)

    @property
    def contradicted(self) -> list[ReportFinding]:
        """What the judge contradicts in the text, unless its second opinion does not."""
        return [
            ReportFinding(
                by=JUDGE,
                claim=each.n,
                text=each.claim,
                problem=f"{each.part}: {each.why}" + (f" The evidence says: “{each.quote}”" if each.quote else ""),
            )
            for each in contradictions(self.claims, self._records)
        ]

    @property
    def problems(self) -> list[ReportFinding]:
        """What has to change, as the judge and the stages say so far."""
        return [*self.contradicted, *self.said]

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the draft, None while it has none."""
        if Verdict.NEEDS_REVISION in self.reviews.values() or self.contradicted:
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

    def judgement(self, shown: str) -> Judgement:
        """Return the judgement of the text. Its claims cite the ids of passages, and have their places in the text as
        it is ``shown``, with other names for its sources."""
        state, named = self._run.state, (each.judged_by for each in self._rounds)
        exact = None if state.definition.check == "off" else self._material(state)
        judged_by = next((each for each in reversed([*named]) if each), None)
        found, placed = judgement_of(self.claims, self._records, judged_by, exact), claims_of(shown)
        if len(placed) != len(found.claims):
            placed = [each.evolve(start=None, end=None) for each in found.claims]
        ids = {name: passage.id for name, passage in self._report.passages.items()}
        claims = [
            each.evolve(
                text=at.text, start=at.start, end=at.end, cites=tuple(ids.get(name, name) for name in each.cites)
            )
            for each, at in zip(found.claims, placed, strict=True)
        ]
        texts = {each.n: each.text for each in claims}
        doubts = [
            each.evolve(
                claim=texts[each.n],
                part=each.part if each.part in texts[each.n] else texts[each.n],
                evidence=ids.get(each.evidence or "", each.evidence),
            )
            for each in found.doubts
        ]
        return found.evolve(claims=tuple(claims), doubts=tuple(doubts))
