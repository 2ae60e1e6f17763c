"""Results of attempts, and reviews: a verdict on each result, and the missing parts of the request."""

from enum import StrEnum
from typing import Any

from pydantic import ConfigDict, Field

from .errors import Failure
from .tool import Source
from .value import Json, Value
from .work_order import ProposedSubtask, Unsupported


class ResultData(Value):
    """Result of a successful attempt: ``summary`` (text), ``raw`` (JSON), ``sources``, ``sample`` (made-up data).

    ``raw`` above 4 kB is a reference to a :class:`~leadhand.core.blob.Blob`. ``value`` is the object that the
    schema of the subtask describes, if it has one; ``raw`` is what the calls returned.
    """

    summary: str
    raw: Json = None
    sources: tuple[Source, ...] = ()
    sample: bool = False
    value: Json = Field(default=None, exclude_if=lambda value: value is None)


class WorkResult(Value):
    """The result of one attempt: ok with data, or not ok with a classed error.

    ``used`` lists the ids of the tool calls that the result uses: a claim that the gate checks against the log.
    ``value`` is what is recorded as the structured answer, where that is not the last reply of the model as it is.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    task_name: str
    ok: bool
    data: ResultData | None = None
    error: Failure | None = None
    used: tuple[str, ...] = ()
    value: Json = Field(default=None, exclude_if=lambda value: value is None)

    def model_post_init(self, context: Any, /) -> None:
        if self.ok != (self.data is not None) or self.ok == (self.error is not None):
            raise ValueError("a result needs data if it is ok, and an error if it is not")

    @classmethod
    def failed(cls, task_name: str, failure: Failure, used: tuple[str, ...] = ()) -> "WorkResult":
        """A result that is not ok."""
        return cls(task_name=task_name, ok=False, error=failure, used=used)


class VerdictKind(StrEnum):
    """What a review decides about a result."""

    ACCEPT = "accept"
    RETRY = "retry"
    REPLAN = "replan"
    DROP = "drop"


class Verdict(Value):
    """The verdict on one subtask. ``replacement`` is what to do instead, for ``replan``."""

    subtask: str = Field(description="its key, e.g. wo-001.0")
    verdict: VerdictKind
    reason: str = Field(default="", max_length=1_000)
    replacement: ProposedSubtask | None = None


class Review(Value):
    """A lead's answer when asked to review.

    ``missing`` are parts of the request that no subtask covers yet but a tool could, ``cannot`` those that no tool can.
    ``answer`` is the composed answer, used only if every subtask is accepted and nothing is missing. A review of a part
    of an order does not say whether it is ``complete``.
    """

    verdicts: tuple[Verdict, ...]
    complete: bool = False
    missing: tuple[ProposedSubtask, ...] = ()
    cannot: tuple[Unsupported, ...] = ()
    answer: str | None = None
