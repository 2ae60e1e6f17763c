"""What a judge says of the claims of a text that cites passages: of a report, or of an answer from research."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from leadhand.core.judgement import Claim, Doubt, Judgement
from leadhand.core.state import RunState
from leadhand.flows.passages import Passage, of_passages
from leadhand.verify.claims import claims_of
from leadhand.verify.judge import JUDGE

from .draft_rounds import Remark
from .judging import Entry, Record, Round, contradictions, judge_round, judgement_of, verdicts_of


class DraftJudging:
    """What a judge says of a text, and of the texts of which it is a revision.

    ``texts`` are their numbers with the texts, the latest last; the judge sees the ``passages`` by name.
    """

    def __init__(self, state: RunState, texts: Sequence[tuple[int, str]], passages: Mapping[str, Passage]) -> None:
        self._state = state
        self._number, text = texts[-1]
        self._passages = passages
        self.claims: Sequence[Claim] = claims_of(text)
        self.material = of_passages(state, passages)
        self._records: list[Record] = []
        self._judges = state.definition.check == "judge" and bool(passages)
        self.round = Round()
        for number, earlier in texts if self._judges else ():
            name, claims = _name(number, earlier), claims_of(earlier)
            self.round = judge_round(state, name, claims, self.material, self._records, of=number)
            self._records.append(self.round.record)
        self._name = _name(self._number, text)

    @cached_property
    def again(self) -> Round:
        """The round that judges once more what was contradicted once: a second opinion on the last text."""
        if not self._judges:
            return Round()
        name = f"{self._name}-again"
        return judge_round(self._state, name, self.claims, self.material, self._records, of=self._number)

    def verdicts(self, claims: Sequence[Claim]) -> list[tuple[Claim, Entry]]:
        """Return the claims of a text with what the judge says of them so far."""
        return verdicts_of(claims, self._records)

    def remarks(self) -> Iterator[Remark]:
        """Yield what the judge contradicts in the text, unless its second opinion does not."""
        for each in contradictions(self.claims, [*self._records, self.again.record]):
            quoted = f" The evidence says: “{each.quote}”" if each.quote else ""
            yield Remark(JUDGE, each.n, each.claim, f"{each.part}: {each.why}{quoted}")

    def judgement(self, answer: str = "") -> Judgement:
        """Return the judgement of the text. Its claims cite the ids of passages, and have their places in
        ``answer``, the text with other names for its sources."""
        exact = None if self._state.definition.check == "off" else self.material
        judged_by = self.again.judged_by or self.round.judged_by
        found = judgement_of(self.claims, [*self._records, self.again.record], judged_by, exact)
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
