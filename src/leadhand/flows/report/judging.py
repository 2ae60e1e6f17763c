"""The verdict on a draft: what code, the reviewer and the stages of users found in it. Free text never approves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from pydantic import ValidationError

from leadhand.domain.errors import FailureClass
from leadhand.domain.passages import Passage
from leadhand.domain.state import AssignmentState
from leadhand.domain.value import object_of

from .citations import Statement, Status
from .options import REVIEWER, Stage
from .progress import Report, draft_key, review_key, stage_key, used_research
from .sentences import Kind
from .shapes import CitationReview, DraftReview, Verdict

_WORD = re.compile(r"\w+")
CODE = "citation check"
"""Who found what code found."""
SHARD = 25
"""Sentences of one review of citations, at most."""


class Remark(NamedTuple):
    """Something to change: in one sentence of the draft, by its number, or in the draft as a whole (None).

    ``by`` is who found it. If it ``refutes`` the sentence, the passages that the sentence cites do not support it.
    """

    by: str
    number: int | None
    sentence: str
    problem: str
    refutes: bool = False


class Judged(NamedTuple):
    """The verdict on a draft, None while it has none; ``unreviewed`` says what nobody judged, and why."""

    verdict: Verdict | None
    remarks: tuple[Remark, ...]
    unreviewed: tuple[tuple[str, AssignmentState], ...]

    @property
    def refuted(self) -> dict[int, str]:
        """The sentences that their passages do not support, and why."""
        return {each.number: each.problem for each in self.remarks if each.refutes and each.number is not None}


class CitingTexts(Protocol):
    """Texts that cite passages, by their numbers: the drafts of a report, or the answers of a research run."""

    def citable(self, number: int) -> Mapping[str, Passage]: ...

    def statements(self, number: int, before: str = "") -> Sequence[Statement]: ...

    def shards(self, number: int) -> Sequence[AssignmentState]: ...


def shards(report: CitingTexts, number: int) -> list[list[int]]:
    """Return the sentences whose citations a reviewer judges, in groups.

    Left out are sentences in which code found something, and those that were judged in an earlier draft.
    """
    known = {claim for earlier in range(1, number) for claim in _supported(report, earlier)}
    passages = report.citable(number)
    cited = [
        each.index
        for each in report.statements(number, REVIEWER)
        if each.passages and each.status is Status.SUPPORTED and _claim(each, passages) not in known
    ]
    return [cited[at : at + SHARD] for at in range(0, len(cited), SHARD)]


def _claim(statement: Statement, passages: Mapping[str, Passage]) -> tuple[str, ...]:
    return (statement.text, *(passages[name].id for name in statement.passages if name in passages))


def _supported(report: CitingTexts, number: int) -> Iterator[tuple[str, ...]]:
    """The sentences of a draft, with the passages that they cite, that a reviewer found supported."""
    statements = {each.index: each for each in report.statements(number, REVIEWER)}
    passages = report.citable(number)
    for review in report.shards(number):
        if review.ok:
            for each in CitationReview.model_validate(review.value).support:
                if each.supported and each.sentence in statements:
                    yield _claim(statements[each.sentence], passages)


def judged(report: Report, number: int) -> Judged:
    """Return the verdict on a draft from everything that judged it so far."""
    if number not in report.judgements:
        report.judgements[number] = _judged(report, number)
    return report.judgements[number]


def _judged(report: Report, number: int) -> Judged:
    remarks = list(_by_code(report, number))
    unreviewed: list[tuple[str, AssignmentState]] = []
    asked, waits = bool(remarks), False
    judges = [stage for stage in report.rounds if stage.judges]
    for stage in judges:
        sentences = {each.index: each.text for each in report.statements(number, stage.name)}
        shards_ = report.shards(number) if stage.name == REVIEWER else []
        for review in (report.of(stage_key(stage, number)), *shards_):
            if review is None or not review.closed:
                waits = True
                continue
            found, wants, missing = _read(stage, review, sentences)
            remarks += found
            asked = asked or wants
            unreviewed += missing
    verdict = Verdict.NEEDS_REVISION if asked else None if unreviewed or waits or not judges else Verdict.APPROVED
    return Judged(verdict, tuple(remarks), tuple(unreviewed))


def unsupported(report: CitingTexts, number: int, text: str = "draft") -> Iterator[Remark]:
    """Return what code found in the sentences of a text, and whether it cites nothing."""
    statements = report.statements(number)
    for each in statements:
        if each.status is Status.UNSUPPORTED:
            problem = "; ".join(each.problems) or "the passages that it cites do not support it"
            yield Remark(CODE, each.index, each.text, problem, refutes=True)
    if statements and report.citable(number) and not any(each.passages for each in statements):
        yield Remark(CODE, None, "", f"the {text} cites no passage")


def _by_code(report: Report, number: int) -> Iterator[Remark]:
    yield from unsupported(report, number)
    statements = report.statements(number)
    for heading in _missing(report, number) if statements else ():
        yield Remark(CODE, None, "", f"the section “{heading}” of the plan is missing or has no text")


def _missing(report: Report, number: int) -> list[str]:
    """Return the sections of the plan that have findings and no text in a draft."""
    draft = report.of(draft_key(number))
    found = {item.heading for item in report.items(used_research(draft)) if item.findings} if draft is not None else ()
    planned = [each.heading for each in report.plan.sections if each.heading in found] if report.plan else []
    statements, text = report.statements(number), report.text(number)
    written = [
        _words(each.text)
        for each, following in zip(statements, [*statements[1:], None], strict=True)
        if each.kind is Kind.HEADING and following is not None and _level(following, text) > _level(each, text)
    ]
    missing: list[str] = []
    for heading in sorted(planned, key=lambda each: _words(each) not in written):  # a heading is that of one section
        words = _words(heading)
        best = max(written, key=lambda each: (each == words, len(words & each)), default=None)
        if best is not None and 2 * len(words & best) >= len(words):
            written.remove(best)
        else:
            missing.append(heading)
    return missing


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _level(statement: Statement, draft: str) -> int:
    """The level of a heading, 2 for an underlined one; more than any for text."""
    if statement.kind is not Kind.HEADING:
        return 7
    return draft[draft.rfind("\n", 0, statement.offset) + 1 : statement.offset].count("#") or 2


def _read(
    stage: Stage, review: AssignmentState, sentences: dict[int, str]
) -> tuple[list[Remark], bool, list[tuple[str, AssignmentState]]]:
    """Return what a review found, whether it asks for a revision, and what it left without a verdict."""
    if review.assignment.input.get("sentences"):
        found, missing = refused_citations(stage.name, review, sentences)
        return found, bool(found), missing
    given: Any = review.value if review.ok else None
    if stage.agent:
        given = {name: object_of(given).get(name) or () for name in ("verdict", "findings")}
    try:
        draft = DraftReview.model_validate(given)
    except ValidationError:
        return [], False, [("the draft", review)]
    found = [
        Remark(stage.name, at, "" if at is None else sentences.get(at, ""), each.problem)
        for at, each in ((each.sentence, each) for each in draft.findings)
    ]
    wants = draft.verdict is Verdict.NEEDS_REVISION
    if wants and not found:
        found = [Remark(stage.name, None, "", f"the {stage.name} asks for a revision")]
    return found, wants, []


def refused_citations(
    by: str, review: AssignmentState, sentences: Mapping[int, str]
) -> tuple[list[Remark], list[tuple[str, AssignmentState]]]:
    """Return what a review of citations refused, and what it left without a verdict."""
    covers: list[int] = list(review.assignment.input["sentences"])
    given: Any = review.value if review.ok else {"support": ()}
    try:
        support = [each for each in CitationReview.model_validate(given).support if each.sentence in covers]
    except ValidationError:
        support = []
    why = "the passages that it cites do not say this"
    found = [
        Remark(by, each.sentence, sentences.get(each.sentence, ""), each.why or why, refutes=True)
        for each in support
        if not each.supported
    ]
    left = len(set(covers) - {each.sentence for each in support})
    return found, [(f"the citations of {left} sentences", review)] if left else []


def problems(stage_covers: Sequence[int], value: Any, sentences: Sequence[int]) -> list[str]:
    """Return why the answer of a reviewer is not a verdict, one sentence each."""
    try:
        if stage_covers:
            judged_ = [each.sentence for each in CitationReview.model_validate(value).support]
            odd = sorted(set(judged_) - set(stage_covers))
            return [f"no judgement of sentence {each}" for each in stage_covers if each not in judged_] + [
                f"sentence {each} is not one of those to judge" for each in odd
            ]
        review = DraftReview.model_validate(value)
    except ValidationError as error:
        fault = error.errors()[0]
        return [f"{'.'.join(map(str, fault['loc'])) or 'the answer'}: {fault['msg']}"]
    found = [
        f"there is no sentence {each.sentence}"
        for each in review.findings
        if each.sentence is not None and each.sentence not in sentences
    ]
    if review.verdict is Verdict.NEEDS_REVISION and not review.findings:
        found.append("the verdict is NEEDS_REVISION, but no finding says what has to change")
    if review.verdict is Verdict.APPROVED and review.findings:
        found.append("the verdict is APPROVED, but there are findings: leave them out, or ask for a revision")
    return found


def ran_out(report: Report, number: int) -> bool:
    """Whether the review of a draft ended because a limit of the run is used up."""
    review = report.of(review_key(number))
    return review is not None and review.failure is not None and review.failure.class_ is FailureClass.EXHAUSTED
