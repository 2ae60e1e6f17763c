"""References to results in the arguments of subtasks: ``{"$result": {"subtask": key, "path": "/raw/lat"}}``.

A reference stands anywhere in an argument, also inside of lists and objects. With a path, its value is taken from the
result; without one, or if the path leads nowhere, a worker works the argument out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from .value import Json, Value, is_list, is_object

_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")


class Unresolved(ValueError):
    """A reference into a document leads nowhere."""


def references(value: Json) -> list[str]:
    """Return the subtasks to whose results a value refers."""
    return [subtask for subtask, _ in references_in(value)]


def renamed(value: Json, key: Callable[[str], str]) -> Any:
    """Return a value with other names of the subtasks to which it refers."""

    def named(subtask: str, path: str | None) -> Json:
        return {"$result": {"subtask": key(subtask), **({} if path is None else {"path": path})}}

    return _replaced(value, named) if references(value) else value


def resolved(args: Mapping[str, Json], needs: Mapping[str, Value]) -> dict[str, Json]:
    """Return arguments with the values of references, without those that a worker has to work out.

    ``needs`` are the results (:class:`~leadhand.core.work_result.ResultData`) by subtask.
    """
    documents: dict[str, Json] = {}

    def read(subtask: str, path: str | None) -> Json:
        if path is None or subtask not in needs:
            raise Unresolved(f"the result of {subtask} has to be read")
        if subtask not in documents:
            documents[subtask] = needs[subtask].model_dump(mode="json")
        return pointed(documents[subtask], path)

    values: dict[str, Json] = {}
    for name, value in args.items():
        try:
            values[name] = _replaced(value, read) if references(value) else value
        except Unresolved:
            continue
    return values


def pointed(document: Json, pointer: str) -> Json:
    """Return the value that a JSON pointer (RFC 6901) points at. Raises :class:`Unresolved` if it points nowhere."""
    if pointer and not pointer.startswith("/"):
        raise Unresolved(f"{pointer!r} is not a JSON pointer: it must begin with a slash")
    here: Any = document
    for part in pointer.split("/")[1:] if pointer else []:
        step = part.replace("~1", "/").replace("~0", "~")
        if isinstance(here, dict) and step in here:
            here = cast("dict[str, Any]", here)[step]
        elif isinstance(here, list) and _INDEX.fullmatch(step) and int(step) < len(cast("list[Any]", here)):
            here = cast("list[Any]", here)[int(step)]
        else:
            raise Unresolved(f"nothing found at {pointer}")
    return here


def _reference(value: object) -> tuple[str, str | None] | None:
    """Return the subtask and the JSON pointer of a reference; None for anything else."""
    match value:
        case {"$result": {"subtask": str() | int() as subtask, "path": str() as path}}:
            return str(subtask), path
        case {"$result": {"subtask": str() | int() as subtask}}:
            return str(subtask), None
        case _:
            return None


def references_in(value: Json) -> Iterator[tuple[str, str | None]]:
    """Yield the references in a value: the subtask, and the JSON pointer into its result."""
    parts = value.values() if is_object(value) else value if is_list(value) else ()
    if is_object(value) and (reference := _reference(value)) is not None:
        yield reference
        return
    for each in parts:
        if isinstance(each, dict | list):
            yield from references_in(each)


def _replaced(value: Json, read: Callable[[str, str | None], Json]) -> Json:
    if (reference := _reference(value)) is not None:
        return read(*reference)
    if is_object(value):
        return {name: _replaced(each, read) for name, each in value.items()}
    return [_replaced(each, read) for each in value] if is_list(value) else value
