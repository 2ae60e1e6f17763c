"""What the steps of a flow give, what a flow returns, and what goes wrong in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from pydantic import BaseModel

from leadhand.core.commands import Cited
from leadhand.core.errors import Failure
from leadhand.core.judgement import Judgement
from leadhand.core.run import Gap
from leadhand.core.state import RunState, StepState
from leadhand.core.tool import Source
from leadhand.core.value import Json, compact_json, plain_json
from leadhand.flows.seam.identity import Referred, sha
from leadhand.verify.material import Material

Blobs = Mapping[str, Json]
"""Large values that were loaded, by the digest of their content."""


class FlowMisuse(Exception):
    """A flow did what no flow may do, such as awaiting something that is not of its run."""


class Result(Referred):
    """What a step gave: ``text`` in words, ``value`` as data (an instance of the worker's ``output``, if that is a
    pydantic model), ``raw`` as the tools returned it, and the ``sources``.

    ``key`` is the id of the step. A result that is not ``ok`` has a ``failure`` instead. It cannot be changed.
    """

    __slots__ = ("_digest", "_step", "raw", "settled_at", "value")
    _digest: str
    _step: StepState
    raw: Json
    value: Any
    settled_at: datetime | None

    def __init__(self, step: StepState, output: Any = None, loaded: Json = None) -> None:
        """``loaded`` is the data that the tools returned, if the log only refers to it.

        Raises ValueError if the value does not fit ``output``.
        """
        data = step.data
        raw = None if data is None else loaded if loaded is not None else data.raw
        value = None if data is None else step.value if step.value is not None else data.value
        if isinstance(output, type) and issubclass(output, BaseModel) and step.ok:
            value = output.model_validate(value)
        self._set(_step=step, key=step.key, attempt=step.attempts, raw=raw, _digest="")
        self._set(value=raw if value is None else value)
        self._set(settled_at=step.settlements[-1].at if step.settlements else None)

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, _: object) -> None:
        raise AttributeError(f"the {name} of a result cannot be changed")

    @property
    def ok(self) -> bool:
        return self._step.ok

    @property
    def failure(self) -> Failure | None:
        return self._step.failure

    @property
    def text(self) -> str:
        return self._step.data.summary if self._step.data is not None else ""

    @property
    def sources(self) -> Sequence[Source]:
        return self._step.data.sources if self._step.data is not None else ()

    @property
    def state(self) -> StepState:
        """The whole state of the step, for built-in flows."""
        return self._step

    @property
    def digest(self) -> str:
        """The digest of what the log has of the result: it stands for the result in the digest of an input."""
        if not self._digest:
            step, data = self._step, self._step.data
            has = None if data is None else step.value if step.value is not None else data.value or data.raw
            self._set(_digest=sha([step.ok, self.text, has]))
        return self._digest

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Result {self.key}: {self._step.status.value}>"


class StepFailed(Exception):
    """A step has failed for good. It is a gap of the answer, unless it is waived."""

    def __init__(self, result: Result, waived: set[str]) -> None:
        self.result, self.failure = result, result.failure
        self._waived = waived
        super().__init__(f"{result.key}: {self.failure.message if self.failure is not None else 'it failed'}")

    def waive(self) -> None:
        """Do without this step: its failure is not a gap of the answer."""
        self._waived.add(self.result.key)


class FlowAnswer(NamedTuple):
    """The answer of a flow: its ``text``, the results that it ``uses`` (None: those of all steps), further ``gaps``.

    ``value`` is the answer as data, if there is more than the text. Of a built-in flow, ``sources`` are those that the
    answer cites as [1], [2], …, ``judgement`` is given if it had its text judged, ``writer`` is the worker that
    corrects it, ``material`` what it is judged beside, ``waived`` are failed steps that are not gaps.
    """

    text: str = ""
    uses: Sequence[Result] | None = None
    gaps: Sequence[Gap] = ()
    value: Json = None
    sources: Sequence[Cited] | None = None
    judgement: Judgement | None = None
    writer: str = ""
    material: Callable[[RunState], Material] | None = None
    waived: Sequence[str] = ()


def said_by(made: object) -> tuple[str, Json]:
    """Return the text and the value of what a flow returned: text, a result, a pydantic instance, or JSON.

    Raises Unfit for what JSON cannot represent.
    """
    match made:
        case FlowAnswer():
            return made.text, plain_json(made.value)
        case Result():
            value = made.state.value
            return (made.text if value is None else compact_json(value)), value
        case str():
            return made, None
        case _:
            value = plain_json(made.model_dump(mode="json") if isinstance(made, BaseModel) else made)
            return compact_json(value), value


class Approved(NamedTuple):
    """A person approved a plan, or nobody had to be asked."""

    by: str = ""


class Denied(NamedTuple):
    """A person denied a plan, for this reason, or did not approve it in time (``late``)."""

    reason: str = ""
    by: str = ""
    late: bool = False


class Retry(Exception):
    """Raised by the ``validate`` of a worker: its answer goes back to it with this reason."""
