"""Convert entries of the log to rows and back: the JSON of an event without its ``type``, and the columns beside it.

Pydantic writes and reads the body.
"""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, cast

from pydantic_core import PydanticSerializationError, ValidationError, from_json

from leadhand.core.errors import RESTORE, StoreError, UnreadableRun, no_such_run
from leadhand.core.events import EVENT_TYPES, AnyEvent, Entry
from leadhand.core.value import DEEPEST, LARGEST

from .connection import Connection, Corrupt, Dialect
from .large_values import pack, unpack, values_of

PAGE = 1_000
"""Entries read by one statement, at most."""
PAGE_SIZE = 50_000_000
"""Characters of events read by one statement, unless one event alone has more: databases limit what they join."""
LARGEST_EVENT = 5 * LARGEST
"""Characters of an event, at most. It may hold several values, each within its own limit."""
SURE = 4_000
"""Characters of an event that can be read back without a trial, unless it is nested: longer ones may hold a number
with too many digits."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FARTHEST = 2**62
UNPACKED_AT_ONCE = 32
"""Entries whose large values are read by one statement."""
NO_VALUES: Mapping[str, bytes] = {}


class Encoded(NamedTuple):
    """An event, the columns that follow from it (type, version, subject, body), and its large values by digest."""

    event: AnyEvent
    columns: tuple[str, int, str, str]
    values: Mapping[str, bytes]


def encode(event: AnyEvent) -> Encoded:
    """Return an event ready to be written.

    Half a character, such as models produce when they are cut off inside an emoji, is replaced (U+FFFD), in the event
    too, so that memory and log agree. Raises StoreError for any other value that JSON cannot express, and for an event
    that is too large, or nested too deeply, to be read back.
    """
    try:
        body = event.body
    except PydanticSerializationError as error:
        if "surrogates" not in str(error):
            raise StoreError(
                f"a {event.type} event of {event.subject or 'the run'} has a value that JSON cannot express: {error}",
                "return plain JSON from the tool: null, bool, number, string, list, object with string keys",
            ) from error
        event = type(event).model_validate(_well_formed(event.model_dump(by_alias=True)))
        body = event.body
    cast("dict[str, Any]", event.__dict__).pop("body", None)  # the row has it
    if problem := _unreadable(body):
        raise StoreError(
            f"a {event.type} event of {event.subject or 'the run'} cannot be stored: {problem}",
            "store large material as a file, and pass its name",
        )
    packed, values = pack(body)
    return Encoded(event, (event.type, event.version, event.subject, packed), values)


def _unreadable(body: str) -> str:
    """Return why an event that was written as ``body`` could not be read back, empty if it can."""
    if len(body) > LARGEST_EVENT:
        return f"{len(body):,} characters; the limit is {LARGEST_EVENT:,}"
    if len(body) > SURE or body.count("[") + body.count("{") > DEEPEST:
        try:
            from_json(body)
        except ValueError as error:
            return str(error)
    return ""


def microseconds(moment: datetime) -> int:
    """Return a time in the format of the store."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def moment(microseconds: int) -> datetime:
    """Return a stored time, in UTC."""
    return EPOCH + timedelta(microseconds=microseconds)


def stored(at: datetime | None) -> int | None:
    """Return a time in the format of the store, NULL for None."""
    return None if at is None else microseconds(at)


def read_moment(kept: int | None) -> datetime | None:
    """Return a stored time, in UTC, None for NULL."""
    return None if kept is None else moment(kept)


def stored_tags(tags: Mapping[str, str]) -> str:
    """Return tags in the format of the store: a line for each, between line breaks, which JSON escapes."""
    return "".join(f"\n{json.dumps(tag)}" for tag in tags.items()) + "\n" * bool(tags)


def read_tags(kept: str) -> dict[str, str]:
    """Return stored tags."""
    return dict(json.loads(line) for line in kept.split("\n") if line)


def read_entries(
    connection: Connection, dialect: Dialect, run_id: str, after: int = 0, limit: int | None = None
) -> list[Entry]:
    """Return the entries of a run with a sequence above ``after``, in order, at most ``limit``.

    Raises NoSuchRun, and UnreadableRun for an entry that is missing, damaged, or of a newer release.
    """
    entries: list[Entry] = []
    position = max(after, 0)
    most = PAGE
    while True:
        size = most if limit is None else max(min(most, limit - len(entries)), 0)
        try:
            page, head = _page(connection, dialect, run_id, position, size)
        except Corrupt as error:  # find the entry: those before it can be read
            if size <= 1:
                raise _damaged(run_id, position + 1, error.what) from error
            most = size // 2
            continue
        _check_numbers(run_id, position, page, position if page or not size else head)
        entries += page
        position += len(page)
        if page and position > head:
            what = f"run {run_id} is damaged: its row in the table runs has {head} events, and its log has more"
            raise UnreadableRun(run_id, head + 1, what)
        if position >= head or not size or len(entries) == limit:
            return entries


def entries_of_run(
    connection: Connection, run_id: str, after: int, types: Sequence[str]
) -> Iterator[Callable[[], Entry]]:
    """Yield the entries of these types with a sequence above ``after``, in order, each as a function that decodes it.

    The function raises StoreError for an unreadable entry.
    """
    select = (
        "SELECT seq, at, epoch, type, version, body FROM events WHERE run_id = ? AND seq > ?"
        f" AND type IN ({', '.join('?' * len(types))}) ORDER BY seq LIMIT {PAGE}"
    )
    while rows := connection.execute(select, (run_id, after, *types)):
        for start in range(0, len(rows), UNPACKED_AT_ONCE):
            portion = rows[start : start + UNPACKED_AT_ONCE]
            values = values_of(connection, [row[5] for row in portion])
            yield from (partial(_decoded, run_id, *row, values=values) for row in portion)
        after = rows[-1][0]


