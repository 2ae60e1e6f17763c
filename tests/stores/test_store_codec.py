"""Entries to rows and back."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import is_dataclass
from datetime import datetime
from enum import Enum
from itertools import chain
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import annotated_types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue
from pydantic.fields import FieldInfo
from refusals import refused
from store_memory import memory, transact
from store_samples import ROWS, SAMPLES

from leadhand.core import events
from leadhand.core.errors import RESTORE, StoreError, UnreadableRun
from leadhand.core.errors.advice import Advice
from leadhand.core.events import EVENT_TYPES, AnyEvent
from leadhand.core.run import ModelChoice, RunDefinition
from leadhand.core.value import DEEPEST
from leadhand.core.worker import Worker
from leadhand.stores.codec import LARGEST_EVENT, encode, microseconds, moment, read_entries
from leadhand.stores.sqlite.database import SqliteConnection
from leadhand.stores.transaction import Create

STARTED = events.RunStarted(definition=RunDefinition(request="r", flow="f", models=ModelChoice(default="offline")))
COLUMNS = ("seq", "at", "epoch", "type", "version", "subject", "body")


@pytest.fixture
def connection() -> Iterator[SqliteConnection]:
    with closing(memory()) as connection:
        yield connection


def stored(connection: SqliteConnection, rows: list[dict[str, Any]]) -> None:
    """A run ``old`` whose log is ``rows``, as some release wrote them."""
    transact(connection, Create(run_id="old", started=encode(STARTED)))
    connection.execute("DELETE FROM events")
    connection.execute("UPDATE runs SET head_seq = ?", (len(rows),))
    for row in rows:
        values = ("old", *(row[name] for name in COLUMNS))
        connection.execute(f"INSERT INTO events (run_id, {', '.join(COLUMNS)}) VALUES ({', '.join('?' * 8)})", values)


# --- the golden log ---


def test_the_golden_log_can_be_read_and_holds_every_type_of_event(connection: SqliteConnection) -> None:
    stored(connection, ROWS)
    entries = read_entries(connection, "old")
    assert [(entry.seq, microseconds(entry.at), entry.epoch) for entry in entries] == [
        (row["seq"], row["at"], row["epoch"]) for row in ROWS
    ]
    assert [entry.event for entry in entries] == list(SAMPLES)
    assert {row["type"] for row in ROWS} == set(EVENT_TYPES)


def test_events_are_stored_as_the_golden_log_has_them() -> None:
    """A change of what is stored shows here first."""
    columns = [tuple(row[name] for name in ("type", "version", "subject", "body")) for row in ROWS]
    assert [encode(event).columns for event in SAMPLES] == columns


ROW = {
    "at": 0,
    "epoch": 1,
    "type": "run_status_set",
    "version": 1,
    "subject": "",
    "body": '{"status":"paused"}',
}


def rows_of(log: Sequence[AnyEvent]) -> list[dict[str, Any]]:
    """Return rows for a log of these events."""
    names = ("type", "version", "subject", "body")
    return [
        {**ROW, "seq": seq, **dict(zip(names, encode(event).columns, strict=True))}
        for seq, event in enumerate(log, start=1)
    ]


def unreadable(connection: SqliteConnection, change: dict[str, Any]) -> UnreadableRun:
    """Why a log of three entries cannot be read whose second is changed; the one before it can."""
    stored(connection, [{**ROW, "seq": 1}, {**ROW, "seq": 2, **change}, {**ROW, "seq": 3}])
    with refused(UnreadableRun, run_id="old", seq=2) as raised:
        read_entries(connection, "old")
    assert len(read_entries(connection, "old", limit=1)) == 1
    assert len(read_entries(connection, "old", after=2)) == 1
    assert raised.value.exit_code == 6
    assert "\n" not in raised.value.what
    assert "\n" not in raised.value.how
    return raised.value


@pytest.mark.parametrize(
    ("change", "unknown"),
    [
        ({"type": "run_teleported"}, "run_teleported"),
        ({"version": 2}, "run_status_set"),
        ({"body": '{"status":"paused","reason":"a","mood":"b"}'}, "mood"),
    ],
    ids=["type", "version", "field"],
)
def test_an_event_of_the_future_is_named_and_not_guessed(
    connection: SqliteConnection, change: dict[str, Any], unknown: str
) -> None:
    error = unreadable(connection, change)
    assert unknown in error.what
    assert "pip install -U leadhand" in error.how


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"body": "\x00garbage\n"}, "run_status_set"),
        ({"body": '{"status":"paused","reason":'}, "run_status_set"),
        ({"body": ""}, "run_status_set"),
        ({"body": '{"status":"paused","reason":"a\x1eb"}'}, ""),
        ({"body": '{"status":"paused","reason":"a"}\x1e'}, ""),
        ({"body": '{"status":"paused","reason":"a\x1fb"}'}, "run_status_set"),
        ({"body": b'{"status":"paused","reason":"a\xffb"}'}, "run_status_set"),
        ({"body": "[]"}, "run_status_set"),
        ({"body": '{"status":"paused","reason":[1]}'}, "reason"),
        ({"type": "run_claimed", "body": '{"mood":"b"}'}, "owner"),
        ({"version": "one"}, "ValueError"),
        ({"at": 2**62}, "OverflowError"),
        ({"epoch": b"\xff"}, "ValueError"),
    ],
    ids=lambda change: repr(change)[:40],
)
def test_a_damaged_event_is_named(connection: SqliteConnection, change: dict[str, Any], named: str) -> None:
    error = unreadable(connection, change)
    assert named in error.what
    assert error.how == Advice(RESTORE, run="old")
    assert error.what.isprintable()


@pytest.mark.parametrize(
    ("gone", "first"),
    [((1,), 1), ((2,), 2), ((2, 3, 5), 2), ((4, 5), 4), ((5,), 5), ((1, 2, 3, 4, 5), 1)],
    ids=lambda gone: str(gone),
)
def test_a_log_with_a_gap_is_refused(connection: SqliteConnection, gone: tuple[int, ...], first: int) -> None:
    stored(connection, [{**ROW, "seq": seq} for seq in range(1, 6)])
    for seq in gone:
        connection.execute("DELETE FROM events WHERE seq = ?", (seq,))
    missing = refused(UnreadableRun, run_id="old", seq=first, how=Advice(RESTORE, run="old"))
    with missing:
        read_entries(connection, "old")
    with missing:
        read_entries(connection, "old", after=first - 1, limit=1)
    assert len(read_entries(connection, "old", limit=first - 1)) == first - 1
    assert len(read_entries(connection, "old", after=gone[-1])) == 5 - gone[-1]


@pytest.mark.parametrize("gone", [1_000, 1_001, 2_000, 2_500])
def test_a_gap_is_found_wherever_a_long_log_is_divided(connection: SqliteConnection, gone: int) -> None:
    stored(connection, [{**ROW, "seq": seq} for seq in range(1, 2_501)])
    connection.execute("DELETE FROM events WHERE seq = ?", (gone,))
    with refused(UnreadableRun, run_id="old", seq=gone):
        read_entries(connection, "old")
    with refused(UnreadableRun, run_id="old", seq=gone):
        read_entries(connection, "old", after=2, limit=2_498)


# --- every event, whatever it holds ---

SCALARS: dict[object, st.SearchStrategy[Any]] = {
    str: st.text(max_size=20),
    int: st.integers(-(2**70), 2**70),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    NoneType: st.none(),
    datetime: st.integers(0, 10**16).map(moment),
}
JSON = st.recursive(
    st.one_of(*(SCALARS[type_] for type_ in (str, int, float, bool, NoneType))),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=8), inner, max_size=2),
    max_leaves=5,
)


def values_of(annotation: Any, metadata: tuple[Any, ...] = ()) -> st.SearchStrategy[Any]:
    """Any value of a field of our own values: built from its type, within its bounds."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in (Any, JsonValue):
        return JSON
    if origin is Annotated:
        more = (each.metadata if isinstance(each, FieldInfo) else [each] for each in arguments[1:])
        return values_of(arguments[0], (*metadata, *chain.from_iterable(more)))
    if origin in (Union, UnionType):
        return st.one_of(*(values_of(each, metadata) for each in arguments))
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        least = 1 if any(isinstance(each, annotated_types.MinLen) for each in metadata) else 0
        return st.lists(values_of(arguments[0]), min_size=least, max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(values_of(arguments[0]), values_of(arguments[1]), max_size=2)
    pattern = next((found for each in metadata if (found := getattr(each, "pattern", None))), None)
    if annotation is str and pattern is not None:
        return st.from_regex(pattern.removesuffix("$") + r"\Z", alphabet=st.characters(codec="ascii"))
    if annotation in (str, int, float):
        return bounded(SCALARS[annotation], metadata)
    if annotation in SCALARS:
        return SCALARS[annotation]
    if issubclass(annotation, Enum):
        return st.sampled_from(list(annotation))
    return instances_of(annotation)


def bounded(values: st.SearchStrategy[Any], metadata: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    for bound in metadata:
        match bound:
            case annotated_types.MinLen(least):
                values = values.map(lambda text, least=least: text.ljust(least, "x"))
            case annotated_types.MaxLen():
                pass  # texts are short
            case annotated_types.Ge(least) | annotated_types.Gt(least):
                values = values.map(lambda number, least=least: type(number)(abs(number) % 50 + least + 1))
            case annotated_types.Le(most):
                values = values.map(lambda number, most=most: min(number, most))
            case _:
                pass
    return values


def instances_of(model: Any) -> st.SearchStrategy[Any]:
    def field(info: FieldInfo) -> st.SearchStrategy[Any]:
        return values_of(info.annotation, tuple(info.metadata))

    if is_dataclass(model):
        return st.builds(model, **{name: values_of(hint, ()) for name, hint in get_type_hints(model).items()})
    fields = {info.alias or name: field(info) for name, info in model.model_fields.items()}
    if model is Worker:
        fields["output"] = JSON.filter(lambda output: output is None or isinstance(output, dict))
    return st.builds(lambda **values: model.model_validate(values), **fields)


@pytest.mark.slow
@pytest.mark.parametrize("type_", EVENT_TYPES)
def test_an_event_is_read_as_it_was_written(type_: str) -> None:
    with closing(memory()) as connection:

        @given(instances_of(EVENT_TYPES[type_]))
        def read_as_written(event: AnyEvent) -> None:
            stored(connection, rows_of([event]))
            assert [entry.event for entry in read_entries(connection, "old")] == [event]

        read_as_written()


@given(st.integers(0, 32_503_680_000_000_000))
def test_a_moment_is_kept_to_the_microsecond(number: int) -> None:
    assert microseconds(moment(number)) == number


def test_what_json_cannot_say_is_refused() -> None:
    event = events.ToolCallReturned(attempt="a", call_id="c", tool="t", ok=True, raw=object())
    with refused(StoreError, "tool_call_returned"):
        encode(event)


def test_a_number_that_is_none_becomes_null() -> None:
    event = events.ToolCallReturned(attempt="a", call_id="c", tool="t", ok=True, raw=[math.nan, math.inf])
    assert json.loads(encode(event).columns[3])["raw"] == [None, None]


# --- what is written can be read back ---


def nested(levels: int, inner: Any = 0) -> Any:
    """A value of this many levels, lists and objects in turn."""
    for level in range(levels):
        inner = [inner] if level % 2 else {"a": inner}
    return inner


def supplied(raw: Any) -> events.StepRequested:
    return events.StepRequested(what="supply", steps=("wo-001.0",), summary="x", raw=raw)


@given(levels=st.integers(0, 300), letters=st.sampled_from([0, 5_000]), digits=st.integers(1, 4_310))
def test_whatever_is_accepted_can_be_read_back(levels: int, letters: int, digits: int) -> None:
    event = supplied(nested(levels, {"number": 10 ** (digits - 1), "text": "x" * letters}))
    try:
        _, (*_, body) = encode(event)
    except StoreError:
        assert levels > DEEPEST or digits > 4_300, "what every door lets in was refused"
    else:
        assert events.StepRequested.model_validate_json(body) == event


@pytest.mark.parametrize(
    ("raw", "named"),
    [
        (nested(240), "step_requested"),
        (10**5_000, "step_requested"),
        (["x" * (LARGEST_EVENT // 2)] * 2, f"{LARGEST_EVENT:,}"),
    ],
    ids=["nested", "digits", "large"],
)
def test_an_event_that_could_not_be_read_back_is_refused(raw: Any, named: str) -> None:
    with refused(StoreError, named):
        encode(supplied(raw))
