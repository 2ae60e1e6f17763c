"""Checks of results, arguments and proposed calls: schemas, conditions, references between results."""

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from functools import lru_cache
from itertools import islice
from typing import Any

from leadhand.core.errors import Failure, FailureClass
from leadhand.core.secret import has_secret
from leadhand.core.state import RunState
from leadhand.core.tool import ToolSpec
from leadhand.core.value import Json, compact_json, is_object, json_problem, object_of, shown
from leadhand.core.words.failures import ANOTHER_MODEL
from leadhand.core.work_order import references
from leadhand.core.worker import output_schema
from leadhand.ports import Work

_MOST_PROBLEMS = 8
LARGEST_SCHEMA = 5_000_000
"""Characters of a schema that a model or a person wrote, at most. A check takes about a microsecond for each fifty."""
_DEFINITIONS = ("$defs", "definitions")
_REFERENCE = re.compile(r'"\$ref":"([^"]*)"')
_OWN_PART = r'#(?:/(?:\$defs|definitions)/[^/"%~]+)?"'
_OTHER_REFERENCE = re.compile(
    rf'"(\$(?:id|anchor|dynamicAnchor|dynamicRef|recursiveRef|ref(?!":"{_OWN_PART})))":"([^"]*)"'
)


def supplied_problems(state: RunState, key: str, value: Json) -> list[str]:
    """Return why data that a person supplies does not fit the output of a worker of the program, one sentence each.

    Built-in flows can do with a text in place of it.
    """
    worker = state.worker(state.steps[key].step.worker)
    output = None if worker is None or not worker.fingerprint else output_schema(worker.output)
    return schema_problems(output, value) if output is not None else []


def schema_problems(
    schema: dict[str, Any], instance: Json, *, complete: bool = True, secrets: bool = False
) -> list[str]:
    """Return how a value violates a JSON schema (draft 2020-12), at most eight sentences. ``complete`` False forgives
    missing fields of the value itself, and references where something else belongs; ``secrets`` forgives references to
    secrets, which :func:`secret_problems` checks."""
    errors = _validator(compact_json(schema)).iter_errors(deepcopy(instance))
    counted = (each for each in errors if not (secrets and _is_secret(each)) and (complete or not _is_open(each)))
    found = islice(counted, _MOST_PROBLEMS)
    said = (f"{'.'.join(str(part) for part in error.instance_path)}: {error.message}" for error in found)
    return [each.removeprefix(": ").replace('" is a required property', '" is missing') for each in said]


def _is_secret(error: Any) -> bool:
    """Whether an error is about a value that refers to a secret, or about one of several shapes that it may have."""
    is_choice = error.schema_path[-1] in ("anyOf", "oneOf")
    return (is_choice or isinstance(error.instance, str)) and has_secret(error.instance)


def secret_problems(tool: ToolSpec, args: Mapping[str, Json]) -> list[str]:
    """Return how the arguments of a call violate its schema, with its secrets in them, none of which is shown."""
    errors = islice(_validator(compact_json(tool.parameters)).iter_errors(deepcopy(args)), _MOST_PROBLEMS)
    return [f"the secret does not fit the schema: {'/'.join(map(str, each.schema_path))}" for each in errors]


def _is_open(error: Any) -> bool:
    return bool(references(error.instance)) if error.instance_path else error.schema_path[-1] == "required"


def without_nulls(schema: dict[str, Any], value: Json) -> Json:
    """Return a value without the nulls of objects that a JSON schema does not allow: models write them for what they
    leave out."""
    found, whole = _validator(compact_json(schema)).iter_errors(deepcopy(value)), deepcopy(value)
    for place in [each.instance_path for each in found if each.instance is None and each.instance_path]:
        inside: Any = whole
        for part in place[:-1]:
            inside = inside[part]
        if is_object(inside):
            inside.pop(place[-1], None)
    return whole


def malformed(message: str) -> Failure:
    """Return the failure of a worker whose answer does not have the form that it must have."""
    return Failure.of(message, "malformed_answer", FailureClass.INVALID, ANOTHER_MODEL)


