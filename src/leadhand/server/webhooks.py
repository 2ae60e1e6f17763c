"""Sends messages to webhooks: those that wait in the database, also from before a restart or by another process."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from datetime import UTC, datetime
from functools import partial

from leadhand.app.driving.driver import Periodic
from leadhand.core.errors import ToolError
from leadhand.ports import DatabaseStore
from leadhand.ports.access import Scope, allows
from leadhand.ports.webhooks import Delivery, Webhook, signed_headers
from leadhand.tools.web.fetching import PageFetcher, is_public

LOGGER = logging.getLogger("leadhand.server")
EVERY_S = 1.0
AT_ONCE = 20


def is_reachable(address: str, *, local: bool) -> bool:
    """Whether messages may go to an address: it is public, or, for a ``local`` server, on this machine."""
    return is_public(address) or (local and ipaddress.ip_address(address).is_loopback)


class Deliverer(Periodic):
    """Looks once a second for messages that are due. ``local``: the server listens on loopback only."""

    name = "webhooks"
    stopped = "no messages are sent"
    logger = LOGGER

    def __init__(self, store: DatabaseStore, *, local: bool, every_s: float = EVERY_S) -> None:
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
            keys = await self._store.keys()
            admins = {"", *(key.key_id for key in keys if allows(key.scopes, Scope.ADMIN))}
            sending = (self._send(self._store, *each, self._senders[each[1].key_id in admins]) for each in due)
            await asyncio.gather(*sending)

    async def _send(self, store: DatabaseStore, delivery: Delivery, webhook: Webhook, sender: PageFetcher) -> None:
        code: int | None = None
        problem = ""
        try:
            headers = signed_headers(webhook.secret, delivery.delivery_id, datetime.now(UTC), delivery.body)
            code = await sender.post(webhook.url, delivery.body.encode(), headers)
            problem = "" if 200 <= code < 300 else f"the receiver answered {code}"
        except ToolError as error:
            problem = error.failure.message
        settled = delivery.after(datetime.now(UTC), code, problem)
        if settled.next_at is None and problem:
            LOGGER.warning("message %s to webhook %s failed: %s", delivery.delivery_id, webhook.webhook_id, problem)
        await store.settle_delivery(settled)
