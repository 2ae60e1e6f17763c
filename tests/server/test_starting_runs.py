"""POST /api/runs: what is asked for, once or twice, and what is refused."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from server.conftest import OpenDoor
from server.doors import Door
from server.teams import Office, team

KEY = {"idempotency-key": "b6b4c1a0-1c5e-4c7e-9f0a-2f4f7d1e8a11"}


async def test_a_run_is_started_and_answered(api: Door) -> None:
    request = "measure Paris, measure Lyon"
    response = await api.post("/api/runs", {"request": request})

    run = response.json()
    assert response.status_code == 202
    assert response.headers["location"] == f"/api/runs/{run['run_id']}"
    assert run["request"] == request
    done = await api.over(run["run_id"])
    assert (done["status"], done["answer"]) == ("succeeded", "Paris: 40 dB\nLyon: 40 dB")
    started = (await api.events(run["run_id"]))[0]
    assert started["type"] == "run_started"
    assert started["definition"]["detached"] is True
    assert started["definition"]["by"]


async def test_asking_twice_under_one_key_makes_one_run(api: Door, office: Office) -> None:
    body = {"request": "measure Paris"}
    first = await api.post("/api/runs", body, headers=KEY)
    again = await api.post("/api/runs", body, headers=KEY)
    await api.over(first.json()["run_id"])
    later = await api.post("/api/runs", body, headers=KEY)

    assert {each.status_code for each in (first, again, later)} == {202}
    assert len({each.json()["run_id"] for each in (first, again, later)}) == 1
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == later.headers["idempotency-replayed"] == "true"
    assert later.json()["status"] == "succeeded"
    assert office.calls == {"Paris": 1}


async def test_two_who_ask_at_once_under_one_key_make_one_run(api: Door, office: Office) -> None:
    answers = await asyncio.gather(*(api.post("/api/runs", {"request": "measure Paris"}, headers=KEY) for _ in "abcde"))

    assert [each.status_code for each in answers] == [202] * 5
    (run_id,) = {each.json()["run_id"] for each in answers}
    await api.over(run_id)
    assert office.calls == {"Paris": 1}
    assert len((await api.get("/api/runs")).json()["runs"]) == 1


async def test_a_key_outlives_the_server(open_door: OpenDoor) -> None:
    before = await open_door()
    run_id = await before.started("measure Paris", headers=KEY)
    await before.over(run_id)
    after = await open_door(models=team())

    again = await after.post("/api/runs", {"request": "measure Paris"}, headers=KEY)

    assert again.json()["run_id"] == run_id
    assert again.headers["idempotency-replayed"] == "true"


@pytest.mark.parametrize(
    "other",
    [
        {"request": "measure Lyon"},
        {"request": "measure Paris", "limits": {"max_steps": 1}},
        {"request": "measure Paris", "limits": {"timeout": None}},
    ],
)
async def test_another_body_under_the_same_key_is_refused(api: Door, other: dict[str, Any]) -> None:
    run_id = await api.started("measure Paris", headers=KEY)

    refused = await api.post("/api/runs", other, headers=KEY)

    assert refused.status_code == 409
    assert refused.json()["code"] == "idempotency_key_reused"
    assert run_id in refused.json()["detail"]


async def test_the_same_key_of_two_principals_makes_two_runs(api: Door) -> None:
    ann, ben = await api.key("ann"), await api.key("ben")
    runs = {await api.started("measure Paris", headers={**KEY, **who}) for who in (ann, ben, {})}

    assert len(runs) == 3


@pytest.mark.parametrize("keys", [[""], ["x" * 256], ["tab\there"]])
async def test_a_key_that_is_not_one_is_refused(api: Door, keys: list[str]) -> None:
    headers = [("idempotency-key", key) for key in keys]
    refused = await api.post("/api/runs", {"request": "measure Paris"}, headers=headers)

    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")
    assert (await api.get("/api/runs")).json()["runs"] == []


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"request": "  \n"}, "request"),
        ({"request": "a\0b"}, "request"),
        ({"request": "x" * 100_001}, "request"),
        ({"request": "x", "flows": "work-order"}, "flows"),
        ({"request": "x", "flow": "no-such"}, "no-such"),
        ({"request": "x", "options": {"depth": 2}}, "depth"),
        ({"request": "x", "limits": {"budget": -1}}, "limits.budget"),
        ({"request": "x", "limits": {"max_steps": 0}}, "limits.max_steps"),
        ({"request": "x", "limits": {"max_workers": True}}, "limits.max_workers"),
        ({"request": "x", "limits": {"steps": 1}}, "limits.steps"),
        ({"request": "x", "approve": {"tool:nobody": "auto"}}, "nobody"),
        ({"request": "x", "model": "   "}, "model"),
        ({"request": "x", "offline": True, "model": "openai:gpt-5"}, "offline"),
        ("x", "body"),
    ],
)
async def test_what_cannot_be_carried_out_is_refused_before_there_is_a_run(api: Door, body: Any, says: str) -> None:
    refused = await api.post("/api/runs", body)

    of_this_server = says in ("no-such", "depth", "nobody", "offline") or body == {"request": "x", "model": "   "}
    assert refused.status_code == (409 if of_this_server else 422), refused.text
    problem = refused.json()
    assert says in problem["detail"] + problem["how"]
    assert problem["how"]
    assert (await api.get("/api/runs")).json()["runs"] == []


async def test_a_rule_can_name_a_tool_of_a_flow(api: Door) -> None:
    rules = {"tool:web_search": "never", "tool:subagent_run": "ask"}
    started = await api.post("/api/runs", {"request": "x", "flow": "research", "approve": rules})

    assert started.status_code == 202, started.text


async def test_limits_that_are_given_hold_and_the_others_are_the_servers(open_door: OpenDoor) -> None:
    api = await open_door(max_steps=2, timeout=100.0)
    response = await api.post(
        "/api/runs",
        {"request": "measure Paris", "limits": {"timeout": None, "max_workers": 3, "budget": 0.25}, "approve": "never"},
    )

    definition = (await api.events(response.json()["run_id"]))[0]["definition"]
    limits = definition["limits"]
    assert (limits["max_steps"], limits["timeout"], limits["max_workers"]) == (2, None, 3)
    assert limits["budget"] == 0.25
    assert definition["approve"] == "never"


async def test_a_server_that_works_offline_takes_no_other_model(open_door: OpenDoor) -> None:
    api = await open_door(models=None, offline=True, tools=None)
    for named in ({"model": "openai:gpt-5"}, {"worker_model": "openai:gpt-5"}):
        refused = await api.post("/api/runs", {"request": "What is the weather in Paris?", **named})
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
        assert "--offline" in refused.json()["how"]
    for named in ({"model": "offline"}, {"offline": False}):
        taken = await api.post("/api/runs", {"request": "What is the weather in Paris?", **named})
        assert taken.status_code == 202


async def test_a_model_that_is_named_is_the_runs(open_door: OpenDoor) -> None:
    """The server has no model of its own choosing but the built-in one; a run may name the model for one use."""
    api = await open_door(models=None, model="offline", offline=False, tools=None)
    named = await api.post("/api/runs", {"request": "What is the weather in Paris?", "offline": True})
    refused = await api.post("/api/runs", {"request": "x", "lead_model": "nobody:knows"})

    assert (await api.over(named.json()["run_id"]))["model"] == "offline"
    assert (refused.status_code, refused.json()["code"]) == (409, "configuration")


async def test_who_started_a_run_is_in_its_log(api: Door) -> None:
    run_id = await api.started("measure Paris", headers=await api.key("ann"))

    assert (await api.events(run_id))[0]["definition"]["by"] == "ann"


async def test_nobody_chooses_the_documents_of_a_run_or_of_a_call_over_http(
    open_door: OpenDoor, tmp_path: Path
) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (tmp_path / "secret.md").write_text("# Secret\n\nThe door opens with 1234.\n")
    api = await open_door(documents=folder, offline=True)

    run = {"request": "measure Paris"}
    for more in ({"documents": "/"}, {"options": {"documents": "/"}}, {"limits": {"documents": "/"}}):
        assert (await api.post("/api/runs", {**run, **more})).status_code == (409 if "options" in more else 422), more
    call = {"args": {"query": "door"}}
    assert (await api.post("/api/tools/web_search/call", {**call, "documents": "/"})).status_code == 422
    named = await api.post("/api/tools/web_search/call", {"args": {"query": "door", "documents": "/"}})
    assert named.json()["error"]["type"] == "bad_arguments"
    read = (await api.post("/api/tools/web_fetch/call", {"args": {"url": "document:../secret.md"}})).json()
    assert (read["ok"], read["error"]["type"]) == (False, "no_such_document")

    run_id = (await api.post("/api/runs", run)).json()["run_id"]
    assert (await api.events(run_id))[0]["definition"]["documents"] == str(folder)


async def test_a_run_searches_only_the_documents_of_the_server_if_it_has_some(
    open_door: OpenDoor, tmp_path: Path, home: Path
) -> None:
    (tmp_path / "docs").mkdir()
    api = await open_door()
    refused = await api.post("/api/runs", {"request": "measure Paris", "only_documents": True})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")

    with_documents = await open_door(documents=tmp_path / "docs", home=home / "other")
    started = await with_documents.post("/api/runs", {"request": "measure Paris", "only_documents": True})
    assert started.status_code == 202
    run_id = started.json()["run_id"]
    await with_documents.over(run_id)
    followed = await with_documents.post(f"/api/runs/{run_id}/follow-up", {"request": "measure Lyon"})
    for each in (run_id, followed.json()["run_id"]):
        assert (await with_documents.events(each))[0]["definition"]["only_documents"]
