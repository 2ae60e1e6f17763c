"""What the workers of the report flow answer."""

from __future__ import annotations

from enum import StrEnum

from pydantic import ConfigDict, Field

from leadhand.core.value import Value
from leadhand.flows.passages import Passage

MOST_QUESTIONS = 12


class Answer(Value):
    """A part of an answer. Keys that nobody asked for are ignored: they cannot change what the others mean."""

    model_config = ConfigDict(extra="ignore")


class Verdict(StrEnum):
    """What a reviewer decides about a draft."""

    APPROVED = "APPROVED"
    NEEDS_REVISION = "NEEDS_REVISION"


class Section(Answer):
    """A section of the report, and the question that a researcher answers for it."""

    heading: str = Field(min_length=1, max_length=200)
    question: str = Field(min_length=1, max_length=1_000)


class Plan(Answer):
    """The plan of a report."""

    title: str = Field(min_length=1, max_length=300)
    sections: tuple[Section, ...] = Field(min_length=1, max_length=MOST_QUESTIONS)


class Finding(Answer):
    """A statement and the ids of the passages that support it."""

    statement: str = Field(min_length=1)
    passages: tuple[str, ...] = Field(min_length=1)


class Findings(Answer):
    """What a researcher found: nothing, if its tools found nothing."""

    summary: str
    findings: tuple[Finding, ...] = ()


class Research(Answer):
    """Findings with the passages that they name, which code takes from the tool calls, for a question of the plan.

    ``key`` is the step that found them.
    """

    key: str = ""
    summary: str = ""
    heading: str = ""
    question: str = ""
    findings: tuple[Finding, ...]
    passages: tuple[Passage, ...] = ()


class DraftFinding(Answer):
    """A finding of a reviewer: what is wrong with a claim, by its number, or with the whole draft (null)."""

    claim: int | None = None
    problem: str = Field(min_length=1, max_length=1_000)


class DraftReview(Answer):
    """The review of a whole draft."""

    verdict: Verdict
    findings: tuple[DraftFinding, ...] = ()
