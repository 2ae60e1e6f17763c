"""What the steps of a flow give, what a flow returns, and what goes wrong in between."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from pydantic import BaseModel

from leadhand.core.artifact import blob_of
from leadhand.core.errors import Failure
from leadhand.core.state import StepState
from leadhand.core.tool import Source
from leadhand.core.value import Json, object_of


def sha(value: Json) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a JSON value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def unfenced(text: str) -> str:
    """Return a Markdown text that a model has wrapped in a fence as Markdown, without the fence."""
    if not text.lstrip().startswith(("```", "~~~")):
        return text
    first, *inside = text.strip().split("\n")
    opens = re.fullmatch(r"(?P<mark>`{3,}|~{3,})[ \t]*(?:markdown|md)\s*", first, re.IGNORECASE)
    if opens is None or not inside or inside.pop().strip() != (mark := opens["mark"]):
        return text
    is_open = False  # whether a fence within the text is
    for line in inside:
        if line.startswith(mark):
            is_open = not is_open or line.strip() != mark
    return text if is_open else "\n".join(inside).removesuffix("\r")


def refers(raw: Json) -> bool:
    """Whether data of tools refers to large values that are not in the state."""
    return blob_of(raw) is not None or any(blob_of(each) is not None for each in object_of(raw).values())


class FlowMisuse(Exception):
    """A flow did what no flow may do, such as awaiting something that is not of its run."""


class Result:
    """What a step gave: ``text`` in words, ``value`` as data (an instance of the worker's ``output``, if that is a
    pydantic model), ``raw`` as the tools returned it, and the ``sources``.

    ``key`` is the id of the step. A result that is not ``ok`` has a ``failure`` instead. It cannot be changed.
    """

    key: str
    attempt: int
    ok: bool
    """Whether the step was completed; what a review says of it later changes nothing."""
    failure: Failure | None
    text: str
    value: Any
    raw: Json
    sources: Sequence[Source]
    state: StepState
    """The whole state of the step, for built-in flows."""

    def __init__(self, step: StepState, output: Any = None, loaded: Json = None) -> None:
        """``loaded`` is the data that the tools returned, if the log only refers to it.

        Raises ValueError if the value does not fit ``output``.
        """
        data, settled = step.data, step.settlements[-1] if step.settlements else None
        failure = step.failure if settled is None else settled.failure
        raw = None if data is None else loaded if loaded is not None else data.raw
        value = None if data is None else step.value if step.value is not None else data.value
        ok = data is not None and failure is None
        text = "" if data is None else data.summary
        if ok and isinstance(output, type) and issubclass(output, BaseModel):
            value = output.model_validate(value)
        self.__dict__.update(
            key=step.key,
            attempt=step.attempts,
            ok=ok,
            failure=failure,
            text=text if step.step.kind in ("call", "do") else unfenced(text),
            value=raw if value is None else value,
            raw=raw,
            sources=() if data is None else data.sources,
            state=step,
        )

    def __setattr__(self, name: str, _: object) -> None:
        raise AttributeError(f"the {name} of a result cannot be changed")

    @property
    def by(self) -> str:
        """The person who settled the step; "" for nobody."""
        return self.state.settlements[-1].by if self.state.settlements else ""

    @cached_property
    def digest(self) -> str:
        """The digest of what the log has of the result: it stands for the result in the digest of an input."""
        step, data = self.state, self.state.data
        has = None if data is None else step.value if step.value is not None else data.value or data.raw
        why = [self.failure.message] if self.failure is not None else []
        return sha([self.ok, self.text, has, *why])

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Result {self.key}: {self.state.status.value}>"


class StepFailed(Exception):
    """A step has failed for good. It is a gap of the answer, unless it is waived."""

    def __init__(self, result: Result, waive: Callable[[], None]) -> None:
        self.result, self.failure = result, result.failure
        self._waive = waive
        super().__init__(f"{result.key}: {self.failure.message if self.failure is not None else 'it failed'}")

    def waive(self) -> None:
        """Do without this step: its failure is not a gap of the answer."""
        self._waive()


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
