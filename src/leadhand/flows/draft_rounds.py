"""The judging of texts that cite passages, as steps of a flow: of a report, or of an answer from research."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from pydantic import Field

from leadhand.core.state import RunState
from leadhand.core.value import Value
from leadhand.core.work_result import Claim, Judgement
from leadhand.flows.passages import Passage, of_passages
from leadhand.verify.claims import claims_of
from leadhand.verify.judge import JUDGE, MissingPart
from leadhand.verify.material import Material

from .judging import Entry, Record, contradictions, judge_round, judgement_of, verdicts_of
from .seam.context import FlowContext


class ReportFinding(Value):
    """What is wrong with a claim of a draft, or with the whole draft."""

    by: str = Field(description="A stage, or `judge`.")
    claim: int | None = Field(description="The number of a claim; null for the whole draft.")
    text: str | None
    problem: str


class DraftRounds:
    """What a judge says of a text, and of the texts of which it is a revision; it sees the ``passages`` by name."""

    def __init__(self, run: FlowContext, passages: Mapping[str, Passage], before: DraftRounds | None = None) -> None:
        """``before`` are the rounds of the text that is revised."""
        self._run, self._passages = run, passages
        self._judges = run.state.definition.check == "judge" and bool(passages)
        self._records: list[Record] = [] if before is None else [*before._records]
        self._judged_by: str | None = None if before is None else before._judged_by
        self._is_judged = False
        self.number, self.text = 0, ""
        """The text, the ``number``-th revision of the first."""
        self.claims: Sequence[Claim] = ()
        self.missing: Sequence[MissingPart] = ()
        """What the judge says the text leaves out."""

    def begin(self, number: int, text: str) -> None:
        """Take a text, which is not judged yet."""
        self.number, self.text, self.claims = number, text, claims_of(text)
        self._is_judged = False

    async def judge(self) -> None:
        """Judge the text, unless it was: the claims that are new in it."""
        if not self._is_judged:
            self.missing = await self._judged("")
        self._is_judged = True

    async def judge_again(self) -> None:
        """Judge once more what was contradicted once: a second opinion on the last text."""
        await self._judged("-again")

    async def _judged(self, suffix: str) -> Sequence[MissingPart]:
        """Have a round of judging, and return what the text leaves out."""
        if not self._judges:
            return ()
        digest = hashlib.sha256(self.text.encode(errors="replace")).hexdigest()[:8]  # another text has other rounds
        name = f"judge-{self.number}-{digest}{suffix}"
        found = await judge_round(self._run, name, self.claims, self._material, self._records, of=self.number)
        self._records.append(found.record)
        self._judged_by = found.judged_by or self._judged_by
        return found.missing

    def _material(self, state: RunState) -> Material:
        return of_passages(state, self._passages)

    def verdicts(self) -> list[tuple[Claim, Entry]]:
        """Return the claims of the text with what the judge says of them so far."""
        return verdicts_of(self.claims, self._records)

    def findings(self) -> list[ReportFinding]:
        """Return what the judge contradicts in the text, unless its second opinion does not."""
        return [
            ReportFinding(
                by=JUDGE,
                claim=each.n,
                text=each.claim,
                problem=f"{each.part}: {each.why}" + (f" The evidence says: “{each.quote}”" if each.quote else ""),
            )
            for each in contradictions(self.claims, self._records)
        ]

    def judgement(self, answer: str = "") -> Judgement:
        """Return the judgement of the text. Its claims cite the ids of passages, and have their places in
        ``answer``, the text with other names for its sources."""
        state = self._run.state
        exact = None if state.definition.check == "off" else self._material(state)
        found = judgement_of(self.claims, self._records, self._judged_by, exact)
        placed = claims_of(answer)
        if len(placed) != len(found.claims):
            placed = [each.evolve(start=None, end=None) for each in found.claims]
        ids = {name: passage.id for name, passage in self._passages.items()}
        claims = {
            each.n: each.evolve(
                text=at.text, start=at.start, end=at.end, cites=tuple(ids.get(name, name) for name in each.cites)
            )
            for each, at in zip(found.claims, placed, strict=True)
        }
        doubts = [
            each.evolve(
                claim=(claim := claims[each.n].text),
                part=each.part if each.part in claim else claim,
                evidence=ids.get(each.evidence or "", each.evidence),
            )
            for each in found.doubts
        ]
        return found.evolve(claims=tuple(claims.values()), doubts=tuple(doubts))
