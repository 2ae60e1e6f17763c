"""Sends messages to webhooks: those that wait in the database, also from before a restart or by another process."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import ipaddress
import logging
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial

from leadhand.app.runtime.driver import Periodic
from leadhand.app.steering.access import Scope, allows
from leadhand.app.steering.keys import all_keys
from leadhand.core.errors import StoreError, ToolError
from leadhand.ports.webhooks import WEBHOOK, Delivery, Webhook
from leadhand.stores.records import Record
from leadhand.stores.sql_store import SqlContextStore
from leadhand.tools.web.fetching import PageFetcher, is_public

LOGGER = logging.getLogger("leadhand.server")
EVERY_S = 1.0
AT_ONCE = 20
MARK = "whsec_"
RETRY_AFTER_S = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Seconds between the attempts to deliver a message, as Standard Webhooks recommends. Then it has failed."""


async def store_webhook(store: SqlContextStore, webhook: Webhook) -> None:
    """Store a webhook, whose id is new."""
    await store.write_record(Record(WEBHOOK, webhook.webhook_id, webhook.model_dump_json()))


async def all_webhooks(store: SqlContextStore) -> list[Webhook]:
    """Return every webhook, newest first. Raises StoreError if one is damaged."""
    found = [record.read(Webhook) for record in await store.records(WEBHOOK)]
    return sorted(found, key=lambda webhook: webhook.created_at, reverse=True)


def signed_headers(secret: str, delivery_id: str, at: datetime, body: str) -> dict[str, str]:
    """Return the headers of Standard Webhooks: https://www.standardwebhooks.com"""
    stamp = str(int(at.timestamp()))
    key = base64.b64decode(secret.removeprefix(MARK))
    digest = hmac.new(key, f"{delivery_id}.{stamp}.{body}".encode(), hashlib.sha256).digest()
    signature = f"v1,{base64.b64encode(digest).decode()}"
    return {"webhook-id": delivery_id, "webhook-timestamp": stamp, "webhook-signature": signature}


def after_attempt(delivery: Delivery, now: datetime, code: int | None, error: str) -> Delivery:
    """Return a delivery after an attempt: ``code`` is the HTTP status, if any, ``error`` why it failed."""
    attempts = delivery.attempts + 1
    over = not error or attempts > len(RETRY_AFTER_S) or code == 410  # 410: the receiver wants no more
    next_at = None if over else now + timedelta(seconds=RETRY_AFTER_S[attempts - 1])
    return delivery.evolve(attempts=attempts, delivered=not error, next_at=next_at, code=code, error=error)


def is_reachable(address: str, *, local: bool) -> bool:
    """Whether messages may go to an address: it is public, or, for a ``local`` server, on this machine."""
    return is_public(address) or (local and ipaddress.ip_address(address).is_loopback)


class Deliverer(Periodic):
    """Looks once a second for messages that are due. ``local``: the server listens on loopback only."""

    name = "webhooks"
    stopped = "no messages are sent"
    logger = LOGGER

    def __init__(self, store: SqlContextStore, *, local: bool, every_s: float = EVERY_S) -> None:
        super().__init__(every_s)
        self._store = store
        self._senders = {
            trusted: PageFetcher(allowed=partial(is_reachable, local=trusted and local)) for trusted in (False, True)
        }
        """By whether the webhook belongs to an admin: only those may go to addresses of this machine."""

    async def aclose(self) -> None:
        """Stop the task. Messages that are being sent are sent again by the next server."""
        await super().aclose()
        for sender in self._senders.values():
            await sender.aclose()

    async def look(self) -> None:
        """Send the messages that are due. Raises StoreError."""
        while due := await self._store.take_deliveries(AT_ONCE):
            keys = await all_keys(self._store)
            trusted = {"": True} | {key.key_id: allows(key.scopes, Scope.ADMIN) for key in keys if not key.revoked_at}
            webhooks = {record.key: record for record in await self._store.records(WEBHOOK)}
            await asyncio.gather(*(self._send(each, webhooks.get(each.webhook_id), trusted) for each in due))

    async def _send(self, delivery: Delivery, record: Record | None, trusted: Mapping[str, bool]) -> None:
        """Send a message, and record the outcome; ``trusted`` has the keys that are not revoked."""
        code: int | None = None
        try:
            webhook = record.read(Webhook) if record is not None else None
            if webhook is None or webhook.key_id not in trusted:
                over = delivery.evolve(next_at=None, error="the webhook was deleted, or its key revoked")
                return await self._store.settle_delivery(over)
            headers = signed_headers(webhook.secret, delivery.delivery_id, datetime.now(UTC), delivery.body)
            sender = self._senders[trusted[webhook.key_id]]
            code = await sender.post(webhook.url, delivery.body.encode(), headers)
            problem = "" if 200 <= code < 300 else f"the receiver answered {code}"
        except ToolError as error:
            problem = error.failure.message
        except StoreError as error:
            problem = error.what
        settled = after_attempt(delivery, datetime.now(UTC), code, problem)
        if settled.next_at is None and problem:
            LOGGER.warning("message %s to webhook %s failed: %s", delivery.delivery_id, delivery.webhook_id, problem)
        return await self._store.settle_delivery(settled)
