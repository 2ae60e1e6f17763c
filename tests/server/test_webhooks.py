"""Webhooks: signed, sent for what was committed, again after a failure or a restart, and only where they may go."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from server.conftest import OpenDoor
from server.doors import Door, door
from server.keys import keys_of
from server.receivers import Receiver, receiver
from server.teams import Office, team

from leadhand import Leadhand
from leadhand.app.steering.access import Scope
from leadhand.ports.webhooks import Delivery
from leadhand.server import webhooks
from leadhand.server.app import Doors
from leadhand.server.webhooks import RETRY_AFTER_S, after_attempt, signed_headers

LOCAL = Doors(local=True)


@pytest.fixture
async def hook() -> AsyncIterator[Receiver]:
    async with receiver() as opened:
        yield opened


async def added(api: Door, hook: Receiver, *events: str, **options: Any) -> dict[str, Any]:
    body = {"url": hook.url, **({"events": list(events)} if events else {})}
    response = await api.post("/api/webhooks", body, **options)
    assert response.status_code == 201, response.text
    return response.json()


async def sent(api: Door, webhook: dict[str, Any], holds: Any) -> list[dict[str, Any]]:
    """The log of deliveries, once it is as it should be."""

    async def look() -> list[dict[str, Any]]:
        return (await api.get(f"/api/webhooks/{webhook['webhook_id']}/deliveries")).json()["deliveries"]

    return await api.seen(look, holds)


def test_the_signature_is_that_of_standard_webhooks() -> None:
    """The example of its specification."""
    at = datetime.fromtimestamp(1_614_265_330, UTC)
    headers = signed_headers(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", at, '{"test": 2432232314}'
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


async def test_the_end_of_a_run_is_sent_signed_and_logged(open_door: OpenDoor, hook: Receiver) -> None:
    api = await open_door(doors=LOCAL)
    webhook = await added(api, hook)
    run_id = await api.started("measure Paris")

    ((headers, body),) = await hook.until(1)

    at = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
    expected = signed_headers(webhook["secret"], headers["webhook-id"], at, body)
    assert expected["webhook-signature"] == headers["webhook-signature"]
    message = json.loads(body)
    assert message["type"] == "run.finished"
    assert (message["data"]["run_id"], message["data"]["status"]) == (run_id, "succeeded")
    (logged,) = await sent(api, webhook, lambda found: found and found[0]["delivered"])
    assert (logged["delivery_id"], logged["code"], logged["attempts"]) == (headers["webhook-id"], 204, 1)
    assert "secret" not in (await api.get("/api/webhooks")).text


async def test_only_what_was_asked_for_is_sent(open_door: OpenDoor, hook: Receiver) -> None:
    api = await open_door(doors=LOCAL)
    await added(api, hook, "run.asks", "run.failed")
    run_id = await api.started("measure Paris, pay Ann")
    ((_, asks),) = await hook.until(1)
    assert json.loads(asks)["data"]["approval"]["tool"] == "pay"
    await api.post(f"/api/runs/{run_id}/cancel")
    failed = await api.started("measure Oslo")
    await api.over(failed)

    messages = [json.loads(body) for _, body in await hook.until(2)]

    assert [each["type"] for each in messages] == ["run.asks", "run.failed"]
    assert messages[1]["data"]["run_id"] == failed


async def test_what_ended_while_no_server_ran_is_sent_once_after_its_start(
    home: Path, office: Office, hook: Receiver
) -> None:
    async with door(home, doors=LOCAL, models=team(), tools=office.tools) as api:
        await added(api, hook)
    async with Leadhand(home=home, models=team(), tools=office.tools) as lead:
        run_id = (await lead.run("measure Paris")).run_id
    assert hook.got == []

    async with door(home, doors=LOCAL, models=team(), tools=office.tools) as api:
        ((_, body),) = await hook.until(1)
        await api.over(await api.started("measure Paris"))
        await hook.until(2)

    assert json.loads(body)["data"]["run_id"] == run_id
    assert len({headers["webhook-id"] for headers, _ in hook.got}) == len(hook.got) == 2


async def test_a_receiver_that_fails_gets_the_same_message_again(home: Path, office: Office, hook: Receiver) -> None:
    hook.status = 302  # which is not followed
    async with door(home, doors=LOCAL, models=team(), tools=office.tools) as api:
        webhook = await added(api, hook)
        await api.over(await api.started("measure Paris"))
        (failed,) = await sent(api, webhook, lambda found: found and found[0]["code"])
        assert (failed["code"], failed["delivered"], "302" in failed["error"]) == (302, False, True)
        assert failed["next_at"] > failed["created_at"]
        store = api.runtime.database
        (message,) = await store.deliveries(webhook["webhook_id"], 1)
        await store.settle_delivery(message.evolve(next_at=datetime.now(UTC)))  # instead of a wait
    hook.status = 200
    async with door(home, doors=LOCAL, models=team(), tools=office.tools) as api:  # the next server goes on with it
        (again,) = await sent(api, webhook, lambda found: found[0]["delivered"])
    assert again["attempts"] == 2
    assert len({headers["webhook-id"] for headers, _ in hook.got}) == 1


def test_attempts_are_further_and_further_apart_and_end() -> None:
    now = datetime(2026, 11, 23, tzinfo=UTC)
    message = Delivery(
        delivery_id="msg_1", webhook_id="wh_1", run_id="run_1", event="run.finished", body="{}", created_at=now,
        next_at=now,
    )  # fmt: skip
    pauses: list[timedelta] = []
    while message.next_at is not None:
        message = after_attempt(message, now, 500, "the receiver answered 500")
        pauses.append((message.next_at or now) - now)
    assert pauses == [*(timedelta(seconds=each) for each in RETRY_AFTER_S), timedelta(0)]
    assert not message.delivered
    assert after_attempt(message.evolve(attempts=0), now, 410, "gone").next_at is None
    assert after_attempt(message.evolve(attempts=0), now, 200, "").delivered


@pytest.mark.parametrize("local", [False, True])
async def test_messages_go_to_this_machine_only_from_a_server_that_stays_on_it(
    open_door: OpenDoor, hook: Receiver, local: bool
) -> None:
    api = await open_door(doors=Doors(local=local))
    status = 201 if local else 422
    assert (await api.post("/api/webhooks", {"url": hook.url})).status_code == status
    assert (await api.post("/api/webhooks", {"url": "http://10.0.0.1/"})).status_code == 422
    assert (await api.post("/api/webhooks", {"url": "file:///etc/passwd"})).status_code == 422
    name = hook.url.replace("127.0.0.1", "localhost")  # resolved when it is sent
    webhook = (await api.post("/api/webhooks", {"url": name})).json()
    await api.over(await api.started("measure Paris"))
    (logged,) = await sent(api, webhook, lambda found: found and found[0]["attempts"])
    assert logged["delivered"] is local
    assert local or "localhost" in logged["error"]


async def test_only_an_admin_has_messages_sent_to_this_machine(open_door: OpenDoor, hook: Receiver) -> None:
    keys = await keys_of(await open_door(doors=Doors(key_needed=True, local=True)))

    refused = await keys.post("both", "/api/webhooks", {"url": hook.url})
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    named = {"url": hook.url.replace("127.0.0.1", "localhost")}  # resolved when it is sent
    webhook = (await keys.post("runner", "/api/webhooks", named)).json()
    trusted = (await keys.post("admin", "/api/webhooks", named)).json()
    await keys.rests(await keys.started("runner", "measure Paris"), "succeeded")
    ((headers, _),) = await hook.until(1)

    (mine,) = await _sent(keys, "runner", webhook)
    (seen,) = await _sent(keys, "admin", webhook)
    (theirs,) = await _sent(keys, "admin", trusted)
    assert (mine["delivered"], theirs["delivered"]) == (False, True)
    assert theirs["delivery_id"] == headers["webhook-id"]
    assert "localhost" in seen["error"]
    assert "localhost" not in mine["error"]


@pytest.mark.parametrize("who", ["runner", "admin"])
async def test_only_an_admin_sees_why_there_was_no_answer(open_door: OpenDoor, who: str) -> None:
    keys = await keys_of(await open_door(doors=Doors(key_needed=True, local=True)))
    webhook = (await keys.post(who, "/api/webhooks", {"url": "http://ports.invalid:22/"})).json()
    await keys.rests(await keys.started(who, "measure Paris"), "succeeded")

    (logged,) = await _sent(keys, who, webhook)

    assert (logged["code"], logged["delivered"]) == (None, False)
    assert ("ports.invalid" in logged["error"]) is (who == "admin")


async def _sent(keys: Any, who: str, webhook: dict[str, Any]) -> list[dict[str, Any]]:
    """The deliveries of a webhook, once each was tried."""

    async def look() -> list[dict[str, Any]]:
        return (await keys.get(who, f"/api/webhooks/{webhook['webhook_id']}/deliveries")).json()["deliveries"]

    return await keys.door.seen(look, lambda found: found and all(each["attempts"] for each in found))


async def test_a_key_hears_of_its_own_runs_and_sees_its_own_webhooks(
    open_door: OpenDoor, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "is_public", lambda _: True)
    keys = await keys_of(await open_door(doors=Doors(key_needed=True, local=True)))
    api = keys.door
    webhook = await added(api, hook, headers=keys.header("runner"))
    mine = await keys.started("runner", "measure Paris")
    await keys.rests(await keys.started("both", "measure Paris"), "succeeded")
    await keys.rests(mine, "succeeded")
    await hook.until(1)

    path = f"/api/webhooks/{webhook['webhook_id']}/deliveries"
    (logged,) = (await keys.get("runner", path)).json()["deliveries"]
    assert logged["run_id"] == mine
    assert (await keys.get("both", path)).status_code == 404
    assert (await keys.get("both", "/api/webhooks")).json()["webhooks"] == []
    assert (await keys.get("admin", path)).status_code == 200
    await keys.add("reader", Scope.READ_ALL)
    assert (await keys.post("reader", "/api/webhooks", {"url": hook.url})).status_code == 403

    await api.http.delete(f"/api/keys/{await _id(keys, 'runner')}", headers=keys.header("admin"))
    removed = await api.http.delete(f"/api/webhooks/{webhook['webhook_id']}", headers=keys.header("admin"))
    assert removed.status_code == 204
    assert (await keys.get("admin", path)).status_code == 404


async def test_a_webhook_whose_key_was_revoked_gets_no_further_messages(
    open_door: OpenDoor, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "is_public", lambda _: True)
    keys = await keys_of(await open_door(doors=Doors(key_needed=True, local=True)))
    await keys.add("auditor", Scope.RUN, Scope.READ_ALL)
    webhook = await added(keys.door, hook, headers=keys.header("auditor"))
    await keys.door.http.delete(f"/api/keys/{keys.ids['auditor']}", headers=keys.header("admin"))

    await keys.rests(await keys.started("both", "measure Paris"), "succeeded")

    async def look() -> list[dict[str, Any]]:
        path = f"/api/webhooks/{webhook['webhook_id']}/deliveries"
        return (await keys.get("admin", path)).json()["deliveries"]

    (logged,) = await keys.door.seen(look, lambda found: found and found[0]["error"])
    assert (logged["delivered"], logged["next_at"], logged["attempts"]) == (False, None, 0)
    assert "revoked" in logged["error"]
    assert hook.got == []


async def _id(keys: Any, name: str) -> str:
    listed = (await keys.get("admin", "/api/keys")).json()["keys"]
    return next(each["key_id"] for each in listed if each["name"] == name)
