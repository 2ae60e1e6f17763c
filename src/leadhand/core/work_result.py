"""Results of attempts, reviews of them, and what the claims of an answer rest on."""

import operator
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from pydantic import Field

from .text import is_blank
from .tool import Source
from .value import Json, Value, compact_json, unset
from .work_order import Subtask, Unsupported

LONGEST_SUMMARY = 300
"""Characters of what a tool returned that are the summary of a result, if the tool gives none."""
_CUT = "…"


def summary_of(returned: Json) -> str:
    """Return the summary of a result whose tool gives none: the text or the JSON that it returned, cut."""
    text = returned if isinstance(returned, str) and not is_blank(returned) else compact_json(returned)
    return text if len(text) <= LONGEST_SUMMARY else text[: LONGEST_SUMMARY - len(_CUT)] + _CUT


class ResultData(Value):
    """Result of a successful attempt: ``summary`` (text), ``raw`` (JSON), ``sources``, ``sample`` (made-up data).

    ``raw`` is what the calls returned, above 4 kB a reference to a :class:`~leadhand.core.artifact.Blob`. ``value`` is
    the object that the schema of the subtask describes, if it has one.
    """

    summary: str
    raw: Json = None
    sources: tuple[Source, ...] = ()
    sample: bool = False
    value: Json = Field(default=None, exclude_if=lambda value: value is None)

    @property
    def is_cut(self) -> bool:
        """Whether its summary is only the beginning of what a tool returned, which a lead needs in full."""
        return len(self.summary) == LONGEST_SUMMARY and self.summary.endswith(_CUT)


class VerdictKind(StrEnum):
    """What a review decides about a result."""

    ACCEPT = "accept"
    RETRY = "retry"
    REPLAN = "replan"
    DROP = "drop"


class SubtaskVerdict(Value):
    """The verdict on one subtask. ``replacement`` is what to do instead, for ``replan``."""

    subtask: str = Field(description="its key, e.g. wo-001.0")
    verdict: VerdictKind
    reason: str = Field(default="", max_length=1_000)
    replacement: Subtask | None = None


class Review(Value):
    """A lead's answer when asked to review; a review of a part of an order does not say whether it is ``complete``.

    ``missing`` are parts of the request that a tool could do, ``cannot`` those that none can. ``answer`` is used only
    if every subtask is accepted and nothing is missing.
    """

    verdicts: tuple[SubtaskVerdict, ...] = ()
    complete: bool = False
    missing: tuple[Subtask, ...] = ()
    cannot: tuple[Unsupported, ...] = ()
    answer: str | None = None


# --- the claims of an answer -----------------------------------------------------------------------------------------

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

    claims: tuple[Claim, ...] = ()
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
