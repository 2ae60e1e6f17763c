"""What a judge was worth: what it caught of the false claims, and what it doubted of the true ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from leadhand.core.work_result import ClaimVerdict
from leadhand.verify.exact import problems_of
from leadhand.verify.judge import Findings, checked_reply, merged

from .asking import Question, Replies
from .cases import OMITS, Draft


@dataclass(slots=True)
class Row:
    """The statements of one kind: how many, how many of them are doubted (contradicted ones among them), how many are
    contradicted, and of how many nothing is known.
    """

    corpus: str
    kind: str
    false: bool
    cases: int = 0
    doubted: int = 0
    contradicted: int = 0
    not_checked: int = 0

    def count(self, verdicts: Sequence[ClaimVerdict]) -> None:
        """Count a statement with the verdicts on its claims. The worst one counts."""
        contradicted = ClaimVerdict.CONTRADICTED in verdicts
        doubted = contradicted or ClaimVerdict.UNCONFIRMED in verdicts
        self.cases += 1
        self.contradicted += contradicted
        self.doubted += doubted
        self.not_checked += not doubted and ClaimVerdict.NOT_CHECKED in verdicts


@dataclass(slots=True)
class Scores:
    """The rows by corpus and kind. ``omissions`` are the texts that leave something out, and in how many of these the
    judge names a missing part; ``complete`` are the others.
    """

    rows: dict[tuple[str, str, bool], Row] = field(default_factory=dict[tuple[str, str, bool], Row])
    omissions: Row = field(default_factory=lambda: Row("all", OMITS, false=True))
    complete: Row = field(default_factory=lambda: Row("all", "complete answers", false=False))

    def add(self, draft: Draft, findings: Findings) -> None:
        """Count what a judge found in a draft, with what the exact checks find."""
        citable = draft.material.citable()
        verdicts: dict[int, ClaimVerdict] = {}
        for claim in draft.claims:
            verdict = findings.verdicts.get(claim.n, ClaimVerdict.NOT_CHECKED)
            if verdict is not ClaimVerdict.CONTRADICTED and problems_of(claim, citable, draft.material.addresses):
                verdict = ClaimVerdict.UNCONFIRMED
            verdicts[claim.n] = verdict
        for each in draft.statements:
            key = (draft.corpus, each.kind, each.false)
            row = self.rows.setdefault(key, Row(*key))
            row.count([verdicts[n] for n in sorted(each.claims)])
        if draft.omits is not None:
            row = self.omissions if draft.omits else self.complete
            row.cases += 1
            row.doubted += bool(findings.missing)

    def total(self, *, false: bool) -> Row:
        """Return the sums of the false statements, or of the true ones."""
        total = Row("all", "", false)
        for row in self.rows.values():
            if row.false is false:
                total.cases += row.cases
                total.doubted += row.doubted
                total.contradicted += row.contradicted
                total.not_checked += row.not_checked
        return total

    def as_json(self) -> dict[str, Any]:
        """Return the two rates and all counts. What is not checked is missed, and not doubted."""
        false, true = self.total(false=True), self.total(false=False)
        return {
            "missed": _share(false.cases - false.doubted, false.cases),
            "doubted": _share(true.doubted, true.cases),
            "cases": false.cases + true.cases,
            "false": false.cases,
            "caught": false.doubted,
            "true": true.cases,
            "contradicted_true": true.contradicted,
            "not_checked": false.not_checked + true.not_checked,
            "omissions": self.omissions.cases,
            "omissions_named": self.omissions.doubted,
            "complete": self.complete.cases,
            "complete_called_incomplete": self.complete.doubted,
            "rows": [asdict(row) for row in self.rows.values()],
        }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def scores_of(drafts: Sequence[Draft], questions: Mapping[str, Question], replies: Replies) -> Scores:
    """Return the scores of the replies that there are. Claims without one are not checked."""
    found: dict[int, list[Findings]] = {}
    for digest, question in questions.items():
        reply = replies.get(digest)
        if reply is not None and reply.value is not None:
            facts = question.facts
            worth = checked_reply(reply.value, question.claims, facts["evidence"], facts["request"])
            found.setdefault(id(question.draft), []).append(worth)
    scores = Scores()
    for draft in drafts:
        scores.add(draft, merged(found.get(id(draft), ())))
    return scores


def table(scores: Scores) -> Iterator[str]:
    """Yield the lines of a Markdown table of all kinds."""
    yield "| corpus | kind | claims | doubted | of these contradicted | not checked |"
    yield "|---|---|---:|---:|---:|---:|"
    rows = sorted(scores.rows.values(), key=lambda row: (row.corpus, row.false))
    for row in rows:
        yield _line(row.corpus, f"{'false: ' if row.false else 'true: '}{row.kind}", row)
    yield _line("**all**", "**false**", scores.total(false=True))
    yield _line("**all**", "**true**", scores.total(false=False))


def _line(corpus: str, kind: str, row: Row) -> str:
    return f"| {corpus} | {kind} | {row.cases} | {row.doubted} | {row.contradicted} | {row.not_checked} |"