def schema_flaw(schema: Mapping[str, Any]) -> str:
    """Return why a schema that a model wrote cannot be used for a result; "" if it can. Nothing is fetched for it."""
    import jsonschema_rs  # imported late, as below

    if schema.get("type") != "object":
        return 'it has to describe an object: {"type": "object", "properties": …}'
    try:
        if found := _OTHER_REFERENCE.search(compact_json({**schema, "$id": None})):
            return f"{found[1]} {shown(found[2])} cannot be used: refer to parts with $ref and #/$defs/NAME"
        if _size_of(schema) > LARGEST_SCHEMA:
            return f"its references stand for more than {LARGEST_SCHEMA:,} characters"
        jsonschema_rs.validator_for(deepcopy(dict(schema)), retriever=_not_fetched)
    except RecursionError:
        return "it is nested too deeply"
    except ValueError as error:  # jsonschema_rs.ValidationError is one
        message = error.message if isinstance(error, jsonschema_rs.ValidationError) else str(error)
        return " ".join(message.split())
    return ""


def _size_of(schema: Mapping[str, Any]) -> int:
    """Return the characters of a schema, in which each part counts wherever it is referred to: a short schema can stand
    for so many parts that no check of it ends."""
    written = {"#": compact_json({name: part for name, part in schema.items() if name not in _DEFINITIONS})}
    for kind in _DEFINITIONS:
        written |= {f"#/{kind}/{name}": compact_json(part) for name, part in object_of(schema.get(kind)).items()}
    sizes: dict[str, int] = {}

    def size(name: str) -> int:
        if name not in sizes:
            sizes[name] = 0  # what refers to itself is counted once on its way
            text = written.get(name, "")
            sizes[name] = len(text) + sum(map(size, _REFERENCE.findall(text)))
        return sizes[name]

    return size("#")


def input_of(schema: dict[str, Any] | None, text: str) -> tuple[Json, list[str]]:
    """Return what a worker is given, as JSON where it has an input schema, and how it violates that schema."""
    if schema is None:
        return text, []
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None, ["it is not JSON"]
    return value, schema_problems(schema, value)


def _not_fetched(uri: str) -> Any:
    raise ValueError(f"{uri} is not part of the schema")


@lru_cache(maxsize=512)
def _validator(schema: str) -> Any:
    import jsonschema_rs  # imported late: it takes 16 ms of CPU, and knows no subclasses of list

    return jsonschema_rs.validator_for(json.loads(schema))


def argument_problems(tool: ToolSpec, args: Mapping[str, Json], *, complete: bool = True) -> list[str]:
    """What is wrong with a call's arguments. ``complete`` False forgives missing ones and unresolved references."""
    if problem := json_problem(args):
        return [f"they cannot be stored as JSON: {problem}"]
    return schema_problems(tool.parameters, args, complete=complete, secrets=True)


def proposed_problems(work: Work, value: Json) -> list[str]:
    """Return the problems of the arguments of the subtasks that a value proposes, one sentence each, at most eight.

    Arguments that a need supplies may still be missing; they are validated again at the call.
    """
    proposed = work.details.proposes(value)
    tools = {tool.name: tool for tool in work.definition.tools} if proposed else {}
    inputs = {each.name: each.input for each in work.definition.declared}
    found: list[str] = []
    for index, each in enumerate(proposed):
        complete, where = not each.needs and not references(each.args), f"subtask {index} ({each.name})"
        if is_object(each.expected_output) and (flaw := schema_flaw(each.expected_output)):
            found.append(f"{where}, expected_output is not a usable JSON schema: {flaw}")
        if (schema := inputs.get(each.worker or "")) is not None and complete:
            given = schema_problems(schema, each.args)
            found += [f"{where}, arguments for its worker: {problem}" for problem in given]
        if (tool := tools.get(each.tool or "")) is not None:
            problems = argument_problems(tool, each.args, complete=complete)
            found += [f"{where}, arguments of {tool.name}: {problem}" for problem in problems]
    return found[:_MOST_PROBLEMS]
