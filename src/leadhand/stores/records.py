"""Records that a database keeps beside the runs, such as API keys, and messages to webhooks that wait to be sent.

A message is written in the transaction of the event that it is about.
"""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

import secrets
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple, TypeVar

from leadhand.core.errors import StoreError
from leadhand.core.events import Entry
from leadhand.core.value import Value
from leadhand.ports.webhooks import WEBHOOK, Delivery, Webhook, message_body, messages

from .codec import microseconds, stored
from .connection import Connection, Row, Table

DELIVERIES = Table("deliveries", "delivery_id, webhook_id, run_id, created_at, next_at, body")
LEASE_US = 60_000_000
"""Microseconds after which a delivery that a process took is taken again, since that process died."""

Document = TypeVar("Document", bound=Value)


class Record(NamedTuple):
    """A small document of a ``kind``, as JSON. No two of a kind have the same ``key``, or the same ``name``."""

    kind: str
    key: str
    body: str
    name: str | None = None

    def read(self, model: type[Document]) -> Document:
        """Return what the record holds. Raises StoreError if it is damaged."""
        try:
            return model.model_validate_json(self.body)
        except ValueError as error:
            what = f"the record of the {self.kind} {self.name or self.key} is damaged"
            raise StoreError(what, "delete it, or restore the database from a backup") from error


def records(connection: Connection, kind: str, key: str | None = None) -> list[Record]:
    """Return the records of a kind; with ``key``, only this one."""
    only = "" if key is None else " AND record_key = ?"
    select = f"SELECT kind, record_key, body, name FROM records WHERE kind = ?{only} ORDER BY record_key"
    return [Record(*row) for row in connection.execute(select, (kind,) if key is None else (kind, key))]


def write_record(connection: Connection, record: Record, instead_of: Record | None) -> bool:
    """Add a record, or replace ``instead_of``; return whether it was written."""
    kind, key, body, name = record
    if instead_of is None:
        insert = "INSERT INTO records (kind, record_key, body, name) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
        return bool(connection.execute(f"{insert} RETURNING kind", record))
    update = "UPDATE records SET body = ?, name = ? WHERE kind = ? AND record_key = ? AND body = ? RETURNING kind"
    return bool(connection.execute(update, (body, name, kind, key, instead_of.body)))


def delete_record(connection: Connection, kind: str, key: str) -> None:
    """Delete a record, and the deliveries to it if it is a webhook."""
    connection.execute("DELETE FROM records WHERE kind = ? AND record_key = ?", (kind, key))
    if kind == WEBHOOK:
        connection.execute("DELETE FROM deliveries WHERE webhook_id = ?", (key,))


def deliveries_of(connection: Connection, found: Iterable[tuple[Row, Entry]]) -> list[Row]:
    """Return the rows of the deliveries of events: each is given with the fixed columns of the row of its run."""
    events = list(found)
    rows: list[Row] = []
    for record in records(connection, WEBHOOK) if events else ():
        try:
            webhook = record.read(Webhook)
        except StoreError:
            continue  # damage must not stop a run
        for (run_id, flow, request, _, _, _, owner, *_), entry in events:
            if not webhook.every and owner != webhook.key_id:
                continue
            for name in messages(entry.event):
                if name not in webhook.events:
                    continue
                body = message_body(name, {"run_id": run_id, "flow": flow, "request": request}, entry)
                delivery = Delivery(
                    delivery_id=f"msg_{secrets.token_hex(12)}", webhook_id=record.key, run_id=run_id, event=name,
                    body=body, created_at=entry.at, next_at=entry.at,
                )  # fmt: skip
                at = microseconds(entry.at)
                rows.append((delivery.delivery_id, record.key, run_id, at, at, delivery.model_dump_json()))
    return rows


def deliveries(connection: Connection, webhook_id: str, limit: int) -> list[Delivery]:
    """Return the newest deliveries of a webhook. Raises StoreError if one is damaged."""
    select = "SELECT delivery_id, body FROM deliveries WHERE webhook_id = ?"
    rows = connection.execute(f"{select} ORDER BY created_at DESC, delivery_id LIMIT ?", (webhook_id, limit))
    return [Record("delivery", *row).read(Delivery) for row in rows]


def take_due(connection: Connection, now: datetime, limit: int) -> list[Delivery]:
    """Take deliveries that are due, so that no other process sends them for a while. Damaged ones hold up no other."""
    at = microseconds(now)
    due = "SELECT delivery_id FROM deliveries WHERE next_at <= ? ORDER BY next_at LIMIT ?"
    take = f"UPDATE deliveries SET next_at = ? WHERE delivery_id IN ({due}) AND next_at <= ?"
    taken: list[Delivery] = []
    for row in connection.execute(f"{take} RETURNING delivery_id, body", (at + LEASE_US, at, limit, at)):
        with suppress(StoreError):  # the list of deliveries names it
            taken.append(Record("delivery", *row).read(Delivery))
    return taken


def settle(connection: Connection, delivery: Delivery) -> None:
    """Write the outcome of a delivery."""
    update = "UPDATE deliveries SET next_at = ?, body = ? WHERE delivery_id = ?"
    connection.execute(update, (stored(delivery.next_at), delivery.model_dump_json(), delivery.delivery_id))
