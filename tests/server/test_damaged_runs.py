"""Runs that cannot be read: no other run suffers, and they can be listed, exported as far as they go, and cancelled."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from server.conftest import OpenDoor, OpenServer
from server.doors import Door
from server.streams import rest
from server.teams import Office


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


def damage(home: Path, run_id: str, seq: int, body: str = "garbage") -> None:
    with sqlite3.connect(home / "leadhand.db") as database:
        database.execute("UPDATE events SET body = ? WHERE run_id = ? AND seq = ?", (body, run_id, seq))


# --- what could not be read back is refused at every door ---


@pytest.mark.parametrize("levels", [101, 200, 240, 254, 300, 900])
async def test_deep_json_is_refused_at_every_door_and_nobody_is_blocked(api: Door, office: Office, levels: int) -> None:
    waiting = await api.started("pay Ann")
    (card,) = await api.asked(waiting)
    doors = {
        f"/api/runs/{waiting}/supply": {"subtask": "wo-001.0", "summary": "x", "raw": nested(levels)},
        f"/api/runs/{waiting}/retry": {"subtasks": ["wo-001.0"], "args": {"to": nested(levels)}},
        f"/api/approvals/{card['approval_id']}": {"decision": "approve", "args": {"to": nested(levels)}},
        "/api/tools/measure/call": {"args": {"place": nested(levels)}},
        "/api/runs": {"request": "x", "options": {"a": nested(levels)}},
    }
    for path, body in doors.items():
        response = await api.post(path, body)
        assert response.status_code in (409, 422), (path, response.text)
    assert await api.asked(waiting) == [card], "the question is still there"
    assert (await api.post(f"/api/runs/{waiting}/cancel")).json()["status"] == "cancelled"
    assert office.calls == {}


# --- a run that is damaged all the same ---


async def waiting_runs(api: Door) -> tuple[str, str, Any]:
    """The ids of two runs that wait for approval, and the approval card of the second."""
    bad, good = await api.started("pay Ann"), await api.started("pay Ben")
    await api.asked(bad)
    (card,) = await api.asked(good)
    return bad, good, card


async def test_a_damaged_run_hides_no_other_and_can_be_cancelled(
    open_door: OpenDoor, office: Office, home: Path
) -> None:
    bad, good, card = await waiting_runs(await open_door())
    damage(home, bad, 3)
    api = await open_door()

    assert (await api.get("/api/approvals")).json()["approvals"] == [card]
    listed = (await api.get("/api/runs")).json()["runs"]
    assert {run["run_id"] for run in listed} == {bad, good}
    shown = await api.get(f"/api/runs/{bad}")
    assert (shown.status_code, shown.json()["code"]) == (503, "unreadable_run")
    assert bad in shown.json()["detail"]
    paused = await api.post(f"/api/runs/{bad}/pause")
    assert paused.json()["code"] == "unreadable_run"

    cancelled = await api.post(f"/api/runs/{bad}/cancel")

    assert cancelled.status_code == 202, cancelled.text
    statuses = {run["run_id"]: run["status"] for run in (await api.get("/api/runs")).json()["runs"]}
    assert statuses == {bad: "cancelled", good: "waiting"}
    assert (await api.post(f"/api/approvals/{card['approval_id']}", {"decision": "approve"})).status_code == 200
    assert (await api.over(good))["status"] == "succeeded"
    assert office.calls == {"Ben 1": 1}


@pytest.mark.parametrize(
    "change",
    ["events SET seq = 'garbage' WHERE seq = 3 AND", "runs SET head_seq = 2 WHERE", "runs SET head_seq = -5 WHERE"],
)
async def test_damaged_numbers_hide_no_other_run_and_the_run_can_be_deleted(
    open_door: OpenDoor, home: Path, change: str
) -> None:
    bad, _, card = await waiting_runs(await open_door())
    with sqlite3.connect(home / "leadhand.db") as database:
        database.execute(f"UPDATE {change} run_id = ?", (bad,))
    api = await open_door()

    assert (await api.get("/api/approvals")).json()["approvals"] == [card]
    for verb in ("resume", "pause", "cancel"):
        assert (await api.post(f"/api/runs/{bad}/{verb}")).status_code != 500
    assert (await api.get(f"/api/runs/{bad}/export")).status_code == 200
    assert (await api.http.delete(f"/api/runs/{bad}?confirmed=true")).status_code == 204
    assert (await api.post(f"/api/approvals/{card['approval_id']}", {"decision": "approve"})).status_code == 200


@pytest.mark.parametrize("seq", [1, 2, 5])
async def test_a_damaged_run_is_exported_as_far_as_it_goes(api: Door, home: Path, seq: int) -> None:
    run_id = await api.started("pay Ann")
    await api.asked(run_id)
    damage(home, run_id, seq)

    response = await api.get(f"/api/runs/{run_id}/export")

    assert response.status_code == 200
    *lines, last = [json.loads(line) for line in response.text.splitlines()]
    assert [line["seq"] for line in lines if line["type"] != "run"] == list(range(1, seq))
    assert [line["document"]["run_id"] for line in lines if line["type"] == "run"] == [run_id] * (seq > 1)
    assert last["type"] == "unreadable"
    assert (last["run_id"], last["seq"]) == (run_id, seq)
    page = await api.get(f"/api/runs/{run_id}/export?format=html")
    assert (page.status_code, run_id in page.text) == (503, True)


@pytest.mark.parametrize("seq", [1, 4])
async def test_a_stream_brings_what_can_be_read_and_ends_with_the_reason(
    serve: OpenServer, home: Path, seq: int
) -> None:
    served = await serve()
    run_id = await served.door.started("pay Ann")
    await served.door.asked(run_id)
    damage(home, run_id, seq)

    async with served.watch(run_id) as stream:
        *before, end = await rest(stream)
    async with served.watch_view(run_id) as stream:
        *_, end_of_view = await rest(stream)

    assert [each.data["seq"] for each in before] == list(range(1, seq))
    assert end.kind == end_of_view.kind == "end"
    assert end.data["last_seq"] == seq - 1
    for each in (end, end_of_view):
        assert each.data["status"] is None
        assert run_id in each.data["error"]


async def test_an_event_that_contradicts_the_others_hides_no_other_run(open_door: OpenDoor, home: Path) -> None:
    bad, _, card = await waiting_runs(api := await open_door())
    settled = next(event for event in await api.events(bad) if event["type"] == "step_settled")
    damage(home, bad, settled["seq"], '{"attempt":"wo-009.0/a1","ok":true,"final":true}')
    api = await open_door()

    assert (await api.get("/api/approvals")).json()["approvals"] == [card]
    exported = await api.get(f"/api/runs/{bad}/export")
    *_, whole, last = [json.loads(line) for line in exported.text.splitlines()]
    assert (last["type"], last["seq"]) == ("unreadable", settled["seq"])
    assert whole["document"]["last_seq"] == settled["seq"] - 1
    assert (await api.post(f"/api/runs/{bad}/cancel")).json() == {"run_id": bad, "status": "cancelled"}
