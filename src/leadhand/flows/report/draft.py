"""A draft of a report, with what the judge and the stages say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from leadhand.core.value import Json
from leadhand.core.work_result import Claim, Judgement
from leadhand.flows.judging import Entry, Materials, Round, contradictions, judge_round, judgement_of, verdicts_of
from leadhand.flows.passages import Passage, of_passages
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.pending import Pending
from leadhand.flows.seam.results import Result, sha
from leadhand.verify.claims import claims_of
from leadhand.verify.judge import JUDGE

from .shapes import DraftFinding, DraftReview, ReportFinding, Verdict


class Draft:
    """A draft, which its writer's ``step`` gives, as the stages after the writer left it, with what is said of it."""

    def __init__(
        self,
        run: FlowContext,
        step: Pending[Result],
        passages: Mapping[str, Passage],
        gaps: Sequence[Json],
        before: Draft | None,
    ) -> None:
        """``passages`` are what it can cite, by name, ``gaps`` what it can say is missing, ``before`` is the draft that
        it revises."""
        self._run, self.step, self._passages, self.before = run, step, passages, before
        self._material: Materials = lambda state: of_passages(state, passages, gaps)
        self._rounds: list[Round] = [] if before is None else [*before._rounds]
        self._judged = self.text = ""
        self.number: int = 1 if before is None else before.number + 1
        self.reviews: dict[str, Verdict | None] = {}
        """The verdicts of stages, by the steps of their reviews; None for one that has given none."""
        self.said: list[ReportFinding] = []
        """What has to change, as the stages say."""

    @property
    def claims(self) -> Sequence[Claim]:
        return claims_of(self.text)

    @property
    def missing(self) -> Sequence[Json]:
        """What the judge says the draft leaves out."""
        return [each.model_dump() for each in self._rounds[-1].missing] if self._judged else []

    async def judge(self, *, again: bool = False) -> None:
        """Judge the claims that are new in the text; ``again``, a second time, what was contradicted once."""
        is_known = self._judged == self.text and not again
        if self._run.state.definition.check != "judge" or not self._passages or is_known:
            return
        name = f"judge-{self.number}-{sha(self.text)[:8]}{'-again' if again else ''}"  # another text has other rounds
        self._rounds.append(
            await judge_round(self._run, name, self.claims, self._material, self._records, of=self.number)
        )
        self._judged = self.text

    @property
    def _records(self) -> list[Mapping[Any, Entry]]:
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
        ids = {name: passage.id for name, passage in self._passages.items()}
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
