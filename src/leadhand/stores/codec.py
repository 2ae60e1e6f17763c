"""Entries of the log to rows and back: the JSON of an event without its ``type``, and the columns beside it.

The body is written and read by pydantic itself; what an older release wrote is brought to today's shape by the
upcasters on the way.
"""

# ruff: noqa: S608 - only words of our own are put into SQL; data are parameters

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any, NamedTuple, cast

from pydantic_core import PydanticSerializationError

from leadhand.domain.errors import NoSuchRun, StoreError
from leadhand.domain.events import EVENT_TYPES, AnyEvent, Entry, upcast

from .connection import Connection, Dialect

PAGE = 1_000
"""Entries read by one statement, at most."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TYPE = {"type"}


class Encoded(NamedTuple):
    """An event and the columns it alone decides: kind, type, version, subject, body."""

    event: AnyEvent
    columns: tuple[str, str, int, str, str]


def encode(event: AnyEvent) -> Encoded:
    """An event ready to be written.

    Half a character, such as models leave behind when they are cut off inside an emoji, is replaced (U+FFFD), in the
    event too, so that memory and log agree. Raises StoreError for anything else that JSON cannot say.
    """
    try:
        body = event.model_dump_json(exclude=TYPE, by_alias=True)
    except PydanticSerializationError as error:
        if "surrogates" not in str(error):
            raise StoreError(
                f"a {event.type} event of {event.subject or 'the run'} holds what JSON cannot say: {error}",
                "return plain JSON from the tool: null, bool, number, string, list, object with string keys",
            ) from error
        event = type(event).model_validate(_mended(event.model_dump(by_alias=True)))
        body = event.model_dump_json(exclude=TYPE, by_alias=True)
    return Encoded(event, (event.kind.value, event.type, event.version, event.subject, body))


def microseconds(moment: datetime) -> int:
    """A moment as the store keeps it."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def moment(microseconds: int) -> datetime:
    """A moment as the store kept it, in UTC."""
    return EPOCH + timedelta(microseconds=microseconds)


def read_entries(
    connection: Connection, dialect: Dialect, run_id: str, after: int = 0, limit: int | None = None
) -> list[Entry]:
    """Entries of a run with a sequence above ``after``, in order, at most ``limit``.

    Raises NoSuchRun, and StoreError for an entry that this release cannot read.
    """
    entries: list[Entry] = []
    while limit is None or len(entries) < limit:
        size = PAGE if limit is None else min(PAGE, limit - len(entries))
        page = _page(connection, dialect, run_id, entries[-1].seq if entries else after, size)
        entries += page
        if len(page) < size:
            break
    if not entries and not connection.execute("SELECT 1 FROM runs WHERE run_id = ?", (run_id,)):
        raise no_such_run(run_id)
    return entries


def no_such_run(run_id: str) -> NoSuchRun:
    """The error of every method that is given a run's id."""
    return NoSuchRun(f"there is no run {run_id} in this database", "`leadhand runs list` shows those that are there")


# A page comes as one text: the fields of an entry separated by one control character, entries by another. JSON escapes
# control characters, so neither can be part of a body.
FIELD, RECORD = "\x1f", "\x1e"
FIELDS = f" || '{FIELD}' || ".join(("seq", "at", "epoch", "type", "version", "body"))


def _page(connection: Connection, dialect: Dialect, run_id: str, after: int, size: int) -> list[Entry]:
    """Up to ``size`` entries, joined into one value by the database.

    Fetching a thousand rows would let go of the interpreter lock a thousand times, and beside a busy event loop each
    time take up to 5 ms to get it back: 0.6 s a page, against 0.02 s so.
    """
    ((text,),) = connection.execute(
        f"SELECT {dialect.joined.format(FIELDS, RECORD)}"
        " FROM (SELECT * FROM events WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?) AS page",
        (run_id, after, size),
    )
    entries = [_decoded(run_id, *record.split(FIELD, 5)) for record in text.split(RECORD)] if text else []
    entries.sort(key=attrgetter("seq"))  # quick when sorted already, as they are; but no database promises it
    return entries


def _decoded(run_id: str, seq: str, at: str, epoch: str, type_: str, version: str, body: str) -> Entry:
    """One entry, whatever release wrote it. Raises StoreError for one that this release does not know."""
    known = EVENT_TYPES.get(type_)
    try:
        if known is None or known.version < int(version):
            raise ValueError(f"this release does not know {type_} in version {version}")
        if known.version != int(version):
            body = json.dumps(upcast(type_, int(version), json.loads(body)))
        event = known.model_validate_json(body)
        return Entry(seq=int(seq), at=moment(int(at)), epoch=int(epoch), event=event)  # pyright: ignore[reportArgumentType]
    except ValueError as error:  # pydantic's errors are such, too
        raise StoreError(
            f"entry {seq} of run {run_id} cannot be read: {str(error).partition(chr(10))[0]}",
            "a newer release may have written it: pip install -U leadhand",
        ) from error


def _mended(value: Any) -> Any:
    """A value whose texts are well-formed: pairs of surrogates joined, single ones replaced."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        members = cast("dict[Any, Any]", value)
        return {_mended(name): _mended(member) for name, member in members.items()}
    if isinstance(value, list | tuple):
        return [_mended(item) for item in cast("Sequence[Any]", value)]
    return value
