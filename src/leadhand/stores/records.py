"""Records that a database keeps beside the runs, such as API keys, and messages to webhooks that wait to be sent.

A message is written in the transaction of the event that it is about.
"""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

import secrets
from collections.abc import Iterable
from contextlib import suppress
from itertools import starmap
from typing import NamedTuple, TypeVar

from leadhand.core.errors import StoreError
from leadhand.core.events import Entry
from leadhand.core.value import Value
from leadhand.ports.webhooks import WEBHOOK, Delivery, Webhook, message_body, messages

from .codec import microseconds, stored
from .connection import Connection, Row, Table
from .parts import StorePart

DELIVERIES = Table("deliveries", "delivery_id, webhook_id, run_id, created_at, next_at, body")
SELECT = "SELECT kind, record_key, body, name FROM records"
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


class Records(StorePart):
    """Records, such as API keys, and the messages to webhooks."""

    async def records(self, kind: str, key: str | None = None) -> list[Record]:
        """Return the records of a kind; with ``key``, only this one, if there is one."""
        only = "" if key is None else " AND record_key = ?"
        select = f"{SELECT} WHERE kind = ?{only} ORDER BY record_key"
        return [*starmap(Record, await self._rows(select, kind, *(() if key is None else (key,))))]

    async def write_record(self, record: Record, *, instead_of: Record | None = None) -> bool:
        """Add a record, or replace ``instead_of``, which has the same key; return whether it was written: not if its
        key or name is in use, and not if the other one has changed since it was read.
        """
        kind, key, body, name = record
        if instead_of is None:
            sql = "INSERT INTO records (kind, record_key, body, name) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
            given: Row = record
        else:
            sql = "UPDATE records SET body = ?, name = ? WHERE kind = ? AND record_key = ? AND body = ?"
            given = (body, name, kind, key, instead_of.body)
        return bool(await self._written(f"4 {kind} {key}", f"{sql} RETURNING kind", *given))

    async def delete_record(self, kind: str, key: str) -> None:
        """Delete a record, and a webhook with its deliveries; does nothing for an unknown key."""

        def write(connection: Connection) -> None:
            connection.execute("DELETE FROM records WHERE kind = ? AND record_key = ?", (kind, key))
            if kind == WEBHOOK:
                connection.execute("DELETE FROM deliveries WHERE webhook_id = ?", (key,))

        await self._write(f"4 {kind} {key}", write)

    async def deliveries(self, webhook_id: str, limit: int) -> list[Delivery]:
        """Return the newest deliveries of a webhook. Raises StoreError if one is damaged."""
        select = "SELECT delivery_id, body FROM deliveries WHERE webhook_id = ? ORDER BY created_at DESC, delivery_id"
        rows = await self._rows(f"{select} LIMIT ?", webhook_id, limit)
        return [Record("delivery", *row).read(Delivery) for row in rows]

    async def take_deliveries(self, limit: int) -> list[Delivery]:
        """Return deliveries that are due. No other process gets them for a minute. Damaged ones hold up no other."""
        at = microseconds(self._now())
        due = "SELECT delivery_id FROM deliveries WHERE next_at <= ? ORDER BY next_at LIMIT ?"
        if not await self._rows(due, at, 1):
            return []  # most often, and then nothing is written
        take = f"UPDATE deliveries SET next_at = ? WHERE delivery_id IN ({due}) AND next_at <= ?"
        taken: list[Delivery] = []
        for row in await self._written("7", f"{take} RETURNING delivery_id, body", at + LEASE_US, at, limit, at):
            with suppress(StoreError):  # the list of deliveries names it
                taken.append(Record("delivery", *row).read(Delivery))
        return taken

    async def settle_delivery(self, delivery: Delivery) -> None:
        """Record what an attempt to deliver led to; ignores a delivery that was deleted."""
        update = "UPDATE deliveries SET next_at = ?, body = ? WHERE delivery_id = ?"
        row = stored(delivery.next_at), delivery.model_dump_json(), delivery.delivery_id
        await self._written(f"7 {delivery.delivery_id}", update, *row)


def deliveries_of(connection: Connection, found: Iterable[tuple[Row, Entry]]) -> list[Row]:
    """Return the rows of the deliveries of events: each is given with the fixed columns of the row of its run."""
    events = list(found)
    rows: list[Row] = []
    webhooks = connection.execute(f"{SELECT} WHERE kind = ?", (WEBHOOK,)) if events else []
    for record in starmap(Record, webhooks):
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
