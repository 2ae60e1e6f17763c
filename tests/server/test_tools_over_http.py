"""Tools, workers and the system over HTTP; tools tried by hand, and what they last failed with."""

from __future__ import annotations

from server.conftest import OpenDoor
from server.doors import Door
from server.teams import BROKEN, Office

from leadhand.app.steering.access import Scope


async def test_tools_are_listed_with_what_they_take_and_do(api: Door) -> None:
    tools = {each["name"]: each for each in (await api.get("/api/tools")).json()["tools"]}

    assert set(tools) == {"measure", "pay", "wire", "web_search", "web_fetch"}
    assert tools["measure"]["parameters"]["required"] == ["place"]
    assert (tools["measure"]["effect"], tools["pay"]["effect"], tools["wire"]["approval"]) == ("pure", "once", "auto")
    assert (await api.get("/api/tools/pay")).json() == tools["pay"]
    missing = await api.get("/api/tools/steal")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")


async def test_a_tool_is_tried_by_hand(api: Door, office: Office) -> None:
    response = await api.post("/api/tools/measure/call", {"args": {"place": "Paris"}})

    result = response.json()
    assert (response.status_code, result["ok"], result["task_name"]) == (200, True, "measure")
    assert (result["data"]["summary"], result["data"]["raw"]) == ("Paris: 40 dB", {"place": "Paris", "dB": 40})
    assert office.calls == {"Paris": 1}
    assert (await api.get("/api/runs")).json()["runs"] == []


async def test_how_a_tool_failed_is_told(open_door: OpenDoor) -> None:
    api = await open_door()
    by_hand = (await api.post("/api/tools/measure/call", {"args": {"place": "Oslo"}})).json()
    assert by_hand["ok"] is False
    error = by_hand["error"]
    assert (error["message"], error["type"], error["class"]) == (BROKEN, "broken", "unavailable")
    assert error["next_action"]


async def test_arguments_that_do_not_fit_call_nothing(api: Door, office: Office) -> None:
    for args in ({}, {"place": 7}, {"place": "Paris", "time": "now"}):
        refused = await api.post("/api/tools/measure/call", {"args": args})
        assert refused.json()["error"]["class"] == "invalid", refused.text
        assert refused.json()["error"]["next_action"]
    assert (await api.post("/api/tools/steal/call", {"args": {}})).status_code == 404
    assert office.calls == {}


async def test_what_cannot_be_taken_back_wants_to_be_confirmed(api: Door, office: Office) -> None:
    unconfirmed = await api.post("/api/tools/pay/call", {"args": {"to": "Ann"}})
    assert (unconfirmed.status_code, unconfirmed.json()["code"]) == (409, "unconfirmed")
    assert office.calls == {}

    confirmed = await api.post("/api/tools/pay/call", {"args": {"to": "Ann"}, "confirmed": True})
    assert confirmed.json()["data"]["summary"] == "paid 1 to Ann"
    assert office.calls == {"Ann 1": 1}


async def test_a_tool_that_takes_too_long_is_given_up_and_nobody_knows_what_it_did(api: Door) -> None:
    result = (await api.post("/api/tools/wire/call", {"args": {"to": "Ann"}, "confirmed": True})).json()

    assert (result["ok"], result["error"]["type"]) == (False, "indeterminate")


async def test_who_may_only_look_calls_no_tool(api: Door, office: Office) -> None:
    reader = await api.key("reader", Scope.READ)

    assert (await api.get("/api/tools", headers=reader)).status_code == 200
    refused = await api.post("/api/tools/measure/call", {"args": {"place": "Paris"}}, headers=reader)
    assert refused.status_code == 403
    assert office.calls == {}


async def test_a_database_that_cannot_be_written_makes_the_server_unready(api: Door) -> None:
    await api.runtime.store.aclose()

    ready = await api.get("/readyz")

    assert (ready.status_code, ready.json()["code"]) == (503, "store")
    assert ready.json()["how"]
    assert (await api.get("/healthz")).status_code == 200
    assert (await api.get("/api/runs")).status_code == 503
