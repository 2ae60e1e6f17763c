"""The schemas that a lead is asked to fill in, written for models: with constrained decoding, an answer fits the run.

They are narrower than those of :class:`Plan` and :class:`Review`, against which answers are validated: one branch for
each tool with its arguments, the keys of the subtasks to judge, and bounded lengths.
"""

from __future__ import annotations

from typing import Any

from leadhand.core.state import RunState
from leadhand.core.value import object_of
from leadhand.flows.context_budget import page_size
from leadhand.flows.lean_schema import lean_schema

from .work import Shard

Schema = dict[str, Any]

_SENTENCE: Schema = {"type": "string", "minLength": 1, "maxLength": 400}
_TASK: Schema = {"type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"]}
"""What a worker without an input schema is given."""


def plan_schema(state: RunState, first: int) -> Schema:
    """Return the schema of a plan: subtasks, or what cannot be done; on the first page, also a direct answer."""
    most = page_size(state)
    defs = _definitions(state, {"type": "integer", "minimum": 0, "maximum": first + most - 1})
    subtasks = {"type": "array", "minItems": 0 if first else 1, "maxItems": most, "items": _ref("subtask")}
    cannot = {"cannot": _ref("cannot")}
    whole = _object(
        {"goal": _SENTENCE, "subtasks": subtasks, **cannot, "more": {"type": "boolean"}}, "goal", "subtasks"
    )
    if first:
        return {**whole, "$defs": defs}
    text: Schema = {"type": "string", "minLength": 1}
    others = [_object(each, *each) for each in (cannot, {"answer": text}, {"question": text})]
    return {"type": "object", "anyOf": [whole, *others], "$defs": defs}


def review_schema(state: RunState, shard: Shard, *, is_last: bool) -> Schema:
    """Return the schema of a review: verdicts on its subtasks; of the whole order, also what is missing."""
    kinds = ["drop"] if is_last else ["drop", "retry"]
    verdicts: list[Schema] = []
    for ok in (True, False):
        keys = [each.key for each in shard.results if each.ok is ok]
        said = {"enum": ["accept", *kinds] if ok else kinds}
        given = {"subtask": {"enum": keys}, "verdict": said, "reason": {"type": "string", "maxLength": 400}}
        verdicts += [_object(given, "subtask", "verdict")] if keys else []
    if not is_last:
        given = {"subtask": _ref("key"), "verdict": {"const": "replan"}, "reason": _SENTENCE}
        verdicts.append(_object({**given, "replacement": _ref("subtask")}, *given, "replacement"))
    review: Schema = {"verdicts": {"type": "array", "maxItems": len(shard.results), "items": {"anyOf": verdicts}}}
    required = ["verdicts"]
    if shard.whole:
        review |= {"complete": {"type": "boolean"}, "cannot": _ref("cannot")}
        review |= {} if is_last else {"missing": {"type": "array", "items": _ref("subtask")}}
        required.append("complete")
    if shard.compose:
        review["answer"] = {"type": "string"}
    defs = {**_definitions(state, _ref("key")), "key": {"enum": [each.key for each in shard.results]}}
    used = ["cannot", "key"] if is_last else defs
    return {**_object(review, *required), "$defs": {name: defs[name] for name in used}}


def _definitions(state: RunState, need: Schema) -> Schema:
    """Return the definitions of a schema: a subtask, with a branch for each tool and each worker, and what cannot be
    done. ``need`` is the schema of the index or the key of a subtask whose result another uses.
    """
    place = _object({"subtask": {"type": "string"}, "path": {"type": "string"}}, "subtask")
    name: Schema = {"type": "string", "minLength": 1, "maxLength": 80}
    about = {"name": name, "needs": _ref("needs"), "expected_output": _ref("expected")}
    run = state.definition
    calls: list[Schema] = [{"tool": {"const": each.name}, "args": _arguments(each.parameters)} for each in run.tools]
    calls += [{"worker": {"const": each.name}, "args": _arguments(each.input or _TASK)} for each in run.declared]
    branches = [_object({**about, **each}, "name", *each) for each in calls]
    branches.append(_object({**about, "tool": {"const": None}}, "name", "tool", "expected_output"))
    return {
        "needs": {"type": "array", "items": need},
        "expected": {"anyOf": [_SENTENCE, {"type": "object"}]},
        "result": _object({"$result": place}, "$result"),
        "subtask": {"anyOf": branches},
        "cannot": {"type": "array", "items": _object({"what": _SENTENCE, "reason": _SENTENCE}, "what", "reason")},
    }


def _arguments(schema: Schema) -> Schema:
    """Return the schema of arguments, any of which can refer to a result. One with definitions of its own, to which
    its references would no longer lead, is left to the check of the arguments."""
    parameters = lean_schema(schema)
    if "$defs" in parameters:
        return {"type": "object"}
    given = object_of(parameters.get("properties"))
    return {**parameters, "properties": {name: {"anyOf": [part, _ref("result")]} for name, part in given.items()}}


def _object(properties: Schema, *required: str) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}
