"""What msgspec could save: a run's events, made, written and read with pydantic as they are, and with msgspec.

Each model becomes a struct with the same fields; validators are left out, so msgspec does less here than it would have
to. msgspec is no dependency: ``uv run --with msgspec benchmarks/codecs.py``.
"""

from __future__ import annotations

import asyncio
import functools
import statistics
import tempfile
import time
import types
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, Union, get_args, get_origin

import msgspec
from pydantic import BaseModel
from world import carry_out

from leadhand.core.events import Entry
from leadhand.stores.opening import open_store

COUNT = 300
ROUNDS = 15
PLAIN = (str, int, float, bool, datetime, Enum)


def shape(of: Any) -> Any:
    """The type that msgspec reads in place of a type of pydantic: a struct for a model, and what is plain as it is."""
    parts = [part for part in get_args(of) if part is not types.NoneType]
    if get_origin(of) in (tuple, list):
        return list[shape(parts[0])]
    if get_origin(of) in (Union, types.UnionType) and len(parts) == 1:
        return shape(parts[0]) | None
    if not isinstance(of, type):
        return Any
    return struct(of) if issubclass(of, BaseModel) else of if issubclass(of, PLAIN) else Any


@functools.cache
def struct(model: type[BaseModel]) -> type[msgspec.Struct]:
    """A struct with the fields of a model."""
    fields = [
        (name, shape(field.annotation)) if field.is_required() else (name, shape(field.annotation) | None, None)
        for name, field in model.model_fields.items()
    ]
    return msgspec.defstruct(model.__name__, fields, frozen=True, kw_only=True, omit_defaults=True)


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of some work, once."""
    began = time.process_time()
    work()
    return time.process_time() - began


async def log_of(count: int) -> tuple[list[Entry], float]:
    """The log of a run, and the CPU seconds that the run took."""
    with tempfile.TemporaryDirectory() as folder:
        store = await open_store(f"{folder}/leadhand.db")
        began = time.process_time()
        await carry_out(store, count, 0.0)
        took = time.process_time() - began
        (line,) = await store.runs()
        entries = await store.read(line.run_id)
        await store.aclose()
        return entries, took


def compared(entries: Sequence[Entry]) -> dict[str, float]:
    """Median CPU seconds to write and read all events, with each library."""
    events = [entry.event for entry in entries]
    bodies = [event.model_dump_json(exclude={"type"}, by_alias=True).encode() for event in events]
    decoders = {type(event): msgspec.json.Decoder(struct(type(event)), strict=False) for event in events}
    structs = [decoders[type(event)].decode(body) for event, body in zip(events, bodies, strict=True)]
    encode = msgspec.json.Encoder().encode
    made = [{name: getattr(event, name) for name in type(event).model_fields} for event in events]
    works: dict[str, Callable[[], object]] = {
        "pydantic, make": lambda: [type(event)(**fields) for event, fields in zip(events, made, strict=True)],
        "msgspec, make": lambda: [type(each)(**fields) for each, fields in zip(structs, made, strict=True)],
        "pydantic, write": lambda: [event.model_dump_json(exclude={"type"}, by_alias=True) for event in events],
        "msgspec, write": lambda: [encode(each) for each in structs],
        "pydantic, read": lambda: [
            type(event).model_validate_json(body) for event, body in zip(events, bodies, strict=True)
        ],
        "msgspec, read": lambda: [
            decoders[type(event)].decode(body) for event, body in zip(events, bodies, strict=True)
        ],
    }
    rounds = [{name: cpu(work) for name, work in works.items()} for _ in range(ROUNDS)]
    return {name: statistics.median(each[name] for each in rounds) for name in works}


def main() -> None:
    entries, whole = asyncio.run(log_of(COUNT))
    print(f"a run of {COUNT:,} subtasks: {len(entries):,} events, {whole:.2f} s of CPU\n")
    print("| | µs an event | of the run's CPU |\n|---|---|---|")
    for name, seconds in compared(entries).items():
        print(f"| {name} | {seconds / len(entries) * 1e6:.1f} | {seconds / whole:.1%} |")


if __name__ == "__main__":
    main()
