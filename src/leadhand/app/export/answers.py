"""The outcome of a run in the Python API."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic

from leadhand.app.run_settings import Output, typed_value
from leadhand.core.run import CitedSource, Gap, RunStatus

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from leadhand.app.export.outcome import DoneCall, EvidencePart, OutcomePart
    from leadhand.app.export.shapes import OpenQuestion, RunDocument, RunUsage, WorkState
    from leadhand.core.errors import Failure
    from leadhand.core.work_result import Doubt

    ValueT = TypeVar("ValueT", default=Any)
else:
    from typing import TypeVar

    ValueT = TypeVar("ValueT")


Wanted = type[ValueT] | Mapping[str, Any] | None
"""What ``output`` is in Python: a pydantic model, or a JSON schema."""


class Answer(Generic[ValueT]):
    """The outcome of a run; ``document`` is the run document of ``leadhand run --json``.

    ``text`` is the answer as it was written. ``str(answer)`` adds the lines that the command line shows under it: what
    was done, what the answer rests on, each doubt with its reason, and what is missing.
    """

    evidence: EvidencePart
    """How many claims of the answer have each verdict, who judged them, and the doubts."""
    done: tuple[DoneCall, ...]
    """Every call with an effect, from the log."""
    sources: tuple[CitedSource, ...]
    """The sources of the answer; the first is cited as [1]."""
    gaps: tuple[Gap, ...]
    """The parts of the request that the answer lacks, with class, reason and next action."""
    failure: Failure | None
    """Why the run failed; None if it did not."""
    question: OpenQuestion | None
    """The oldest question that waits for an answer; see :meth:`Leadhand.reply`."""
    outcome: OutcomePart
    """How the run stands, why, and what a person can do next."""
    usage: RunUsage
    """The model calls, tokens and cost of the run."""
    work_state: WorkState | None
    """The state of the latest work order: ``work_state.subtask_state[0].status``; None for flows without orders."""

    def __init__(self, document: dict[str, Any], output: Output = None) -> None:
        self.document = document
        self._output = output

    @cached_property
    def _parts(self) -> RunDocument:
        from leadhand.app.export.shapes import RunDocument

        return RunDocument.model_validate(self.document)

    def __getattr__(self, name: str) -> Any:
        if name not in Answer.__annotations__:
            raise AttributeError(f"an answer has no {name!r}")
        return getattr(self._parts, name)

    def __str__(self) -> str:
        from leadhand.app.export.outcome import cause_lines, causes_of, lines_beside

        asked = [f"Question: {self.question.text}"] if self.question is not None else []
        how = [f"{self.outcome.headline}."] if self.status is not RunStatus.SUCCEEDED else []
        causes = cause_lines(causes_of(self.gaps, self.failure))
        beside = "\n".join([*lines_beside(self.document), *how, *causes, *asked])
        return "\n\n".join(filter(None, [self.text, beside]))

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
    def doubts(self) -> tuple[Doubt, ...]:
        """The claims that are not confirmed or are contradicted, each with the reason. They do not change the text."""
        return self.evidence.doubts

    @property
    def plan(self) -> dict[str, Any] | None:
        """The last plan that a person was asked to approve, as JSON data: for ``plan_only`` and ``approve_plan``."""
        plans = [each["args"] for each in self.document["approvals"] if each["kind"] == "plan"]
        return plans[-1] if plans else None

    @property
    def cost_usd(self) -> float | None:
        """Dollars spent; None if a price is unknown."""
        return self.document["usage"]["cost_usd"]
