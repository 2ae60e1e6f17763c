"""What a database keeps beside the runs: API keys, webhooks and their deliveries."""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from leadhand.core.errors import StoreError, UsageError

from . import webhooks
from .codec import moment, read_moment, stored
from .connection import Row
from .threads import Readers
from .writer import SideWrite, Writer

if TYPE_CHECKING:
    from leadhand.ports.access import ApiKey
    from leadhand.ports.webhooks import Delivery, Webhook

KEY_COLUMNS = "key_id, name, prefix, digest, scopes, ceilings, created_at, revoked_at, last_used_at"


class KeptBeside:
    """The part of a :class:`~.sql_store.SqlContextStore` that is beside the runs; the ports document its methods."""

    _readers: Readers
    _writer: Writer
    _now: Callable[[], datetime]

    async def add_key(self, key: ApiKey) -> None:
        insert = f"INSERT INTO api_keys ({KEY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
        times = map(stored, (key.created_at, key.revoked_at, key.last_used_at))
        scopes, ceilings = ",".join(key.scopes), key.ceilings.model_dump_json()
        columns = (key.key_id, key.name, key.prefix, key.digest, scopes, ceilings, *times)
        if not await self._change(f"4 {key.key_id}", f"{insert} RETURNING key_id", *columns):
            how = "choose another name, or revoke that key first: leadhand keys list"
            raise UsageError(f"a key named {key.name}, or with the id {key.key_id}, already exists", how)

    async def keys(self) -> list[ApiKey]:
        rows = await self._rows(f"SELECT {KEY_COLUMNS} FROM api_keys ORDER BY created_at DESC, key_id")
        return [_key_of_row(row) for row in rows]

    async def key_of(self, digest: str) -> ApiKey | None:
        rows = await self._rows(f"SELECT {KEY_COLUMNS} FROM api_keys WHERE digest = ?", digest)
        return _key_of_row(rows[0]) if rows else None

    async def revoke_key(self, key_id: str) -> ApiKey:
        revoke = f"UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) WHERE key_id = ? RETURNING {KEY_COLUMNS}"
        rows = await self._change(f"4 {key_id}", revoke, stored(self._now()), key_id)
        if not rows:
            raise UsageError(f"there is no key {key_id}", "`leadhand keys list` shows the keys of this database")
        return _key_of_row(rows[0])

    async def used_key(self, key_id: str, at: datetime) -> None:
        use = "UPDATE api_keys SET last_used_at = ? WHERE key_id = ? AND (last_used_at IS NULL OR last_used_at < ?)"
        await self._change(f"4 {key_id}", use, stored(at), key_id, stored(at))

    async def add_webhook(self, webhook: Webhook) -> None:
        rows = [webhooks.webhook_row(webhook)]
        await self._write_beside(f"7 {webhook.webhook_id}", webhooks.WEBHOOKS.insert, rows)

    async def webhooks(self) -> list[Webhook]:
        return [webhooks.webhook_of(row) for row in await self._rows(f"{webhooks.SELECT} ORDER BY created_at DESC")]

    async def delete_webhook(self, webhook_id: str) -> None:
        for table in ("deliveries", "webhooks"):
            await self._change(f"7 {webhook_id}", f"DELETE FROM {table} WHERE webhook_id = ?", webhook_id)

    async def deliveries(self, webhook_id: str, limit: int) -> list[Delivery]:
        columns, order = webhooks.DELIVERIES.columns, "ORDER BY created_at DESC, delivery_id LIMIT ?"
        select = f"SELECT {columns} FROM deliveries WHERE webhook_id = ? {order}"
        return [webhooks.delivery_of(row) for row in await self._rows(select, webhook_id, limit)]

    async def take_deliveries(self, limit: int) -> list[tuple[Delivery, Webhook]]:
        now = self._now()
        if not await self._rows("SELECT 1 FROM deliveries WHERE next_at <= ? LIMIT 1", stored(now)):
            return []  # most often, and then nothing is written
        return await self._write_beside("7", webhooks.take_due, now, limit)

    async def settle_delivery(self, delivery: Delivery) -> None:
        change = "UPDATE deliveries SET next_at = ?, attempts = ?, delivered = ?, code = ?, error = ?"
        values = stored(delivery.next_at), delivery.attempts, int(delivery.delivered), delivery.code, delivery.error
        name = delivery.delivery_id
        await self._change(f"7 {name}", f"{change} WHERE delivery_id = ?", *values, name)

    async def _rows(self, sql: str, *parameters: object) -> list[Row]:
        return await self._readers.ask(lambda connection: connection.execute(sql, parameters))

    async def _write_beside(self, key: str, write: Callable[..., Any], *arguments: Any) -> Any:
        return await self._writer.submit(SideWrite(key=key, write=lambda connection: write(connection, *arguments)))

    async def _change(self, key: str, sql: str, *parameters: object) -> list[Row]:
        return await self._writer.submit(SideWrite(key=key, write=lambda session: session.execute(sql, parameters)))


def _key_of_row(row: Row) -> ApiKey:
    """Return the key in a row of ``KEY_COLUMNS``. Raises StoreError if it is damaged."""
    from leadhand.ports.access import ApiKey, KeyCeilings, Scope  # few processes read keys

    try:
        return ApiKey(
            key_id=row[0],
            name=row[1],
            prefix=row[2],
            digest=row[3],
            scopes=tuple(Scope(scope) for scope in row[4].split(",") if scope),
            ceilings=KeyCeilings.model_validate_json(row[5]),
            created_at=moment(row[6]),
            revoked_at=read_moment(row[7]),
            last_used_at=read_moment(row[8]),
        )
    except (ValueError, ArithmeticError, TypeError) as error:
        raise StoreError(
            f"the key {row[0]} in the table api_keys is damaged", "restore the database from a backup"
        ) from error
