"""A client that waits for a run gets its document when the run rests; one that has the document gets 304."""

from __future__ import annotations

import asyncio

from server.conftest import OpenDoor, OpenServer
from server.doors import Door
from server.teams import Office

from leadhand.server.app import Doors
from leadhand.server.rates import Allowed


async def test_a_run_is_started_and_its_answer_returned_by_one_request(api: Door) -> None:
    response = await api.post("/api/runs?wait=60", {"request": "measure Paris"})

    assert response.status_code == 200
    assert response.json()["status"] == "succeeded"
    assert "40 dB" in response.json()["answer"]
    assert (await api.post("/api/runs?wait=60", {"request": "pay Ann"})).status_code == 202, "it has not ended"


async def test_waiting_ends_with_the_run_for_all_who_wait(api: Door, office: Office) -> None:
    run_id = await api.started("measure Rome")
    waiting = [asyncio.create_task(api.get(f"/api/runs/{run_id}?wait=60")) for _ in range(50)]
    while api.service.feeds.clients != 50:  # noqa: ASYNC110 (each request has begun to wait)
        await asyncio.sleep(0.005)

    office.gate.set()
    answers = await asyncio.gather(*waiting)

    assert {each.json()["status"] for each in answers} == {"succeeded"}
    assert not api.service.feeds.clients


async def test_waiting_ends_when_people_are_asked_and_not_before_the_run_goes_on(api: Door) -> None:
    asked = (await api.post("/api/runs?wait=60", {"request": "pay Ann"})).json()
    assert asked["status"] == "waiting"
    (question,) = (await api.get("/api/approvals")).json()["approvals"]

    await api.post(f"/api/approvals/{question['approval_id']}", {"decision": "approve"})
    answered = (await api.get(f"/api/runs/{asked['run_id']}?wait=60")).json()

    assert answered["status"] == "succeeded"


async def test_when_the_time_is_up_the_document_is_what_it_is(api: Door) -> None:
    run_id = await api.started("measure Rome")
    assert (await api.get(f"/api/runs/{run_id}?wait=0.01")).json()["status"] == "running"
    assert not api.service.feeds.clients


async def test_a_run_that_is_deleted_or_unknown_is_404(api: Door) -> None:
    assert (await api.get("/api/runs/run_unknown?wait=60")).status_code == 404
    refused = await api.get("/api/runs/run_unknown?wait=601")
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["where"] == "query.wait"


async def test_a_server_that_ends_answers_those_who_wait(serve: OpenServer) -> None:
    served = await serve()
    run_id = await served.door.started("measure Rome")
    waiting = asyncio.create_task(served.door.get(f"/api/runs/{run_id}?wait=60"))
    while not served.door.service.feeds.clients:  # noqa: ASYNC110
        await asyncio.sleep(0.005)

    await served.end()

    assert (await waiting).json()["run_id"] == run_id


async def test_a_request_that_waits_counts_as_a_stream(open_door: OpenDoor, office: Office) -> None:
    api = await open_door(doors=Doors(allowed=Allowed(streams=1)))
    ann = await api.key("ann")
    run_id = await api.started("measure Rome", headers=ann)
    waiting = asyncio.create_task(api.get(f"/api/runs/{run_id}?wait=60", headers=ann))
    while not api.service.feeds.clients:  # noqa: ASYNC110
        await asyncio.sleep(0.005)

    assert (await api.get(f"/api/runs/{run_id}?wait=60", headers=ann)).status_code == 429
    assert (await api.get(f"/api/runs/{run_id}", headers=ann)).status_code == 200
    office.gate.set()
    assert (await waiting).status_code == 200
