"""What an answer rests on: its claims, the verdict on each, and the doubts."""

import operator
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from pydantic import Field

from .value import Value, unset

Check = Literal["judge", "exact", "off"]
"""Who checks the answer of a run: a judge and the exact checks, the exact checks alone, or nobody."""
CHECKS: tuple[Check, ...] = ("judge", "exact", "off")


class ClaimVerdict(StrEnum):
    """What a claim of an answer rests on."""

    CONFIRMED = "confirmed"
    """Its evidence says it."""
    DERIVED = "derived"
    """It follows from its evidence by arithmetic or comparison."""
    OWN_WORDS = "own_words"
    """It is advice, wording or general knowledge."""
    UNCONFIRMED = "unconfirmed"
    CONTRADICTED = "contradicted"
    NOT_CHECKED = "not_checked"


DOUBTED = (ClaimVerdict.UNCONFIRMED, ClaimVerdict.CONTRADICTED)
"""The verdicts on what is doubted, the worse one last."""


class Claim(Value):
    """A stretch of a text that ends with its citation or with its block, or a leaf of a typed answer.

    ``text`` is in the answer from ``start`` to ``end`` (characters; None if it is not there unchanged). ``header`` is
    that of the table of which it is a row; ``path`` the JSON pointer of a leaf. ``cites`` are the ids that it cites.
    """

    n: int = Field(description="From 1.")
    text: str
    header: str = Field(default="", exclude_if=operator.not_)
    path: str = Field(default="", exclude_if=operator.not_)
    cites: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    start: int | None = Field(default=None, exclude_if=unset)
    end: int | None = Field(default=None, exclude_if=unset)


class JudgedClaim(Claim):
    """A claim of an answer with its verdict."""

    verdict: ClaimVerdict = ClaimVerdict.NOT_CHECKED


class Doubt(Value):
    """One reason why a claim is unconfirmed or contradicted.

    ``part`` are the words of the claim that are meant; ``quote`` is what the evidence ``evidence`` says instead.
    """

    n: int = Field(description="The number of the claim.")
    claim: str
    path: str = Field(default="", exclude_if=operator.not_, description="Of a leaf of a typed answer.")
    part: str
    verdict: ClaimVerdict
    why: str
    quote: str | None = None
    evidence: str | None = None


class Judgement(Value):
    """The verdicts on the claims of an answer. ``judged_by`` is the model that judged (None: none did)."""

    claims: tuple[JudgedClaim, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    judged_by: str | None = None

    @property
    def counts(self) -> Mapping[ClaimVerdict, int]:
        """How many claims have each verdict."""
        found = Counter(claim.verdict for claim in self.claims)
        return {verdict: found[verdict] for verdict in ClaimVerdict}

    @property
    def contradicted(self) -> bool:
        """Whether the answer still contradicts the log after its correction."""
        return any(claim.verdict is ClaimVerdict.CONTRADICTED for claim in self.claims)
