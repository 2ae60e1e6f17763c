"""Runs that one worker carries out: alone, or for many inputs. The doors pass what they are given through here."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from pydantic import BaseModel

from leadhand.app.arguments import json_value
from leadhand.app.flows import DEFAULT, MAP, SOLO
from leadhand.core.errors import UsageError
from leadhand.core.value import Json, one_line, shown
from leadhand.flows.seam.function import Worker

HOW = "Pass a Worker, or the name of one of the project."
INPUTS = "Pass a list of texts or of JSON objects."
MOST_INPUTS = 100_000


class Led(NamedTuple):
    """A run as its door starts it; ``worker`` is one of the program."""

    request: str
    flow: str
    options: dict[str, Any]
    worker: Worker | None = None


def led(
    request: str,
    flow: str,
    options: Mapping[str, Any],
    *,
    worker: object = None,
    inputs: object = None,
) -> Led:
    """Return what a run is started with. With a ``worker``, it carries the run out; with ``inputs``, each of them.

    Raises UsageError for what cannot be used, and for what excludes each other.
    """
    if worker is None and inputs is None:
        return Led(request, flow, dict(options))
    if worker is None:
        raise UsageError("there are inputs, and no worker that they are for", "Name a worker.")
    if flow not in (DEFAULT, MAP if inputs is not None else SOLO):
        raise UsageError("a worker and a flow exclude each other", "Give one of them.")
    if not isinstance(worker, Worker | str) or not (name := worker if isinstance(worker, str) else worker.name).strip():
        raise UsageError(f"{shown(worker)} is not a worker", HOW)
    found = worker if isinstance(worker, Worker) else None
    if inputs is None:
        return Led(request, SOLO, {**options, "worker": name}, found)
    if request:
        raise UsageError("a request and inputs exclude each other", "Put what is the same for all into the worker.")
    every = plain_inputs(inputs)
    return Led(f"{name}: {len(every):,} inputs", MAP, {**options, "worker": name, "inputs": every}, found)


def plain_inputs(inputs: object) -> list[Json]:
    """Return inputs as JSON. Raises UsageError for what is not a list of JSON, and for none or too many."""
    if isinstance(inputs, str | bytes | Mapping) or not isinstance(inputs, Iterable):
        raise UsageError(f"the inputs are not a list: {shown(cast('object', inputs))}", INPUTS)
    found = [json_value(_plain(each), "an input", INPUTS) for each in cast("Iterable[object]", inputs)]
    if not 1 <= len(found) <= MOST_INPUTS:
        raise UsageError(f"there are {len(found):,} inputs", f"Pass 1 to {MOST_INPUTS:,}.")
    return found


async def listed(items: Iterable[Any] | AsyncIterable[Any]) -> object:
    """Return the items of an iterable, also of an asynchronous one."""
    if isinstance(items, AsyncIterable):
        return [each async for each in cast("AsyncIterator[Any]", items)]
    return items


def lines_of_json(path: str) -> list[Json]:
    """Return the values in a file with one of JSON on each line; ``-`` is stdin.

    Raises UsageError, with the line, for a file that cannot be read.
    """
    found: list[Json] = []
    try:
        text = sys.stdin.read() if path == "-" else Path(path).expanduser().read_text("utf-8")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"cannot read the inputs {path}: {why}", "Name a file with one JSON value a line.") from error
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            found += [json.loads(line)] if line.strip() else []
        except (ValueError, RecursionError) as error:
            how = "Write one value on each line, text in quotes."
            raise UsageError(f"{path}:{number}: the line is not JSON: {one_line(error)}", how) from error
    return found


def _plain(given: object) -> object:
    if isinstance(given, BaseModel):
        return given.model_dump(mode="json")
    if dataclasses.is_dataclass(given) and not isinstance(given, type):
        return dataclasses.asdict(given)
    return given
