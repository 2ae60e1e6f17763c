"""The outcome of a run in the Python API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypedDict

from leadhand.app.typed_answers import Output, typed_value
from leadhand.domain.errors import FailureClassName
from leadhand.domain.run import RunStatus

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    ValueT = TypeVar("ValueT", default=Any)
else:
    from typing import TypeVar

    ValueT = TypeVar("ValueT")


class AnswerSource(TypedDict):
    """A source of an answer, and the event that contains the evidence."""

    title: str
    url: str
    event_id: str


AnswerGap = TypedDict(
    "AnswerGap",
    {
        "work_order_id": str | None,
        "subtask_index": int | None,
        "assignment": str | None,
        "name": str,
        "class": FailureClassName,
        "reason": str,
        "next_action": str,
    },
)
"""A part of the request that an answer lacks, why, and what you can do about it."""
Wanted = type[ValueT] | Mapping[str, Any] | None
"""What ``output`` is in Python: a pydantic model, or a JSON schema."""


class Answer(Generic[ValueT]):
    """The outcome of a run. ``str(answer)`` is the text; ``document`` the run document of ``leadhand run --json``."""

    def __init__(self, document: dict[str, Any], output: Output = None) -> None:
        self.document = document
        self._output = output

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Answer {self.status.value} of {self.run_id}>"

    @property
    def text(self) -> str:
        """The answer; empty while the run has none."""
        return self.document["answer"] or ""

    @property
    def value(self) -> ValueT | None:
        """The typed answer: an instance of the pydantic model given as ``output``, or JSON for a JSON schema.

        None if the run has no output, or its answer could not be put into that shape: then ``gaps`` says why.
        """
        return typed_value(self._output, self.document["value"])

    @property
    def run_id(self) -> str:
        return self.document["run_id"]

    @property
    def status(self) -> RunStatus:
        return RunStatus(self.document["status"])

    @property
    def sources(self) -> list[AnswerSource]:
        """The sources of the answer; the first is cited as [1]."""
        return self.document["sources"]

    @property
    def gaps(self) -> list[AnswerGap]:
        """The parts of the request that the answer lacks, with class, reason and next action."""
        return self.document["gaps"]

    @property
    def plan(self) -> dict[str, Any] | None:
        """The last plan that a person was asked to approve, as JSON data: for ``plan_only`` and ``approve_plan``."""
        plans = [each["args"] for each in self.document["approvals"] if each["kind"] == "plan"]
        return plans[-1] if plans else None

    @property
    def cost_usd(self) -> float | None:
        """Dollars spent; None if a price is unknown."""
        return self.document["usage"]["cost_usd"]
