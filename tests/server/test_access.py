"""Who gets in: keys, their scopes and their end, browser sessions, and the user of this machine."""

from __future__ import annotations

import hashlib
import json
from http.cookies import SimpleCookie
from typing import Any

import httpx2
import pytest
from server.conftest import OpenDoor
from server.doors import Door
from server.teams import Office

from leadhand.app.steering.access import Scope
from leadhand.app.steering.keys import all_keys, revoke
from leadhand.server.app import Doors

NEEDED = Doors(key_needed=True)
SAME_SITE = {"origin": "http://127.0.0.1:8700", "sec-fetch-site": "same-origin"}
ALL = ["read", "read:all", "run", "approve", "admin"]


@pytest.fixture
async def locked(open_door: OpenDoor) -> Door:
    """An app where nobody gets in without a key."""
    return await open_door(doors=NEEDED)


async def session(api: Door, key: dict[str, str], http: httpx2.AsyncClient | None = None) -> httpx2.Response:
    """Open a session with a key, as the console does."""
    shown = {"key": key["authorization"].removeprefix("Bearer ")}
    return await (http or api.http).post("/api/session", json=shown, headers=SAME_SITE)


def cookie(response: httpx2.Response) -> Any:
    (morsel,) = SimpleCookie(response.headers["set-cookie"]).values()
    return morsel


async def test_on_this_machine_nobody_needs_a_key(api: Door) -> None:
    shown = (await api.get("/api/session")).json()

    assert (shown["authenticated"], shown["needed"], shown["scopes"]) == (True, False, ALL)
    assert shown["name"]
    assert (await api.get("/api/runs")).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/runs"),
        ("POST", "/api/runs"),
        ("GET", "/api/runs/run_x"),
        ("GET", "/api/runs/run_x/events"),
        ("POST", "/api/runs/run_x/cancel"),
        ("GET", "/api/approvals"),
        ("POST", "/api/approvals/1a2b3c4d"),
        ("GET", "/api/tools"),
        ("POST", "/api/tools/measure/call"),
        ("GET", "/api/flows"),
        ("GET", "/metrics"),
        ("GET", "/api/runs/run_x/events/1/payloads/sha256:" + "0" * 64),
    ],
)
async def test_where_a_key_is_needed_nothing_is_told_without_one(locked: Door, method: str, path: str) -> None:
    refused = await locked.http.request(method, path)

    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    assert refused.headers["content-type"] == "application/problem+json"
    assert "leadhand keys create" in refused.json()["how"]


async def test_what_is_open_to_everybody_stays_so(locked: Door) -> None:
    for path in ("/healthz", "/readyz", "/openapi.json", "/"):
        assert (await locked.get(path)).status_code == 200
    shown = (await locked.get("/api/session")).json()
    assert (shown["authenticated"], shown["needed"], shown["name"], shown["scopes"]) == (False, True, None, [])


async def test_each_scope_allows_what_it_says(locked: Door) -> None:
    wanted = {
        Scope.READ: ("GET", "/api/runs", None),
        Scope.RUN: ("POST", "/api/runs", {"request": "measure Paris"}),
        Scope.APPROVE: ("POST", "/api/approvals/1a2b3c4d", {"decision": "approve"}),
    }
    may = {
        Scope.READ: {Scope.READ},
        Scope.RUN: {Scope.READ, Scope.RUN},
        Scope.APPROVE: {Scope.READ, Scope.APPROVE},
        Scope.ADMIN: set(wanted),
    }
    for scope, allowed in may.items():
        key = await locked.key(scope.value, scope)
        for each, (method, path, body) in wanted.items():
            response = await locked.http.request(method, path, json=body, headers=key)
            assert (response.status_code != 403) is (each in allowed), (scope, each)
            if response.status_code == 403:
                assert f"--scope {each.value}" in response.json()["how"]


LOOSE: list[dict[str, Any]] = [
    {"approve": "auto"},
    {"approve": {"tool:pay": "auto"}},
    {"approve": {"effect:once": "auto", "*": "never"}},
]