# A page comes as one text: the fields of an entry separated by one control character, entries by another. JSON escapes
# control characters, so neither can be part of a body.
FIELD, RECORD = "\x1f", "\x1e"
FIELDS = f" || '{FIELD}' || ".join(("seq", "at", "epoch", "type", "version", "body"))


def _page(connection: Connection, dialect: Dialect, run_id: str, after: int, size: int) -> tuple[list[Entry], int]:
    """Return up to ``size`` entries, fewer if they are large, and the number of the run's last entry.

    Both come from one statement, so that nothing can be committed in between. The database joins the entries into one
    value, as in :meth:`~.connection.Table.find`: a page of a thousand takes 0.02 s that way, and 0.6 s row by row.
    """
    ((text, head),) = connection.execute(
        f"SELECT {dialect.joined.format(FIELDS, RECORD)}, (SELECT head_seq FROM runs WHERE run_id = ?)"
        " FROM (SELECT *, sum(length(body)) OVER (ORDER BY seq) AS total FROM events"
        " WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?) AS page WHERE total <= ? OR seq = ?",
        (run_id, run_id, after, size, PAGE_SIZE, after + 1),
    )
    if head is None:
        raise no_such_run(run_id)
    if not isinstance(head, int):
        head = FARTHEST  # it is damaged: an error follows the last event
    rows: list[list[str]] = []
    for record in text.split(RECORD) if text else ():
        fields = record.split(FIELD, 5)
        if len(fields) != 6:  # JSON never contains the separator, so the previous record is damaged
            raise _damaged(run_id, rows[-1][0] if rows else after + 1, "it holds control characters")
        if fields[0].isdecimal():  # a damaged number is missing
            rows.append(fields)
    rows.sort(key=lambda fields: int(fields[0]))  # they are sorted, but no database guarantees it of an aggregate
    entries: list[Entry] = []
    unpacked = 0
    for start in range(0, len(rows), UNPACKED_AT_ONCE):
        portion = rows[start : start + UNPACKED_AT_ONCE]
        values = values_of(connection, [fields[5] for fields in portion])
        unpacked += sum(len(value) for value in values.values())
        entries += [_decoded(run_id, *fields, values=values) for fields in portion]
        if unpacked > PAGE_SIZE:
            break
    return entries, head


def _check_numbers(run_id: str, after: int, page: Sequence[Entry], last: int) -> None:
    """Raise UnreadableRun unless the page continues ``after`` without a gap, at least up to ``last``.

    The state of a run follows from all of its events: if one were missing, the state would be wrong without notice.
    """
    end = page[-1].seq if page else after
    if end == after + len(page) and end >= last:
        return
    present = [after, *(entry.seq for entry in page), last + 1]
    first = next(seq + 1 for seq, following in pairwise(present) if following > seq + 1)
    what = f"run {run_id} is damaged: its event {first} is missing from the log"
    raise UnreadableRun(run_id, first, what)


def _decoded(
    run_id: str,
    seq: str | int,
    at: str | int,
    epoch: str | int,
    type_: str,
    version: str | int,
    body: str,
    values: Mapping[str, bytes] = NO_VALUES,
) -> Entry:
    """Decode an entry. Raises UnreadableRun for one that is damaged or that another release wrote."""
    known = EVENT_TYPES.get(type_)
    try:
        if known is None or known.version != int(version):
            name = type_.encode(errors="replace").decode()
            other = f"was written by another Leadhand: this release does not know {name} in version {int(version)}"
            raise UnreadableRun(run_id, int(seq), f"event {seq} of run {run_id} {other}", UPGRADE)
        event = known.model_validate_json(unpack(body, values))
        return Entry(seq=int(seq), at=moment(int(at)), epoch=int(epoch), event=event)
    except ValidationError as error:
        raise _misshapen(run_id, seq, type_, error) from error
    except (ValueError, ArithmeticError) as error:
        raise _damaged(run_id, seq, f"{type(error).__name__}: {error}") from error


UPGRADE = "upgrade: pip install -U leadhand (the database was not touched)"


def _misshapen(run_id: str, seq: str | int, type_: str, error: ValidationError) -> UnreadableRun:
    """Return the error of a body whose shape is not that of its type and version.

    A new field with a default keeps the version, so unknown fields may be those of a newer release.
    """
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    if all(fault["type"] == "extra_forbidden" for fault in faults):
        unknown = ", ".join(dict.fromkeys(_place(fault["loc"]) for fault in faults))
        return UnreadableRun(
            run_id,
            int(seq),
            f"event {seq} of run {run_id} ({type_}) holds what this release does not know: {unknown}",
            "a newer Leadhand may have written it, then upgrade: pip install -U leadhand; else it is damaged: "
            + RESTORE.format(run_id),
        )
    place = _place(faults[0]["loc"])
    return _damaged(run_id, seq, f"{type_} {f'{place}: ' if place else ''}{faults[0]['msg']}")


def _place(location: Sequence[int | str]) -> str:
    return ".".join(map(str, location))


def _damaged(run_id: str, seq: int | str, what: str) -> UnreadableRun:
    line = " ".join(what.split()).encode(errors="replace").decode()
    number = int(seq) if str(seq).isdecimal() else 1
    return UnreadableRun(run_id, number, f"event {seq} of run {run_id} is damaged: {line}")


def _well_formed(value: Any) -> Any:
    """Return a value with well-formed texts: pairs of surrogates joined, single surrogates replaced."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        members = cast("dict[Any, Any]", value)
        return {_well_formed(name): _well_formed(member) for name, member in members.items()}
    if isinstance(value, list | tuple):
        return [_well_formed(item) for item in cast("Sequence[Any]", value)]
    return value
