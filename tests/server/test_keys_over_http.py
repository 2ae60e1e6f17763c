"""Keys over HTTP: made and revoked by admins, shown once, never with more than their maker has."""

from __future__ import annotations

from typing import Any

import pytest
from server.conftest import OpenDoor
from server.doors import Door
from server.keys import LOCKED, Keys, keys_of

from leadhand.app.steering.access import Scope


@pytest.fixture
async def keys(open_door: OpenDoor) -> Keys:
    return await keys_of(await open_door(doors=LOCKED))


async def test_a_key_is_made_used_listed_and_revoked(keys: Keys) -> None:
    made = await keys.post("admin", "/api/keys", {"name": "shop", "scopes": ["run"], "budget": 0.5, "max_runs": 3})
    assert made.status_code == 201
    secret, key_id = made.json()["key"], made.json()["key_id"]
    assert secret.startswith(made.json()["prefix"])
    assert made.json()["ceilings"]["budget"] == 0.5
    assert made.headers["location"] == f"/api/keys/{key_id}"

    header = {"authorization": f"Bearer {secret}"}
    session = (await keys.door.get("/api/session", headers=header)).json()
    assert (session["name"], session["ceilings"]["max_runs"]) == ("shop", 3)
    listed = (await keys.get("admin", "/api/keys")).text
    assert key_id in listed
    assert secret not in listed
    assert "digest" not in listed

    path = f"/api/keys/{key_id}"
    assert (await keys.door.http.delete(path, headers=keys.header("admin"))).json()["revoked_at"]
    assert (await keys.door.get("/api/runs", headers=header)).status_code == 401
    assert (await keys.door.http.delete("/api/keys/nobody", headers=keys.header("admin"))).status_code == 404
    assert (await keys.door.http.delete(f"/api/keys/{key_id[:3]}", headers=keys.header("admin"))).status_code == 404


@pytest.mark.parametrize("who", ["approver", "runner"])
async def test_only_admins_handle_keys(keys: Keys, who: str) -> None:
    assert (await keys.get(who, "/api/keys")).status_code == 403
    assert (await keys.post(who, "/api/keys", {"name": "mine", "scopes": ["read"]})).status_code == 403
    key_id = (await keys.get("admin", "/api/keys")).json()["keys"][0]["key_id"]
    assert (await keys.door.http.delete(f"/api/keys/{key_id}", headers=keys.header(who))).status_code == 403


async def test_no_key_grants_more_than_its_maker_has(keys: Keys) -> None:
    await keys.add("boss", Scope.ADMIN, budget=1, max_workers=4)
    body: dict[str, Any] = {"name": "one", "scopes": ["run"]}

    inherited = (await keys.post("boss", "/api/keys", body)).json()["ceilings"]
    assert (inherited["budget"], inherited["max_workers"]) == (1, 4)
    for more in ({"budget": 1.01}, {"max_workers": 5}):
        refused = await keys.post("boss", "/api/keys", {**body, "name": "two", **more})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    less = await keys.post("boss", "/api/keys", {**body, "name": "three", "budget": 0.5})
    assert less.json()["ceilings"]["budget"] == 0.5


async def test_a_key_with_a_limit_for_all_its_runs_makes_no_other(keys: Keys) -> None:
    await keys.add("daily", Scope.ADMIN, budget_per_day=1)
    refused = await keys.post("daily", "/api/keys", {"name": "one", "scopes": ["run"]})
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


async def test_a_limit_of_steps_is_set_over_http_and_binds_the_whole_key(keys: Keys) -> None:
    made = await keys.post("admin", "/api/keys", {"name": "shop", "scopes": ["admin"], "max_running_steps": 7})
    assert made.json()["ceilings"]["max_running_steps"] == 7
    header = {"authorization": f"Bearer {made.json()['key']}"}
    refused = await keys.door.post("/api/keys", {"name": "more", "scopes": ["run"]}, headers=header)
    assert refused.status_code == 403
    wrong = await keys.post("admin", "/api/keys", {"name": "none", "scopes": ["run"], "max_running_steps": 0})
    assert wrong.status_code == 422


async def test_the_secret_is_not_kept_under_an_idempotency_key(api: Door) -> None:
    once = {"idempotency-key": "abc"}
    made = await api.post("/api/keys", {"name": "shop"}, headers=once)
    again = await api.post("/api/keys", {"name": "shop"}, headers=once)

    assert made.status_code == 201
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    wrong = await api.post("/api/keys", {"name": "shop 2", "scopes": ["everything"]})
    assert wrong.status_code == 422
