"""Whether a worker made the call that its subtask orders, or one that the log shows it was changed to."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping

from .errors import Failure, FailureClass
from .tool import CallState
from .value import Json
from .work_order import Subtask, result_reference

LONGEST_ARGUMENT = 200
_NESTING = (Mapping, list)


def unproven_call(
    subtask: Subtask, args: Mapping[str, Json], calls: Iterable[CallState], approved: Container[str] = ()
) -> Failure | None:
    """Compare ``calls`` with the one that a subtask orders: its tool with the arguments ``args``.

    None if it was made and succeeded, or was changed in a way that the log shows: by a person (``approved`` holds the
    id of the call), by a hook, or by the worker after the tool refused the ordered arguments. Otherwise the failure of
    the ordered call, or that it was not made. References to results are compared where ``args`` holds their values.
    """
    mine = [call for call in calls if call.tool == subtask.tool]
    if subtask.tool is None or any(
        call.ok and (same_arguments(args, call.args) or call.call_id in approved or call.by or call.changed_by)
        for call in mine
    ):
        return None
    refusal = next((c.failure for c in reversed(mine) if c.failure is not None and same_arguments(args, c.args)), None)
    instead = next((call for call in reversed(mine) if call.ok), None)
    if instead is None:
        failures = [call.failure for call in mine if call.failure is not None]
        return refusal or next(reversed(failures), None) or _unproven(f"{subtask.tool} was not called")
    said = f"{written(instead)} was called instead of {written_call(subtask.tool, args)}"
    if refusal is None:
        fixed = {name: value for name, value in args.items() if result_reference(subtask.args.get(name)) is None}
        return None if same_arguments(fixed, instead.args) else _unproven(said)
    if refusal.class_ is FailureClass.INVALID:
        return None
    return refusal.evolve(message=f"{refusal.message} ({written(instead)} was called instead: no proof)")


def same_arguments(ordered: Mapping[str, Json], made: Mapping[str, Json]) -> bool:
    """Whether a call was made with every argument that was ordered; it may have had further ones."""
    return all(name in made and _same(value, made[name]) for name, value in ordered.items())


def written(call: CallState) -> str:
    """A call as people read it: ``pay(amount=30)``."""
    return written_call(call.tool, call.args)


def written_call(tool: str, args: Mapping[str, Json]) -> str:
    """A tool and its arguments as people read them."""
    return f"{tool}({', '.join(f'{name}={_cut(value)}' for name, value in args.items())})"


def _cut(value: Json) -> str:
    text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST_ARGUMENT else f"{text[:LONGEST_ARGUMENT]}…"


def _unproven(message: str) -> Failure:
    return Failure.of(message, "unproven", FailureClass.INVALID)


def _same(one: Json, other: Json) -> bool:
    if one == other:
        return True
    nested = isinstance(one, _NESTING) or isinstance(other, _NESTING)
    return not nested and _folded(one) == _folded(other)


def _folded(value: Json) -> str:
    return " ".join(str(value).casefold().split())
