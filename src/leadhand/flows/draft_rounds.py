"""The judging of texts that cite passages, as steps of a flow: of a report, or of an answer from research."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from pydantic import Field

from leadhand.core.value import Json, Value
from leadhand.core.work_result import Claim, Judgement
from leadhand.flows.passages import Passage, of_passages
from leadhand.verify.claims import claims_of
from leadhand.verify.judge import JUDGE, MissingPart

from .judging import Entry, Materials, Record, contradictions, judge_round, judgement_of, verdicts_of
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
        self._material: Materials = lambda state: of_passages(state, passages, self.gaps)
        self.gaps: Sequence[Json] = ()
        """What the text can say is missing."""
        self._records: list[Record] = [] if before is None else [*before._records]
        self._judged_by: str | None = None if before is None else before._judged_by
        self._judged = ""
        self.number, self.text = 0, ""
        """The text, the ``number``-th revision of the first."""
        self.claims: Sequence[Claim] = ()
        self.missing: Sequence[MissingPart] = ()
        """What the judge says the text leaves out."""

    def begin(self, number: int, text: str) -> None:
        """Take a text, which is not judged yet."""
        self.number, self.text, self.claims = number, text, claims_of(text)

    async def judge(self, *, again: bool = False) -> None:
        """Judge the claims that are new in the text; ``again``, a second time, what was contradicted once."""
        if (
            self._run.state.definition.check != "judge"
            or not self._passages
            or (self._judged == self.text and not again)
        ):
            return
        digest = hashlib.sha256(self.text.encode(errors="replace")).hexdigest()[:8]  # another text has other rounds
        name = f"judge-{self.number}-{digest}{'-again' if again else ''}"
        found = await judge_round(self._run, name, self.claims, self._material, self._records, of=self.number)
        self._records.append(found.record)
        self._judged, self._judged_by = self.text, found.judged_by or self._judged_by
        self.missing = found.missing

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

    def judgement(self, shown: str) -> Judgement:
        """Return the judgement of the text. Its claims cite the ids of passages, and have their places in the text as
        it is ``shown``, with other names for its sources."""
        state = self._run.state
        exact = None if state.definition.check == "off" else self._material(state)
        found, placed = judgement_of(self.claims, self._records, self._judged_by, exact), claims_of(shown)
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
