"""What the steps of a flow give, what a flow returns, what goes wrong in between, and the identity of a step.

The identity of a step is its kind, its name, and the digest of its input; its place in the code is not a part of it.
The digest is SHA-256 over canonical JSON (keys sorted, no spaces, UTF-8, no NaN). A result counts by its content, and
is a reference to its step in the log.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple, cast

from pydantic import BaseModel

from leadhand.core.artifact import blob_of
from leadhand.core.errors import Failure
from leadhand.core.ids import place_of
from leadhand.core.secret import has_secret
from leadhand.core.state import RunState, StepState
from leadhand.core.text import REDACTED
from leadhand.core.tool import Source
from leadhand.core.value import TOO_DEEP, Json, is_list, is_object, json_problem, list_of, one_line

_canonical = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def sha(value: Json) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a JSON value."""
    return hashlib.sha256(_canonical(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]


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
    if blob_of(raw) is not None:
        return True
    parts = raw.values() if is_object(raw) else list_of(raw)
    return any(isinstance(each, dict | list) and refers(each) for each in parts)


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
    def is_exact(self) -> bool:
        """Whether exactly the call of its subtask was made, with the values to which it refers, and succeeded.

        Irreversible calls, and what was expected in words, need a verdict.
        """
        given, made = self.state.subtask, self.state.made
        if not self.ok or self.state.acted or given.expected_output or len(made) != 1:
            return False
        by_leadhand = place_of(made[0].call_id) == (0, 0) and not made[0].changed_by
        return made[0].tool == given.tool and (by_leadhand or made[0].args == given.args)

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


# --- the identity of a step ------------------------------------------------------------------------------------------


RESULT = "$step"
"""The key of a reference to the result of a step: ``{"$step": id, "attempt": number}``."""


def encoded(fields: Mapping[str, object]) -> tuple[dict[str, Json], Mapping[str, Result]]:
    """Return the fields of an input as the log has them, and the results in them, by step.

    Raises TypeError for what has no stable form as JSON.
    """
    results: dict[str, Result] = {}
    logged: dict[str, Json] = {}
    for name, value in fields.items():
        try:
            logged[str(name)] = _encoded(value, name, results)
            problem = json_problem([logged[str(name)]])  # the input encloses it, too
        except (RecursionError, ValueError) as error:  # pydantic's errors are ValueErrors
            problem = TOO_DEEP if isinstance(error, RecursionError) else one_line(error)
        if problem:
            raise TypeError(f"`{name}` cannot be stored as JSON: {problem}")
    return logged, results


def _encoded(value: Any, name: str, results: dict[str, Result]) -> Json:
    if value is None or type(value) in (str, int, bool):
        return value
    if isinstance(value, Result):
        results[value.key] = value
        return {RESULT: value.key, "attempt": value.attempt}
    if inspect.isawaitable(value):
        raise TypeError(f"`{name}` holds a step: await it first, then pass its result")
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    elif isinstance(value, Enum):
        value = value.value
    elif isinstance(value, datetime | date):
        value = value.isoformat()
    if isinstance(value, Mapping):
        fields = cast("Mapping[object, object]", value).items()
        keyed = ((str(key.value if isinstance(key, Enum) else key), each) for key, each in fields)
        return {key: _encoded(each, name, results) for key, each in keyed}
    if isinstance(value, list | tuple):
        return [_encoded(each, name, results) for each in cast("list[object]", value)]
    if isinstance(value, int | str) or (isinstance(value, float) and value - value == 0):
        return value
    kind = "NaN or an infinite number" if isinstance(value, float) else f"a {type(value).__name__}"
    raise TypeError(f"`{name}` holds {kind}, which has no stable form: give JSON, a pydantic model or a result")


def digested(logged: Json, results: Mapping[str, Result]) -> Json:
    """Return the fields of an input as their digest is made of them: with the digests of the results in them."""
    if is_object(logged):
        if (result := results.get(str(logged.get(RESULT)))) is not None:
            return {RESULT: result.digest}
        return {name: digested(each, results) for name, each in logged.items()}
    return [digested(each, results) for each in logged] if is_list(logged) else logged


def is_same(logged: Json, given: Json) -> bool:
    """Whether a value of the log is a given one, as it was written there: its secrets are not in the log."""
    if is_object(logged) and is_object(given):
        return logged.keys() == given.keys() and all(is_same(logged[key], each) for key, each in given.items())
    if is_list(logged) and is_list(given):
        return len(logged) == len(given) and all(map(is_same, logged, given))
    return logged == given or (isinstance(logged, str) and (REDACTED in logged or has_secret(logged)))


def resolved(value: Json, state: RunState) -> Json:
    """Return an input from the log with the results to which it refers, in the form that workers are shown."""
    if is_object(value):
        if RESULT in value:
            return shown(state, value[RESULT])
        return {name: resolved(each, state) for name, each in value.items()}
    return [resolved(each, state) for each in value] if is_list(value) else value


def shown(state: RunState, key: str) -> Json:
    """Return a result as workers are shown it: its value, else what its tools returned, else its text."""
    step = state.steps[key]
    if step.data is None:
        return {"failed": step.failure.message} if step.failure is not None else None
    if step.value is not None or step.data.value is not None:
        return step.value if step.value is not None else step.data.value
    if step.step.kind == "call":
        return {"summary": step.data.summary, "raw": step.data.raw}
    if not step.data.sources:
        return step.data.summary
    sources = [{"title": each.title, "url": each.url} for each in step.data.sources]
    return {"text": step.data.summary, "sources": sources}
