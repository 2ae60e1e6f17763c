"""Webhooks and their deliveries. A delivery is written in the transaction of the event that it is about."""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Generator, Iterable
from datetime import datetime

from leadhand.core.errors import StoreError
from leadhand.core.events import Entry
from leadhand.ports.webhooks import Delivery, Webhook, message_body, messages

from .codec import moment, read_moment, stored
from .connection import Connection, Row, Table

WEBHOOKS = Table("webhooks", "webhook_id, url, secret, events, key_id, every, by_whom, created_at")
DELIVERIES = Table(
    "deliveries",
    "delivery_id, webhook_id, run_id, event, body, created_at, next_at, attempts, delivered, code, error",
)
IN_USE = (
    "(webhooks.key_id = '' OR EXISTS (SELECT 1 FROM api_keys"
    " WHERE api_keys.key_id = webhooks.key_id AND api_keys.revoked_at IS NULL))"
)
"""A webhook whose key was revoked gets no further messages."""
LEASE_S = 60
"""Seconds after which a delivery that a process took is taken again, since that process died."""


def deliveries_of(connection: Connection, found: Iterable[tuple[Row, Entry]]) -> list[Row]:
    """Return the rows of the deliveries of events: each is given with the fixed columns of the row of its run."""
    events = list(found)
    rows: list[Row] = []
    if not events:
        return rows
    query = f"SELECT webhook_id, events, key_id, every FROM webhooks WHERE {IN_USE}"
    for webhook_id, wanted, key_id, every in connection.execute(query):
        for (run_id, flow, request, _, _, _, owner, *_), entry in events:
            if not every and owner != key_id:
                continue
            for name in set(messages(entry.event)) & set(str(wanted).split(",")):  # damage must not stop a run
                body = message_body(name, {"run_id": run_id, "flow": flow, "request": request}, entry)
                at = stored(entry.at)
                rows.append((f"msg_{secrets.token_hex(12)}", webhook_id, run_id, name, body, at, at, 0, 0, None, ""))
    return rows


def take_due(connection: Connection, now: datetime, limit: int) -> list[tuple[Delivery, Webhook]]:
    """Take deliveries that are due, so that no other process sends them for a while. Damaged ones hold up no other."""
    at, until = stored(now), (stored(now) or 0) + LEASE_S * 1_000_000
    due = "SELECT delivery_id FROM deliveries WHERE next_at <= ? ORDER BY next_at LIMIT ?"
    take = (
        f"UPDATE deliveries SET next_at = ? WHERE delivery_id IN ({due}) AND next_at <= ?"
        f" RETURNING {DELIVERIES.columns}"
    )
    taken = connection.execute(take, (until, at, limit, at))
    known = {row[0]: row for row in connection.execute(f"{SELECT} WHERE {IN_USE}")}
    DELIVERIES.delete(connection, "delivery_id", [(row[0],) for row in taken if row[1] not in known])
    found: list[tuple[Delivery, Webhook]] = []
    for row in taken:
        if row[1] in known:
            with contextlib.suppress(StoreError):
                found.append((delivery_of(row), webhook_of(known[row[1]])))
    return found


SELECT = f"SELECT {WEBHOOKS.columns} FROM webhooks"


def webhook_row(webhook: Webhook) -> Row:
    events, at = ",".join(webhook.events), stored(webhook.created_at)
    return (
        webhook.webhook_id, webhook.url, webhook.secret, events, webhook.key_id, int(webhook.every), webhook.by, at
    )  # fmt: skip


def webhook_of(row: Row) -> Webhook:
    """Return the webhook in a row. Raises StoreError if it is damaged."""
    with _named("webhook", row, "webhooks"):
        return Webhook(
            webhook_id=row[0], url=row[1], secret=row[2], events=tuple(row[3].split(",")), key_id=row[4],
            every=bool(row[5]), by=row[6], created_at=moment(row[7]),
        )  # fmt: skip


def delivery_of(row: Row) -> Delivery:
    """Return the delivery in a row. Raises StoreError if it is damaged."""
    with _named("delivery", row, "deliveries"):
        return Delivery(
            delivery_id=row[0], webhook_id=row[1], run_id=row[2], event=row[3], body=row[4], created_at=moment(row[5]),
            next_at=read_moment(row[6]), attempts=row[7], delivered=bool(row[8]), code=row[9], error=row[10],
        )  # fmt: skip


@contextlib.contextmanager
def _named(what: str, row: Row, table: str) -> Generator[None]:
    try:
        yield
    except (ValueError, ArithmeticError, TypeError) as error:
        how = "restore the database from a backup"
        raise StoreError(f"the {what} {row[0]} in the table {table} is damaged", how) from error
