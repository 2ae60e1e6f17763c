"""What the roles of the report flow answer."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from leadhand.domain.passages import Passage
from leadhand.domain.value import Value

MOST_QUESTIONS = 12


class Verdict(StrEnum):
    """What a reviewer decides about a draft."""

    APPROVED = "APPROVED"
    NEEDS_REVISION = "NEEDS_REVISION"


class Section(Value):
    """A section of the report, and the question that a researcher answers for it."""

    heading: str = Field(min_length=1, max_length=200)
    question: str = Field(min_length=1, max_length=1_000)


class Outline(Value):
    """The plan of a report."""

    title: str = Field(min_length=1, max_length=300)
    sections: tuple[Section, ...] = Field(min_length=1, max_length=MOST_QUESTIONS)


class Finding(Value):
    """A statement and the ids of the passages that support it."""

    statement: str = Field(min_length=1)
    passages: tuple[str, ...] = Field(min_length=1)


class Findings(Value):
    """What a researcher found: nothing, if its tools found nothing."""

    summary: str
    findings: tuple[Finding, ...] = ()


class Evidence(Findings):
    """Findings with the passages that they name, which code takes from the tool calls."""

    passages: tuple[Passage, ...] = ()


class DraftFinding(Value):
    """A finding of a reviewer: what is wrong with a sentence, or with the whole draft (null)."""

    sentence: int | None = None
    problem: str = Field(min_length=1, max_length=1_000)


class Support(Value):
    """Whether the passages that a sentence cites say what the sentence says."""

    sentence: int
    supported: bool
    why: str = Field(default="", max_length=1_000)


class DraftReview(Value):
    """The review of a whole draft."""

    verdict: Verdict
    findings: tuple[DraftFinding, ...] = ()


class CitationReview(Value):
    """The review of some sentences beside the passages that they cite."""

    support: tuple[Support, ...]


class ReviewerAnswer(Value):
    """Either review; each assignment of a reviewer asks for one of them."""

    verdict: Verdict | None = None
    findings: tuple[DraftFinding, ...] = ()
    support: tuple[Support, ...] = ()
