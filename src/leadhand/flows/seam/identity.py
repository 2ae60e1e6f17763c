"""The identity of a step: its kind, its name, and the digest of its input; its place in the code is not a part of it.

The digest is SHA-256 over canonical JSON (keys sorted, no spaces, UTF-8, no NaN). A result counts by its content, and
is a reference to its step in the log.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from datetime import date, datetime
from enum import Enum
from typing import Any, cast

from pydantic import BaseModel

from leadhand.core.state import RunState
from leadhand.core.text import REDACTED
from leadhand.core.value import TOO_DEEP, Json, is_list, is_object, json_problem, one_line

from .results import Result

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
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and value - value == 0):
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