@pytest.mark.parametrize("loose", LOOSE)
async def test_who_may_not_approve_starts_no_run_that_asks_nobody(
    locked: Door, office: Office, loose: dict[str, Any]
) -> None:
    """Else whoever may start runs could have everything done that others were to be asked about."""
    body = {"request": "pay Ann", **loose}

    refused = await locked.post("/api/runs", body, headers=await locked.key("ann", Scope.RUN))
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert "--scope approve" in refused.json()["how"]
    assert office.calls == {}

    both = await locked.key("ben", Scope.RUN, Scope.APPROVE)
    assert (await locked.post("/api/runs", body, headers=both)).status_code == 202


async def test_a_run_may_be_stricter_than_the_server(locked: Door) -> None:
    runner = await locked.key("ann", Scope.RUN)
    for strict in ({"approve": "ask"}, {"approve": "never"}, {"approve": {"tool:pay": "never"}}):
        response = await locked.post("/api/runs", {"request": "measure Paris", **strict}, headers=runner)
        assert response.status_code == 202


async def test_the_rules_of_a_server_are_not_for_every_runner_to_replace(open_door: OpenDoor) -> None:
    api = await open_door(doors=NEEDED, approve={"tool:pay": "ask", "*": "auto"})
    runner = await api.key("ann", Scope.RUN)

    assert (await api.post("/api/runs", {"request": "x"}, headers=runner)).status_code == 202
    refused = await api.post("/api/runs", {"request": "x", "approve": {}}, headers=runner)
    assert refused.status_code == 403


async def test_who_may_not_approve_calls_nothing_by_hand_that_a_run_would_ask_about(
    locked: Door, office: Office
) -> None:
    runner = await locked.key("ann", Scope.RUN)
    call = {"args": {"to": "Ann"}, "confirmed": True}

    refused = await locked.post("/api/tools/pay/call", call, headers=runner)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert (await locked.post("/api/tools/measure/call", {"args": {"place": "Paris"}}, headers=runner)).json()["ok"]
    assert office.calls == {"Paris": 1}
    both = await locked.key("ben", Scope.RUN, Scope.APPROVE)
    assert (await locked.post("/api/tools/pay/call", call, headers=both)).json()["ok"]


@pytest.mark.parametrize(
    "shown",
    ["Bearer lh_nobody", "Bearer ", "Bearer", "Basic YTpi", "lh_nobody", "Bearer \xff\xfe", "bearer  "],
)
async def test_a_bad_key_is_refused_even_where_none_is_needed(api: Door, shown: str) -> None:
    headers = [(b"authorization", shown.encode("latin-1"))]
    assert (await api.get("/api/runs", headers=headers)).status_code == 401
    assert (await api.get("/api/session", headers=headers)).json()["authenticated"] is False


async def test_a_revoked_key_opens_nothing_more_and_neither_do_its_sessions(locked: Door) -> None:
    key = await locked.key("ann")
    assert (await session(locked, key)).status_code == 200
    assert (await locked.get("/api/runs")).status_code == 200
    store = locked.runtime.database
    (kept,) = await all_keys(store)

    await revoke(store, kept)

    assert (await locked.get("/api/runs", headers=key)).status_code == 401
    assert (await locked.get("/api/runs")).status_code == 401
    assert (await session(locked, key)).status_code == 401


async def test_when_a_key_was_last_used_is_noted(locked: Door) -> None:
    key = await locked.key("ann")
    (before,) = await all_keys(locked.runtime.database)
    await locked.get("/api/runs", headers=key)
    (after,) = await all_keys(locked.runtime.database)

    assert before.last_used_at is None
    assert after.last_used_at is not None


