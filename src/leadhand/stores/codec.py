"""Convert entries of the log to rows and back: the JSON of an event without its ``type``, and the columns beside it.

Pydantic writes and reads the body.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, cast

from pydantic_core import PydanticSerializationError, ValidationError, from_json

from leadhand.core.errors import RESTORE, StoreError, UnreadableRun, no_such_run
from leadhand.core.errors.advice import Advice
from leadhand.core.events import EVENT_TYPES, AnyEvent, Entry
from leadhand.core.value import DEEPEST, LARGEST, one_line

from .connection import Connection, Corrupt

PAGE = 1_000
"""Entries read by one statement, at most."""
LARGEST_EVENT = 5 * LARGEST
"""Characters of an event, at most. It may hold several values, each within its own limit."""
SURE = 4_000
"""Characters of an event that can be read back without a trial, unless it is nested: longer ones may hold a number
with too many digits."""

FARTHEST = 2**62
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


class Encoded(NamedTuple):
    """An event, and the columns that follow from it: type, version, subject, body."""

    event: AnyEvent
    columns: tuple[str, int, str, str]


def encode(event: AnyEvent) -> Encoded:
    """Return an event ready to be written.

    Raises StoreError for a value that JSON cannot express, such as half a character, and for an event that is too
    large, or nested too deeply, to be read back.
    """
    try:
        body = event.body
    except PydanticSerializationError as error:
        raise StoreError(
            f"a {event.type} event of {event.subject or 'the run'} has a value that JSON cannot express: {error}",
            "use plain JSON: null, bool, number, valid text, list, object with text as keys",
        ) from error
    cast("dict[str, Any]", event.__dict__).pop("body", None)  # the row has it
    if problem := _unreadable(body):
        raise StoreError(
            f"a {event.type} event of {event.subject or 'the run'} cannot be stored: {problem}",
            "store large material as a file, and pass its name",
        )
    return Encoded(event, (event.type, event.version, event.subject, body))


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
    return (moment - EPOCH) // MICROSECOND


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


READ = """
    SELECT seq, at, epoch, type, version, body FROM events WHERE run_id = ? AND seq > ?{condition} ORDER BY seq LIMIT ?
"""


def read_entries(connection: Connection, run_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
    """Return the entries of a run with a sequence above ``after``, in order, at most ``limit``.

    Raises NoSuchRun, and UnreadableRun for an entry that is missing, damaged, or of a newer release. The state of a run
    follows from all of its events: if one were missing, the state would be wrong without notice.
    """
    entries: list[Entry] = []
    position, head, page = max(after, 0), 0, PAGE
    while True:
        size = page if limit is None else max(min(page, limit - len(entries)), 0)
        try:
            rows = connection.execute(READ.format(condition=""), (run_id, position, size))
        except Corrupt as error:
            if size <= 1:
                raise UnreadableRun(run_id, position + 1, _damaged(run_id, position + 1, error.what)) from error
            page = 1  # find the entry: those before it can be read
            continue
        for seq, *columns in rows:
            if seq != position + 1:
                raise _missing(run_id, position + 1)
            entries.append(decoded(run_id, seq, *columns))
            position = seq
        if size and not rows and position < head:  # the head was read before these rows
            raise _missing(run_id, position + 1)
        head = _head(connection, run_id)
        if rows and position > head:
            what = f"run {run_id} is damaged: its row in the table runs has {head} events, and its log has more"
            raise UnreadableRun(run_id, head + 1, what)
        if position >= head or len(entries) == limit:
            return entries


def _head(connection: Connection, run_id: str) -> int:
    """Return the number of the last entry of a run. Raises NoSuchRun."""
    rows = connection.execute("SELECT head_seq FROM runs WHERE run_id = ?", (run_id,))
    if not rows:
        raise no_such_run(run_id)
    return rows[0][0] if isinstance(rows[0][0], int) else FARTHEST  # it is damaged: an error follows the last entry


def readable_events(connection: Connection, run_id: str, after: int, types: Sequence[str]) -> Iterator[AnyEvent]:
    """Yield the events of these types with a sequence above ``after``, in order, but those that cannot be read."""
    select = READ.format(condition=f" AND type IN ({', '.join('?' * len(types))})")
    while rows := connection.execute(select, (run_id, after, *types, PAGE)):
        for row in rows:
            with suppress(UnreadableRun):
                yield decoded(run_id, *row).event
        after = rows[-1][0]


def decoded(run_id: str, seq: int, at: int, epoch: int, type_: str, version: int, body: str) -> Entry:
    """Decode an entry. Raises UnreadableRun for one that is damaged or that another release wrote."""
    known = EVENT_TYPES.get(type_)
    try:
        if known is None or known.version != int(version):
            other = f"was written by another Leadhand: this release does not know {type_!a} in version {int(version)}"
            raise UnreadableRun(run_id, seq, f"event {seq} of run {run_id} {other}", UPGRADE)
        return Entry(int(seq), moment(int(at)), int(epoch), known.model_validate_json(body))
    except (ValueError, ArithmeticError) as error:
        name = "" if isinstance(error, ValidationError) else f"{type(error).__name__}: "
        what = _damaged(run_id, seq, f"{type_}: {name}{one_line(error)}")
        # A new field with a default keeps the version, so unknown fields may be those of a newer release.
        if isinstance(error, ValidationError) and all(each["type"] == "extra_forbidden" for each in error.errors()):
            how = Advice(f"if a newer Leadhand may have written it, {UPGRADE}; else {RESTORE}", run=run_id)
            raise UnreadableRun(run_id, seq, what, how) from error
        raise UnreadableRun(run_id, seq, what) from error


UPGRADE = "upgrade: pip install -U leadhand (the database was not touched)"


def _damaged(run_id: str, seq: int, what: str) -> str:
    line = " ".join(what.split()).encode(errors="replace").decode()
    return f"event {seq} of run {run_id} is damaged: {line}"


def _missing(run_id: str, seq: int) -> UnreadableRun:
    return UnreadableRun(run_id, seq, f"run {run_id} is damaged: its event {seq} is missing from the log")
