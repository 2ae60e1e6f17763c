"""How much one key may ask for: requests, new runs, log-ins, active runs; the machine's user is held to nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
from server.conftest import OpenDoor
from server.doors import Door
from server.teams import Office

from leadhand.server.app import Doors
from leadhand.server.rates import Allowed


async def limited(open_door: OpenDoor, **allowed: Any) -> Door:
    return await open_door(doors=Doors(allowed=Allowed(**allowed)))


def check_refused(response: httpx2.Response) -> None:
    assert (response.status_code, response.json()["code"]) == (429, "rate_limited")
    after = response.headers["retry-after"]
    assert after.isdigit()
    assert 1 <= int(after) <= 60
    assert after in response.json()["how"]


async def test_requests_of_a_key_are_counted(open_door: OpenDoor) -> None:
    api = await limited(open_door, requests_a_minute=3)
    ann, ben = await api.key("ann"), await api.key("ben")
    for _ in range(3):
        assert (await api.get("/api/runs", headers=ann)).status_code == 200

    check_refused(await api.get("/api/runs", headers=ann))
    check_refused(await api.get("/api/tools", headers=ann))
    assert (await api.get("/metrics", headers=ann)).status_code == 403, "which no time changes"
    assert (await api.get("/api/runs", headers=ben)).status_code == 200
    for _ in range(10):
        assert (await api.get("/api/runs")).status_code == 200


async def test_every_response_to_a_key_says_how_many_requests_are_left(open_door: OpenDoor) -> None:
    api = await limited(open_door, requests_a_minute=3)
    ann = await api.key("ann")
    for left in (2, 1, 0):
        answer = await api.get("/api/runs/run_x", headers=ann)
        assert answer.headers["ratelimit-policy"] == '"requests";q=3;w=60'
        assert answer.headers["ratelimit"].startswith(f'"requests";r={left};t=')
    assert "ratelimit" not in (await api.get("/api/runs")).headers


async def test_new_runs_of_a_key_are_counted_and_a_fork_is_one(open_door: OpenDoor) -> None:
    api = await limited(open_door, runs_a_minute=2)
    ann = await api.key("ann")
    run_id = await api.started("measure Paris", headers=ann)
    await api.over(run_id)
    assert (await api.post(f"/api/runs/{run_id}/fork", {"at": 1}, headers=ann)).status_code == 202

    check_refused(await api.post("/api/runs", {"request": "measure Paris"}, headers=ann))
    check_refused(await api.post(f"/api/runs/{run_id}/fork", {"at": 1}, headers=ann))
    assert len((await api.get("/api/runs")).json()["runs"]) == 2
    assert (await api.post("/api/runs", {"request": "measure Paris"})).status_code == 202


async def test_runs_that_are_under_way_are_counted(open_door: OpenDoor, office: Office) -> None:
    api = await limited(open_door, active_runs=2)
    ann, ben = await api.key("ann"), await api.key("ben")
    runs = [await api.started("measure Rome", headers=ann) for _ in range(2)]

    check_refused(await api.post("/api/runs", {"request": "measure Rome"}, headers=ann))
    await api.started("measure Rome", headers=ben)
    office.gate.set()
    for run_id in runs:
        await api.over(run_id)
    await api.seen(lambda: api.get("/metrics"), lambda metrics: "leadhand_runs_driving 0.0" in metrics.text)
    assert (await api.post("/api/runs", {"request": "measure Rome"}, headers=ann)).status_code == 202


async def test_runs_that_are_started_at_once_are_counted_together(open_door: OpenDoor) -> None:
    api = await limited(open_door, active_runs=2)
    ann = await api.key("ann")

    answers = await asyncio.gather(*(api.post("/api/runs", {"request": "measure Rome"}, headers=ann) for _ in range(6)))

    assert sorted(each.status_code for each in answers) == [202] * 2 + [429] * 4
    assert len((await api.get("/api/runs")).json()["runs"]) == 2


async def test_who_asks_again_under_the_same_key_is_told_the_run_whatever_the_limits(open_door: OpenDoor) -> None:
    """A client that lost the answer must be able to get it again, or it would start the work twice."""
    api = await limited(open_door, active_runs=1, runs_a_minute=1)
    ann = {**await api.key("ann"), "idempotency-key": "one"}
    run_id = await api.started("measure Rome", headers=ann)

    assert await api.started("measure Rome", headers=ann) == run_id
    check_refused(await api.post("/api/runs", {"request": "measure Rome"}, headers={**ann, "idempotency-key": "two"}))


async def test_bad_attempts_to_log_in_are_counted_and_a_good_key_always_gets_in(open_door: OpenDoor) -> None:
    api = await open_door(doors=Doors(key_needed=True, allowed=Allowed(wrong_keys_a_minute=3)))
    key = (await api.key())["authorization"].removeprefix("Bearer ")
    for _ in range(3):
        assert (await api.post("/api/session", {"key": "lh_guess"})).status_code == 401

    check_refused(await api.post("/api/session", {"key": "lh_guess"}))
    assert (await api.post("/api/session", {"key": key})).status_code == 200
    assert (await api.get("/api/session")).status_code == 200


async def test_requests_with_wrong_keys_are_counted_and_a_good_key_is_never_slowed_down(open_door: OpenDoor) -> None:
    api = await open_door(doors=Doors(key_needed=True, allowed=Allowed(wrong_keys_a_minute=3)))
    key, wrong = await api.key(), {"authorization": "Bearer lh_guess"}
    for path in ("/api/runs", "/api/tools", "/metrics"):
        assert (await api.get(path, headers=wrong)).status_code == 401

    check_refused(await api.get("/api/runs", headers=wrong))
    check_refused(await api.post("/api/runs", {"request": "x"}, headers={**wrong, "idempotency-key": "one"}))
    check_refused(await api.post("/api/session", {"key": "lh_guess"}))
    assert (await api.get("/api/runs", headers=key)).status_code == 200
    assert (await api.get("/api/runs")).status_code == 401, "a request without a key is not a guess"
