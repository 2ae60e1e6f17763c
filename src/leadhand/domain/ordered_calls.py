"""Whether a worker made the call that its subtask orders, or a correction of it that the log shows."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from .errors import Failure, FailureClass
from .tool import ToolResult
from .value import Json, is_object
from .work_order import Subtask, result_reference

SIMILAR = 0.6
"""How similar a corrected text is to the one it replaces, from 0 to 1: a spelling, not another thing."""
LONGEST_ARGUMENT = 200
_NESTING = (Mapping, list)


class Support(NamedTuple):
    """What the calls of a worker say about the call that was ordered.

    ``failure`` is why they do not prove it (None: they do), ``doubt`` what a person should know about the call that
    was made instead.
    """

    failure: Failure | None = None
    doubt: str = ""


def support(
    subtask: Subtask, args: Mapping[str, Json], calls: Iterable[ToolResult], approved: Container[str] = ()
) -> Support:
    """Hold ``calls`` against the one that a subtask orders: the same tool with the arguments ``args``.

    A call with other arguments counts if a person approved it (``approved`` holds its id) or vouched for it, or if it
    corrects the ordered call, which the tool refused because of its arguments: a correction is as similar as another
    spelling. Any other replacement is doubted, and refused if the tool raised a plain exception, which says nothing
    about its arguments. References to results are compared where ``args`` holds their values.
    """
    mine = [call for call in calls if call.tool == subtask.tool]
    if subtask.tool is None or any(
        call.ok and (same_arguments(args, call.args) or call.call_id in approved or call.by) for call in mine
    ):
        return Support()
    by_hook = next((call for call in mine if call.ok and call.changed_by), None)
    if by_hook is not None:
        said = f"{written(by_hook)} was called instead of {written_call(subtask.tool, args)}"
        return Support(None, f"{said}: the hook {by_hook.changed_by} changed its arguments")
    refusal = next((c.failure for c in reversed(mine) if c.failure is not None and same_arguments(args, c.args)), None)
    fixed = {name: value for name, value in args.items() if result_reference(subtask.args.get(name)) is None}
    instead = next((call for call in reversed(mine) if call.ok), None)
    if instead is None:
        failures = [call.failure for call in mine if call.failure is not None]
        return Support(refusal or next(reversed(failures), None) or _unproven(f"{subtask.tool} was not called"))
    said = f"{written(instead)} was called instead of {written_call(subtask.tool, args)}"
    if refusal is None:
        return Support(None, said) if same_arguments(fixed, instead.args) else Support(_unproven(said))
    invalid = refusal.class_ is FailureClass.INVALID
    if refusal.type == "bad_arguments" and same_arguments(fixed, instead.args):
        return Support()  # what a result brought did not fit the tool's schema
    if invalid and all(_corrects(value, instead.args.get(name)) for name, value in args.items()):
        return Support()
    if invalid and refusal.type != "exception":
        return Support(None, f"{said}, which failed: {refusal.message}")
    return Support(refusal.evolve(message=f"{refusal.message} ({written(instead)} was called instead: no proof)"))


def same_arguments(ordered: Mapping[str, Json], made: Mapping[str, Json]) -> bool:
    """Whether a call was made with every argument that was ordered; it may have had further ones."""
    return all(name in made and _same(value, made[name]) for name, value in ordered.items())


def unnamed_arguments(args: Mapping[str, Json], call: ToolResult, schema: Mapping[str, Any], known: str) -> str:
    """Return what is doubtful about arguments that the order left to the worker: texts of which no word is known.

    ``known`` is the text of everything that the worker received. Dates, and what the schema lists, are chosen freely.
    """
    given: Mapping[str, Any] = schema.get("properties", {})
    for name, value in call.args.items():
        free = is_object(given.get(name)) and not {"enum", "const", "$ref", "anyOf"} & given[name].keys()
        if name in args or not isinstance(value, str) or not free or value == given[name].get("default"):
            continue
        own = [word for word in _words(value) if not word.isdigit()]
        if own and set(_words(known)).isdisjoint(own):
            return f"{written(call)} was called: {name}={value!r} was neither ordered nor found"
    return ""


def written(call: ToolResult) -> str:
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


def _corrects(ordered: Json, made: Json) -> bool:
    """Whether one argument is another spelling of the ordered one: with the same digits, and much the same letters."""
    if _same(ordered, made):
        return True
    before, after = _folded(ordered), _folded(made)
    digits, now = _digits(before), _digits(after)
    if digits != now and digits and now:
        return False
    return before in after or after in before or SequenceMatcher(None, before, after).ratio() >= SIMILAR


def _digits(text: str) -> Sequence[str]:
    return [number.lstrip("0") for number in re.findall(r"\d+", text)]


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.casefold()) if len(word) > 2]
