"""Deliveries: written with the event, taken by one process at a time, gone with their run or webhook."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any

from stores.contract import asks, started

from leadhand.core.events import RunFinished
from leadhand.core.run import RunStatus
from leadhand.ports.webhooks import WEBHOOK, WEBHOOK_EVENTS, Webhook
from leadhand.server.webhooks import after_attempt, all_webhooks, store_webhook
from leadhand.stores.opening import open_store

NOW = datetime.now(UTC)


def webhook(name: str, **more: Any) -> Webhook:
    given: dict[str, Any] = {"events": WEBHOOK_EVENTS, "key_id": "", "every": True, **more}
    return Webhook(webhook_id=name, url="https://example.org/", secret="whsec_AAAA", by="ann", created_at=NOW, **given)


async def test_a_delivery_is_written_with_its_event_and_taken_once(url: str) -> None:
    async with aclosing(await open_store(url)) as store, aclosing(await open_store(url)) as other:
        await store_webhook(store, webhook("wh_all"))
        await store_webhook(store, webhook("wh_failed", events=("run.failed",)))
        await store_webhook(store, webhook("wh_of_key", key_id="another", every=False))
        await store.create("run-1", started())
        assert await store.take_deliveries(10) == []

        await other.append("run-1", [asks("wo-001.0/t0/c0")])  # whichever process commits
        await store.append("run-1", [RunFinished(status=RunStatus.FAILED, answer="")])
        at_once = await asyncio.gather(*(each.take_deliveries(2) for each in (store, other, store)))
        taken = [each for some in at_once for each in some]

        found = sorted((each.webhook_id, each.event) for each in taken)
        assert found == [
            ("wh_all", "run.asks"),
            ("wh_all", "run.failed"),
            ("wh_all", "run.finished"),
            ("wh_failed", "run.failed"),
        ]
        assert await store.take_deliveries(10) == []

        first = next(each for each in taken if each.webhook_id == "wh_failed")
        await other.settle_delivery(after_attempt(first, NOW - timedelta(hours=1), 500, "no"))
        (again,) = await store.take_deliveries(10)
        assert (again.delivery_id, again.attempts, again.code) == (first.delivery_id, 1, 500)
        await store.settle_delivery(after_attempt(again, NOW, 200, ""))
        (logged,) = await store.deliveries("wh_failed", 10)
        assert (logged.delivered, logged.next_at, logged.attempts) == (True, None, 2)


async def test_what_is_refused_is_not_delivered_and_what_is_deleted_is_gone(url: str) -> None:
    async with aclosing(await open_store(url)) as store:
        await store_webhook(store, webhook("wh_1"))
        await store_webhook(store, webhook("wh_2"))
        await store.create("run-1", started())
        refused = store.append("run-1", [RunFinished(status=RunStatus.SUCCEEDED, answer="")], epoch=7)
        assert isinstance((await asyncio.gather(refused, return_exceptions=True))[0], Exception)
        assert await store.deliveries("wh_1", 10) == []

        await store.append("run-1", [RunFinished(status=RunStatus.SUCCEEDED, answer="")])
        await store.delete_record(WEBHOOK, "wh_2")
        assert [each.webhook_id for each in await store.take_deliveries(10)] == ["wh_1"]
        await store.release("run-1", 1)
        await store.delete_runs(["run-1"])
        assert await store.deliveries("wh_1", 10) == []
        assert [each.webhook_id for each in await all_webhooks(store)] == ["wh_1"]