async def test_a_session_takes_the_place_of_the_key(locked: Door) -> None:
    opened = await session(locked, await locked.key("ann", Scope.READ))

    assert opened.json()["authenticated"] is True
    assert (opened.json()["name"], opened.json()["scopes"]) == ("ann", ["read"])
    assert (await locked.get("/api/session")).json()["name"] == "ann"
    assert (await locked.get("/api/runs")).status_code == 200
    assert (await locked.post("/api/runs", {"request": "x"}, headers=SAME_SITE)).status_code == 403


async def test_the_cookie_is_out_of_reach_for_scripts_and_other_sites(locked: Door) -> None:
    kept = cookie(await session(locked, await locked.key()))

    assert kept.key == "leadhand_session"
    assert kept["httponly"]
    assert kept["samesite"].lower() == "strict"
    assert (kept["path"], kept["domain"], kept["max-age"]) == ("/", "", str(12 * 3600))
    assert len(kept.value) >= 32
    stored = await locked.runtime.store.cached(f"session:{hashlib.sha256(kept.value.encode()).hexdigest()}")
    assert stored is not None, "a session is found by its digest"
    assert await locked.runtime.store.cached(f"session:{kept.value}") is None


@pytest.mark.parametrize(
    ("base", "headers"),
    [
        ("https://127.0.0.1:8700", {"origin": "https://127.0.0.1:8700"}),
        ("http://127.0.0.1:8700", {"x-forwarded-proto": "https", **SAME_SITE}),
    ],
    ids=["https", "a proxy that speaks https"],
)
async def test_over_https_the_cookie_is_bound_to_the_host(locked: Door, base: str, headers: dict[str, str]) -> None:
    async with locked.client(base) as http:
        key = (await locked.key())["authorization"].removeprefix("Bearer ")
        kept = cookie(await http.post("/api/session", json={"key": key}, headers=headers))
        assert (kept.key, kept["secure"], kept["path"], kept["domain"]) == ("__Host-leadhand_session", True, "/", "")
        opened = {"cookie": f"{kept.key}={kept.value}", **headers}
        assert (await http.get("/api/runs", headers=opened)).status_code == 200


async def test_leaving_ends_the_session_for_good(locked: Door) -> None:
    kept = cookie(await session(locked, await locked.key()))

    left = await locked.http.delete("/api/session", headers=SAME_SITE)

    assert left.status_code == 204
    assert (await locked.get("/api/runs")).status_code == 401
    stolen = {"cookie": f"leadhand_session={kept.value}"}
    assert (await locked.get("/api/runs", headers=stolen)).status_code == 401


async def test_a_session_outlives_the_server(open_door: OpenDoor) -> None:
    before = await open_door(doors=NEEDED)
    kept = cookie(await session(before, await before.key()))
    after = await open_door(doors=NEEDED)

    shown = await after.get("/api/session", headers={"cookie": f"leadhand_session={kept.value}"})

    assert shown.json()["authenticated"] is True


async def test_an_invented_session_is_none(locked: Door) -> None:
    for token in ("x", "", "session:", "a" * 4_000):
        assert (await locked.get("/api/runs", headers={"cookie": f"leadhand_session={token}"})).status_code == 401


async def test_a_bad_key_opens_no_session(locked: Door) -> None:
    for key in ("", "lh_nobody", "\ud800"):
        refused = await locked.http.post(
            "/api/session",
            content=f'{{"key": {json.dumps(key)}}}',
            headers={**SAME_SITE, "content-type": "application/json"},
        )
        assert refused.status_code in (401, 422)
        assert "set-cookie" not in refused.headers


async def test_a_session_is_for_our_own_pages_and_not_for_those_of_another_site(open_door: OpenDoor) -> None:
    locked = await open_door(doors=Doors(key_needed=True, origins=("https://app.example.org",)))
    key = await locked.key()
    await session(locked, key)
    there = {"origin": "https://app.example.org"}

    refused = await locked.post("/api/runs", {"request": "x"}, headers=there)
    allowed = await locked.post("/api/runs", {"request": "x"}, headers={**there, **key})

    assert (refused.status_code, allowed.status_code) == (401, 202)
