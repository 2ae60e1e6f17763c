"""Deleting runs over HTTP."""

from __future__ import annotations

import asyncio

import pytest
from server.conftest import OpenServer
from server.doors import Door
from server.streams import first, rest
from server.teams import Office

from leadhand.app.steering.access import Scope


async def test_a_run_that_is_over_is_deleted_with_what_was_shown_of_it(api: Door) -> None:
    run_id = await api.started("measure Paris", headers={"idempotency-key": "k"})
    await api.until(run_id, "succeeded")
    assert (await api.get(f"/api/runs/{run_id}/view")).status_code == 200

    deleted = await api.http.delete(f"/api/runs/{run_id}")

    assert (deleted.status_code, deleted.content) == (204, b"")
    for path in ("", "/events", "/view", "/export"):
        assert (await api.get(f"/api/runs/{run_id}{path}")).status_code == 404
    assert (await api.http.delete(f"/api/runs/{run_id}")).status_code == 404
    assert (await api.get("/api/runs")).json()["runs"] == []


async def test_a_run_under_the_id_of_a_deleted_one_shows_its_own_events(api: Door) -> None:
    key = {"idempotency-key": "k"}
    before = await api.started("measure Paris", headers=key)
    await api.over(before)
    events = await api.events(before)
    await api.get(f"/api/runs/{before}/view")
    assert (await api.run(before))["request"] == "measure Paris"
    await api.http.delete(f"/api/runs/{before}")

    after = await api.started("measure Bergen", headers=key)

    assert after == before
    await api.over(after)
    assert (await api.events(after))[0]["at"] > events[-1]["at"]
    view = (await api.get(f"/api/runs/{after}/view")).text
    assert (await api.run(after))["request"] == "measure Bergen"
    assert "Bergen" in view
    assert "Paris" not in view


async def test_a_run_that_is_driven_is_not_deleted(api: Door, office: Office) -> None:
    run_id = await api.started("measure Rome")
    await api.until(run_id, "running")

    refused = await api.http.delete(f"/api/runs/{run_id}")

    assert (refused.status_code, refused.json()["code"]) == (409, "run_owned")
    assert f"POST /api/runs/{run_id}/cancel" in refused.json()["how"]
    await api.post(f"/api/runs/{run_id}/cancel")
    assert (await api.http.delete(f"/api/runs/{run_id}")).status_code == 204


async def test_streams_of_a_deleted_run_end(serve: OpenServer) -> None:
    served = await serve()
    run_id = await served.door.started("pay Ann")
    await served.door.asked(run_id)
    async with served.watch(run_id) as events, served.watch_view(run_id) as view:
        await asyncio.gather(first(events, "message", type="run_started"), anext(view))
        refused = await served.door.http.delete(f"/api/runs/{run_id}")
        assert (refused.status_code, refused.json()["code"]) == (409, "unconfirmed")
        assert "?confirmed=true" in refused.json()["how"]
        assert (await served.door.http.delete(f"/api/runs/{run_id}?confirmed=true")).status_code == 204
        assert "end" not in {each.kind for each in [*await rest(events), *await rest(view)]}
    assert served.door.service.feeds.clients == 0


@pytest.mark.parametrize("scope", [Scope.READ, Scope.APPROVE])
async def test_deleting_needs_the_scope_run(api: Door, scope: Scope) -> None:
    run_id = await api.started("measure Paris")
    await api.over(run_id)

    assert (await api.http.delete(f"/api/runs/{run_id}", headers=await api.key("ann", scope))).status_code == 403
    assert (await api.http.delete(f"/api/runs/{run_id}", headers=await api.key("ben", Scope.ADMIN))).status_code == 204
