"""The identity of a step: its kind, its name, and the digest of its input; its place in the code is not a part of it.

The digest is SHA-256 over canonical JSON (keys sorted, no spaces, UTF-8, no NaN). A result counts by its content, and
is a reference to its step in the log.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from enum import Enum
from typing import Any, NamedTuple, cast

from pydantic import BaseModel

from leadhand.core.state import RunState
from leadhand.core.text import REDACTED
from leadhand.core.value import TOO_DEEP, Json, is_list, is_object, json_problem, one_line

from .results import Result

RESULT = "$step"
"""The key of a reference to the result of a step: ``{"$step": id, "attempt": number}``."""


class Encoded(NamedTuple):
    """The fields of an input: as the log has them, as their digest is made of them, and the steps whose results are in
    them."""

    logged: dict[str, Json]
    digested: dict[str, Json]
    steps: Sequence[str]


def encoded(fields: Mapping[str, object]) -> Encoded:
    """Return the fields of an input. Raises TypeError for what has no stable form as JSON."""
    steps: dict[str, None] = {}
    pairs: dict[str, tuple[Json, Json]] = {}
    for name, value in fields.items():
        try:
            pairs[str(name)] = pair = _encoded(value, name, steps)
            problem = json_problem([pair[0]])  # the input encloses it, too
        except (RecursionError, ValueError) as error:  # pydantic's errors are ValueErrors
            problem = TOO_DEEP if isinstance(error, RecursionError) else one_line(error)
        if problem:
            raise TypeError(f"`{name}` cannot be stored as JSON: {problem}")
    return Encoded(_each(pairs, 0), _each(pairs, 1), tuple(steps))


def _each(pairs: Mapping[str, tuple[Json, Json]], form: int) -> dict[str, Json]:
    return {key: pair[form] for key, pair in pairs.items()}


def _encoded(value: Any, name: str, steps: dict[str, None]) -> tuple[Json, Json]:
    if value is None or (isinstance(value, bool | int | str) and not isinstance(value, Enum)):
        return value, value
    if isinstance(value, Result):
        if value.ok:
            steps[value.key] = None
        return {RESULT: value.key, "attempt": value.attempt}, {RESULT: value.digest}
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
        keys = (str(key.value if isinstance(key, Enum) else key) for key, _ in fields)
        pairs = dict(zip(keys, (_encoded(each, name, steps) for _, each in fields), strict=True))
        return _each(pairs, 0), _each(pairs, 1)
    if isinstance(value, list | tuple):
        both = [_encoded(each, name, steps) for each in cast("list[object]", value)]
        return [each[0] for each in both], [each[1] for each in both]
    if value is None or isinstance(value, bool | int | str):
        return value, value
    if isinstance(value, float) and value - value == 0:
        return value, value
    kind = "NaN or an infinite number" if isinstance(value, float) else f"a {type(value).__name__}"
    raise TypeError(f"`{name}` holds {kind}, which has no stable form: give JSON, a pydantic model or a result")


def is_same(logged: Json, given: Json) -> bool:
    """Whether a value of the log is a given one, as it was written there: secrets are redacted."""
    if is_object(logged) and is_object(given):
        return logged.keys() == given.keys() and all(is_same(logged[key], each) for key, each in given.items())
    if is_list(logged) and is_list(given):
        return len(logged) == len(given) and all(map(is_same, logged, given))
    return logged == given or (isinstance(logged, str) and isinstance(given, str) and REDACTED in logged)


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
