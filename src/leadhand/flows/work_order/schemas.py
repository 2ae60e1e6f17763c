"""The JSON schemas that a lead fills in, for models that keep to one: narrower than Plan and Review, which validate."""

from typing import Any

from leadhand.core.state import RunState
from leadhand.core.work_result import VerdictKind
from leadhand.flows.context_budget import page_size

from .briefs import Shard

Schema = dict[str, Any]
TEXT, FLAG, OBJECT, NOTHING = ({"type": kind} for kind in ("string", "boolean", "object", "null"))
ANY = {"anyOf": [TEXT, OBJECT]}


def plan_schema(state: RunState, first: int) -> Schema:
    """Return the schema of a page of a plan from this index on. The first can be an answer, so it requires nothing."""
    most = page_size(state)
    subtask = _subtask(state, {"type": "integer", "minimum": 0, "maximum": first + most - 1})
    parts = {"goal": TEXT, "subtasks": {**_list(subtask), "maxItems": most}, "cannot": _CANNOT, "more": FLAG}
    return _object(parts, "subtasks") if first else _object({**parts, "answer": TEXT, "question": TEXT})


def review_schema(state: RunState, shard: Shard) -> Schema:
    """Return the schema of the review of a shard."""
    subtask, keys = {"$ref": "#/$defs/subtask"}, [each.key for each in shard.results]
    given = {"subtask": {**TEXT, "enum": keys}, "verdict": {**TEXT, "enum": [each.value for each in VerdictKind]}}
    given |= {"reason": TEXT, "replacement": subtask}
    whole = {"complete": FLAG, "missing": _list(subtask), "cannot": _CANNOT} if shard.whole else {}
    verdicts = {**_list(_object(given, "subtask", "verdict")), "maxItems": len(keys)}
    parts = {"verdicts": verdicts, **whole, **({"answer": TEXT} if shard.compose else {})}
    return {**_object(parts), "$defs": {"subtask": _subtask(state, TEXT)}}


def _subtask(state: RunState, need: Schema) -> Schema:  # its arguments are validated later
    named = {"tool": state.definition.tools, "worker": state.definition.declared}
    names = {key: [one.name for one in each] for key, each in named.items()}
    parts = {key: {"anyOf": [{**TEXT, "enum": each}, NOTHING]} if each else NOTHING for key, each in names.items()}
    return _object({"name": TEXT, **parts, "args": OBJECT, "needs": _list(need), "expected_output": ANY}, "name")


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _object(properties: Schema, *required: str) -> Schema:
    return {**OBJECT, "properties": properties, "required": [*required]}


_CANNOT = _list(_object({"what": TEXT, "reason": TEXT}, "what", "reason"))
