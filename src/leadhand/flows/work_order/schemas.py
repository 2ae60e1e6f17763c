"""The schemas that a lead is asked to fill in, written for models: with constrained decoding, an answer fits the run.

They are narrower than those of :class:`Plan` and :class:`Review`, against which answers are validated: one branch for
each tool with its arguments, the keys of the subtasks to judge, and bounded lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leadhand.core.state import RunState
from leadhand.core.tool import ToolSpec
from leadhand.core.value import is_list, is_object, object_of, text_of
from leadhand.core.worker import Worker
from leadhand.flows.context_budget import page_size
from leadhand.flows.lean_schema import lean_schema

from .work import Shard

Schema = dict[str, Any]

_NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 80}
_SENTENCE: Schema = {"type": "string", "minLength": 1, "maxLength": 400}

_TASK: Schema = {"type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"]}
"""What a worker without an input schema is given."""
_EXPECTED: Schema = {"anyOf": [_SENTENCE, {"type": "object"}]}


def plan_schema(state: RunState, first: int) -> Schema:
    """Return the schema of a plan: subtasks, or what cannot be done; on the first page, also a direct answer."""
    most = page_size(state)
    index: Schema = {"type": "integer", "minimum": 0, "maximum": first + most - 1}
    defs, subtask = _subtask(state.definition.tools, index, state.definition.declared)
    defs["cannot"] = _unsupported()
    cannot: Schema = {"cannot": {"$ref": "#/$defs/cannot"}}
    subtasks = {"type": "array", "minItems": 0 if first else 1, "maxItems": most, "items": subtask}
    plan = {"goal": _SENTENCE, "subtasks": subtasks, **cannot, "more": {"type": "boolean"}}
    whole = _object(plan, "goal", "subtasks")
    if first:
        return {**whole, "$defs": defs}
    text: Schema = {"type": "string", "minLength": 1}
    others = [_object(cannot, "cannot"), *(_object({name: text}, name) for name in ("answer", "question"))]
    return {"type": "object", "anyOf": [whole, *others], "$defs": defs}


def review_schema(state: RunState, shard: Shard, *, is_last: bool) -> Schema:
    """Return the schema of a review: verdicts on its subtasks; of the whole order, also what is missing."""
    covers = [each.key for each in shard.results]
    key: Schema = {"$ref": "#/$defs/key"}
    defs, subtask = ({}, {}) if is_last else _subtask(state.definition.tools, key, state.definition.declared)
    open_, done = [[each.key for each in shard.results if each.ok is ok] for ok in (False, True)]
    kinds = ["drop"] if is_last else ["drop", "retry"]
    branches = [
        _verdict(key if keys == covers else {"enum": keys}, verdicts)
        for keys, verdicts in ((done, ["accept", *kinds]), (open_, kinds))
        if keys
    ]
    if covers and not is_last:
        replan = {"subtask": key, "verdict": {"const": "replan"}, "reason": _SENTENCE}
        branches.append(_object({**replan, "replacement": subtask}, *replan, "replacement"))
    verdicts = {"type": "array", "maxItems": len(covers), "items": {"anyOf": branches} if branches else {}}
    review: Schema = {"verdicts": verdicts}
    if shard.whole:
        missing = {} if is_last else {"missing": {"type": "array", "items": subtask}}
        review |= {"complete": {"type": "boolean"}, **missing, "cannot": _unsupported()}
    if shard.compose:
        review["answer"] = {"type": "string"}
    known: Schema = {"enum": covers} if covers else {"type": "string"}
    return {**_object(review, "verdicts", *(["complete"] if shard.whole else [])), "$defs": {**defs, "key": known}}


def _verdict(key: Schema, verdicts: list[str]) -> Schema:
    given = {"subtask": key, "verdict": {"enum": verdicts}, "reason": {"type": "string", "maxLength": 400}}
    return _object(given, "subtask", "verdict")


def _object(properties: Schema, *required: str) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


def _unsupported() -> Schema:
    return {"type": "array", "items": _object({"what": _SENTENCE, "reason": _SENTENCE}, "what", "reason")}


def _subtask(tools: Sequence[ToolSpec], need: Schema, workers: Sequence[Worker]) -> tuple[Schema, Schema]:
    """Return the definitions that a schema of subtasks uses, and the schema of one: a branch for each tool and worker.

    ``need`` is the schema of the index or the key of a subtask whose result another uses.
    """
    place = _object({"subtask": {"type": "string"}, "path": {"type": "string"}}, "subtask")
    result = _object({"$result": place}, "$result")
    defs: Schema = {"name": _NAME, "needs": {"type": "array", "items": need}, "expected": _EXPECTED, "result": result}
    name, needs, expected = ({"$ref": f"#/$defs/{each}"} for each in ("name", "needs", "expected"))
    branches: list[Schema] = []
    for tool in tools:
        args = _arguments(tool.name, tool.parameters, defs)
        given = {"name": name, "tool": {"const": tool.name}, "args": args, "needs": needs, "expected_output": expected}
        branches.append(_object(given, "name", "tool", "args"))
    for worker in workers:
        args = _arguments(worker.name, worker.input or _TASK, defs)
        given = {"name": name, "worker": {"const": worker.name}, "args": args, "needs": needs}
        branches.append(_object({**given, "expected_output": expected}, "name", "worker", "args"))
    own = {"name": name, "tool": {"const": None}, "expected_output": expected, "needs": needs}
    branches.append(_object(own, "name", "tool", "expected_output"))
    defs["subtask"] = {"anyOf": branches}
    return defs, {"$ref": "#/$defs/subtask"}


def _arguments(of: str, schema: Schema, defs: Schema) -> Schema:
    """Return the schema of arguments, any of which can refer to a result; its definitions go to ``defs``."""
    parameters = _renamed(lean_schema(schema), f"{of}.")
    defs |= {f"{of}.{name}": part for name, part in object_of(parameters.pop("$defs", None)).items()}
    given = object_of(parameters.get("properties"))
    properties = {name: {"anyOf": [part, {"$ref": "#/$defs/result"}]} for name, part in given.items()}
    return {**parameters, "properties": properties}


def _renamed(schema: Any, prefix: str) -> Any:
    """Return a schema whose references lead to definitions with a ``prefix``."""
    if is_list(schema):
        return [_renamed(part, prefix) for part in schema]
    if not is_object(schema):
        return schema
    found: Schema = {}
    for key, value in schema.items():
        local = key == "$ref" and text_of(value).startswith("#/$defs/")
        found[key] = f"#/$defs/{prefix}{value.removeprefix('#/$defs/')}" if local else _renamed(value, prefix)
    return found
