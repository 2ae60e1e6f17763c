"""Typed answers: the shape that a run gives its answer, from a pydantic model or a JSON schema."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard

from pydantic import BaseModel, ValidationError

from leadhand.app.arguments import json_value
from leadhand.core.errors import UsageError
from leadhand.core.value import Json, compact_json, is_object, object_of, one_line
from leadhand.core.worker import Worker, output_schema
from leadhand.engine.gate import schema_flaw, schema_problems
from leadhand.flows.flow import Fits
from leadhand.flows.shaping import SHAPE, shape_role

Output = type[Any] | Mapping[str, Any] | None
"""The type of an answer: a pydantic model, or the JSON schema of an object; None for text."""
HOW = "Pass a pydantic model, or the JSON schema of an object."


def answer_worker(output: Output, workers: Iterable[Worker]) -> Worker | None:
    """Return the worker that gives a typed answer, None without an output. ``workers`` are the others of the run.

    Raises UsageError for an output that cannot be used, and if another worker has the same name.
    """
    if output is None:
        return None
    try:
        schema = json_value(output_schema(dict(output) if isinstance(output, Mapping) else output), "the output", HOW)
    except UsageError:
        raise
    except Exception as error:  # the model is user code
        raise UsageError(f"the output has no JSON schema: {one_line(error)}", HOW) from error
    if schema.keys() == {"$ref", "$defs"}:  # of a model that refers to itself
        schema = {**object_of(schema["$defs"].get(schema["$ref"].removeprefix("#/$defs/"))), "$defs": schema["$defs"]}
    if flaw := schema_flaw(schema):
        raise UsageError(f"the output is not a usable JSON schema: {flaw}", HOW, field="output_schema")
    if any(worker.name == SHAPE for worker in workers):
        raise UsageError(f"a worker of this run is named {SHAPE}, so it cannot have an output", "Rename that worker.")
    return shape_role(schema)


def fits_of(output: Output, worker: Worker | None) -> Fits | None:
    """Return what checks a value against the output of a run, as far as this process knows it."""
    if _is_model(output):
        return partial(_misfits, output)
    return None if worker is None or worker.output is None else partial(schema_problems, worker.output)


def typed_value(output: Output, value: Json) -> Any:
    """Return a value as an instance of the pydantic model that was asked for; as it is without one."""
    return value if value is None or not _is_model(output) else output.model_validate_json(compact_json(value))


def _is_model(output: Output) -> TypeGuard[type[BaseModel]]:
    return inspect.isclass(output) and issubclass(output, BaseModel)


def _misfits(output: type[BaseModel], value: Json) -> list[str]:
    try:
        typed_value(output, value)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        return [f"{'.'.join(map(str, each['loc'])) or 'the value'}: {each['msg']}" for each in faults[:8]]
    except Exception as error:  # its validators are user code
        return [one_line(error) or type(error).__name__]
    return []


def schema_file(path: str) -> dict[str, Any]:
    """Return the JSON schema in a file. Raises UsageError for a file that cannot be read or holds no object."""
    how = 'Name a file with a JSON schema: {"type": "object", "properties": …}'
    try:
        schema = json.loads(Path(path).expanduser().read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else one_line(error)
        raise UsageError(f"cannot read the output schema {path}: {why}", how) from error
    if not is_object(schema):
        raise UsageError(f"the output schema {path} is not a JSON object", how)
    return schema
