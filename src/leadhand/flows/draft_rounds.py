"""The judging of texts that cite passages, as steps of a flow: of a report, or of an answer from research."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import NamedTuple

from leadhand.core.judgement import Claim, Doubt, Judgement
from leadhand.core.state import RunState
from leadhand.flows.passages import Passage, of_passages
from leadhand.verify.claims import claims_of
from leadhand.verify.judge import JUDGE, MissingPart
from leadhand.verify.material import Material

from .judging import Entry, Record, Round, contradictions, judge_round, judgement_of, verdicts_of
from .seam.context import FlowContext


class Remark(NamedTuple):
    """Something to change in a text: in one of its claims, by its number, or in the whole (None).

    ``by`` is the stage that found it, or the judge.
    """

    by: str
    n: int | None
    claim: str
    problem: str


class DraftRounds:
    """What a judge says of a text, and of the texts of which it is a revision; it sees the ``passages`` by name."""

    def __init__(self, run: FlowContext, passages: Mapping[str, Passage]) -> None:
        self._run, self._passages = run, passages
        self._number, self._text = 0, ""
        self._judged = 0, ""
        self._records: list[Record] = []
        self._again = Round()
        self._judged_by: str | None = None
        self._judges = run.state.definition.check == "judge" and bool(passages)
        self.claims: Sequence[Claim] = ()
        self.missing: Sequence[MissingPart] = ()
        """What the judge says the text leaves out."""

    def material(self, state: RunState) -> Material:
        return of_passages(state, self._passages)

    def following(self) -> DraftRounds:
        """Return the rounds of a revision of the text, which begin with what is known of the text."""
        found = copy(self)
        found._records = [*self._records]
        found.begin(self._number, "")
        return found

    def begin(self, number: int, text: str) -> None:
        """Take a text, the ``number``-th revision of the first, which is not judged yet."""
        self._number, self._text, self._again, self.claims = number, text, Round(), claims_of(text)

    async def judge(self, number: int, text: str) -> None:
        """Judge a text, the ``number``-th revision of the first, unless it was: the claims that are new in it."""
        if (number, text) == self._judged:
            return
        self.begin(number, text)
        self._judged = number, text
        if self._judges:
            found = await self._round("")
            self._records.append(found.record)
            self._judged_by, self.missing = found.judged_by, found.missing

    async def judge_again(self) -> None:
        """Judge once more what was contradicted once: a second opinion on the last text."""
        if self._judges:
            self._again = await self._round("-again")
            self._judged_by = self._again.judged_by or self._judged_by

    async def _round(self, suffix: str) -> Round:
        name = f"{_name(self._number, self._text)}{suffix}"
        return await judge_round(self._run, name, self.claims, self.material, self._records, of=self._number)

    def verdicts(self, claims: Sequence[Claim]) -> list[tuple[Claim, Entry]]:
        """Return the claims of a text with what the judge says of them so far."""
        return verdicts_of(claims, self._records)

    def remarks(self) -> Iterator[Remark]:
        """Yield what the judge contradicts in the text, unless its second opinion does not."""
        for each in contradictions(self.claims, [*self._records, self._again.record]):
            quoted = f" The evidence says: “{each.quote}”" if each.quote else ""
            yield Remark(JUDGE, each.n, each.claim, f"{each.part}: {each.why}{quoted}")

    def judgement(self, answer: str = "") -> Judgement:
        """Return the judgement of the text. Its claims cite the ids of passages, and have their places in
        ``answer``, the text with other names for its sources."""
        state = self._run.state
        exact = None if state.definition.check == "off" else self.material(state)
        found = judgement_of(self.claims, [*self._records, self._again.record], self._judged_by, exact)
        placed = claims_of(answer)
        if len(placed) != len(found.claims):
            placed = [each.evolve(start=None, end=None) for each in found.claims]
        claims = [
            each.evolve(text=at.text, start=at.start, end=at.end, cites=tuple(map(self._passage_id, each.cites)))
            for each, at in zip(found.claims, placed, strict=True)
        ]
        texts = {each.n: each.text for each in claims}
        doubts = (self._placed(each, texts[each.n]) for each in found.doubts)
        return found.evolve(claims=tuple(claims), doubts=tuple(doubts))

    def _placed(self, doubt: Doubt, claim: str) -> Doubt:
        part = doubt.part if doubt.part in claim else claim
        return doubt.evolve(claim=claim, part=part, evidence=doubt.evidence and self._passage_id(doubt.evidence))

    def _passage_id(self, name: str) -> str:
        return self._passages[name].id if name in self._passages else name


def _name(number: int, text: str) -> str:
    """Return the name of the round that judges a text, which another text does not have."""
    return f"judge-{number}-{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:8]}"
